// LT101: a reader-writer lock is taken exclusively though the section only
// reads. The proof is the section's verdict (checker/solve/Verdict.cpp),
// which is judged as if every candidate section were already shared.
#include <map>

#include "rules/Describe.h"
#include "rules/LockForms.h"
#include "rules/Rule.h"

namespace locktidy {
namespace {

bool holds(const Solution& s, const Section& x) {
  return x.mode == Mode::Exclusive && x.lock && lockHasSharedMode(s, x) && x.ineligible.empty() && x.verdict.proved();
}

Finding describe(const Solution& s, const std::vector<const Section*>& group, int ordinal) {
  const Section& x = *group.front();
  const LockClass& lock = s.locks.at(x.lock);
  Finding f;
  f.rule = "exclusive-lock-on-read";
  f.code = "LT101";
  f.level = Level::Warning;
  f.at = placeOf(s, x.loc, sectionLength(s, x));
  f.label = "exclusive, but the section only reads";
  f.lock = lockNote(s, x.lock);
  f.cost = costName(x.verdict.cost);
  f.seenInTus = s.program.unitsSeeing[x.func];
  size_t siblings = 0;
  for (uint32_t i : lock.sections) siblings += s.sections[i].mode == Mode::Shared;
  f.message = "`" + lock.name + "` is held exclusively, but `" + s.program.title(x.func) +
              "` only reads";
  f.sections.push_back(sectionNote(s, x));
  for (uint32_t i : lock.sections) {
    const Section& o = s.sections[i];
    if (&o != &x && o.mode == Mode::Exclusive && o.verdict.reading == Reading::Writing && f.sections.size() < 4)
      f.sections.push_back(sectionNote(s, o));
  }

  std::set<std::string> assumes;
  Rewrite rewrite;
  for (const Section* g : group) {
    for (const std::string& a : g->verdict.assumptions) assumes.insert(a);
    std::vector<std::string> text;
    textAssumptions(s, *g, text);
    assumes.insert(text.begin(), text.end());
    f.reads += g->verdict.reads;
    f.callsResolved += g->verdict.calls;
    rewrite = rewriteMode(s, *g, Mode::Shared);
  }
  std::string reads;
  std::set<std::string> named;
  for (const Decider& d : x.verdict.deciders)
    if (!d.path.empty() && named.insert(d.path).second && named.size() <= 4)
      reads += (reads.empty() ? "`" : ", `") + d.path + "`";
  f.because.push_back("on every path from the acquisition to its release nothing that others can see is written: it reads " +
                      (reads.empty() ? "guarded state" : reads));
  f.because.push_back("every write to what it reads, anywhere in the program, holds `" + lock.name + "` exclusively");
  f.because.push_back("it waits for nobody, touches nothing outside memory, and never takes the lock again");
  if (siblings)
    f.because.push_back(std::to_string(siblings) + (siblings == 1 ? " other section takes" : " other sections take") +
                        " the lock shared already");
  f.assumes.assign(assumes.begin(), assumes.end());
  for (const std::string& a : rewrite.assumes) f.assumes.push_back(a);

  f.safety = f.assumes.empty() ? Safety::Safe : Safety::Likely;
  if (rewrite.possible) {
    f.fix.title = rewrite.title;
    f.fix.edits = rewrite.edits;
  } else {
    f.safety = Safety::Candidate;
    f.help.push_back("no edit: " + rewrite.why);
  }
  if (!lock.everShared && x.verdict.cost <= 1) f.level = Level::Note;
  f.rank = 50 + 10 * x.verdict.cost + (siblings ? 20 : 0);
  identify(f, {s.program.text(x.lock), s.program.text(s.function(x.func).usr), std::to_string(ordinal)});
  f.fix.safety = f.safety;
  f.fix.group = f.id;
  f.help.push_back("locktidy why " + lock.name);
  return f;
}

std::vector<Finding> check(const Solution& s, const RuleOptions&) {
  // Every copy of one source line (template instances, configurations) must agree.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<const Section*>> places;
  for (const Section& x : s.sections)
    if (x.loc.valid()) places[{x.loc.file, x.loc.offset}].push_back(&x);
  std::vector<Finding> out;
  std::map<std::pair<Str, Str>, int> ordinals;
  for (const auto& [place, group] : places) {
    int ordinal = ordinals[{group.front()->lock, s.function(group.front()->func).usr}]++;
    bool all = true;
    for (const Section* x : group) all &= holds(s, *x);
    // A guard that is taken again later: one type serves all its sections.
    for (const Section* x : group) {
      const Acquisition& q = s.acquisition(*x);
      if (!q.guard) continue;
      for (const Section& o : s.sections)
        if (o.func == x->func && s.acquisition(o).guard == q.guard) all &= holds(s, o);
    }
    if (all) out.push_back(describe(s, group, ordinal));
  }
  return out;
}

}  // namespace

extern const Rule rule_exclusive_lock_on_read;
const Rule rule_exclusive_lock_on_read{
    "exclusive-lock-on-read", "LT101", "a reader-writer lock is held exclusively by a section that only reads",
    "0.1.0", Level::Warning, true, check};

}  // namespace locktidy
