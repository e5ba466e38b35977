// LT202: all that keeps a section from being shared is a counter that it steps
// and does not look at. On a lock with a shared mode the fix stands by itself;
// on an exclusive-only lock it is part of what LT102 proposes.
#include <map>

#include "rules/AtomicScalar.h"
#include "rules/Describe.h"
#include "rules/LockForms.h"
#include "rules/mutex-could-be-shared/Proposal.h"

namespace locktidy {
namespace {

class Describer {
 public:
  Describer(const Solution& s, const AtomicScalars& scalars) : s_(s), scalars_(scalars) {}

  // `shared`: what LT102 proposes for the lock, which this belongs to.
  Finding run(const std::vector<const Section*>& group, int ordinal, const Finding* shared) {
    const Section& x = *group.front();
    const LockClass& lock = s_.locks.at(x.lock);
    const Counter& counter = x.verdict.counter;
    const Str entity = scalars_.entityOf(counter.place);
    const AtomicEdits& atomic = scalars_.edits(entity);
    const std::string name = s_.engine.describe(counter.place);
    Finding f;
    f.rule = "counter-blocks-sharing";
    f.code = "LT202";
    f.level = Level::Warning;
    f.at = placeOf(s_, x.loc, sectionLength(s_, x));
    f.label = "exclusive only for the sake of a counter";
    f.lock = lockNote(s_, x.lock);
    f.cost = costName(x.verdict.cost);
    f.seenInTus = s_.program.unitsSeeing[x.func];
    f.message = "`" + lock.name + "` is held exclusively, but `" + s_.program.title(x.func) + "` only reads and counts `" +
                name + "`";
    SectionNote note = sectionNote(s_, x);
    f.sections.push_back(note);
    f.because.push_back("apart from one step of `" + name + "`, whose value it does not use, nothing that others can see is written");
    f.because.push_back("every write to what it reads, anywhere in the program, holds `" + lock.name + "` exclusively");
    std::set<std::string> assumes{"nothing depends on when exactly `" + name + "` is counted"};
    for (const Section* g : group) {
      assumes.insert(g->verdict.assumptions.begin(), g->verdict.assumptions.end());
      std::vector<std::string> text;
      textAssumptions(s_, *g, text);
      assumes.insert(text.begin(), text.end());
      f.reads += g->verdict.reads;
      f.callsResolved += g->verdict.calls;
    }
    f.safety = Safety::Likely;
    f.rank = 45 + 10 * x.verdict.cost;
    identify(f, {s_.program.text(x.lock), s_.program.text(s_.function(x.func).usr), std::to_string(ordinal)});
    f.fix.group = f.id;
    if (!atomic.why.empty()) {
      f.safety = Safety::Candidate;
      f.help.push_back("no edit: " + atomic.why);
      if (atomic.impossible) f.help.push_back("a counter of its own kind, kept per thread or in an atomic integer, would let readers share the lock");
    } else if (shared) {
      f.fix = shared->fix;
      f.safety = std::max(f.safety, shared->safety);
      if (shared->fix.empty()) f.safety = Safety::Candidate;
      for (const std::string& h : shared->help)
        if (h.starts_with("no edit:")) f.help.push_back(h);
    } else {
      Rewrite rewrite = rewriteMode(s_, x, Mode::Shared);
      for (const Section* g : group) {
        Rewrite one = rewriteMode(s_, *g, Mode::Shared);
        if (!one.possible) rewrite = one;
      }
      assumes.insert(rewrite.assumes.begin(), rewrite.assumes.end());
      if (rewrite.possible) {
        f.fix.title = "`" + scalars_.name(entity) + "` -> " + atomic.type + ", " + rewrite.title;
        f.fix.edits = rewrite.edits;
        addEdits(f.fix.edits, atomic.edits);
        f.fix.includes = atomic.includes;
      } else {
        f.safety = Safety::Candidate;
        f.help.push_back("no edit: " + rewrite.why);
      }
    }
    f.assumes.assign(assumes.begin(), assumes.end());
    f.fix.safety = f.safety;
    if (readsAreRare(entity))
      f.help.push_back("where it is counted on a hot path, a counter per CPU (locktidy/sharded_counter.h) keeps the readers off one cache line");
    f.help.push_back("locktidy why " + lock.name);
    return f;
  }

 private:
  // One place reads it at most.
  bool readsAreRare(Str entity) const {
    size_t loads = 0;
    for (const ScalarUse& u : scalars_.uses(entity)) loads += u.kind == ScalarUseKind::Load;
    return loads <= 1;
  }
  const Solution& s_;
  const AtomicScalars& scalars_;
};

std::vector<Finding> check(const Solution& s, const RuleOptions& options) {
  AtomicScalars scalars(s, options.text);
  std::map<const Section*, const Finding*> joined;
  std::vector<SharedProposal> proposals = sharedProposals(s, options);
  for (const SharedProposal& p : proposals) {
    for (const Section* x : p.counters) joined[x] = &p.finding;
    for (const Section* x : p.blocked) joined[x] = &p.finding;
  }
  std::map<std::pair<uint32_t, uint32_t>, std::vector<const Section*>> places;
  for (const Section& x : s.sections)
    if (x.loc.valid()) places[{x.loc.file, x.loc.offset}].push_back(&x);
  auto holds = [&](const Section* x) {
    if (x->mode != Mode::Exclusive || !x->lock || !x->ineligible.empty() || !x->verdict.counter.place) return false;
    if (!scalars.entityOf(x->verdict.counter.place)) return false;
    return joined.count(x) || lockHasSharedMode(s, *x);
  };
  std::vector<Finding> out;
  std::map<std::pair<Str, Str>, int> ordinals;
  for (const auto& [place, group] : places) {
    int ordinal = ordinals[{group.front()->lock, s.function(group.front()->func).usr}]++;
    bool all = std::all_of(group.begin(), group.end(), holds);
    // A guard that is taken again later: one type serves all its sections.
    for (const Section* x : group) {
      const Acquisition& q = s.acquisition(*x);
      for (const Section& o : s.sections)
        if (all && q.guard && o.func == x->func && s.acquisition(o).guard == q.guard)
          all = holds(&o) || (o.verdict.proved() && o.ineligible.empty());
    }
    if (!all) continue;
    auto it = joined.find(group.front());
    out.push_back(Describer(s, scalars).run(group, ordinal, it == joined.end() ? nullptr : it->second));
  }
  return out;
}

}  // namespace

extern const Rule rule_counter_blocks_sharing;
const Rule rule_counter_blocks_sharing{
    "counter-blocks-sharing", "LT202", "a section only reads, but for a counter that could be atomic",
    "0.1.0", Level::Warning, true, check};

}  // namespace locktidy
