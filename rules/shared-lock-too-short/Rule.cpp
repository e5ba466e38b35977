// LT501: a reader-writer lock whose shared sections are so short that its
// bookkeeping costs more than sharing gives; an exclusive lock would do, since
// no reader needs another to be inside.
#include "rules/Describe.h"
#include "rules/Rule.h"

namespace locktidy {
namespace {

// Look-ups that one section may make.
constexpr size_t kOneLookUp = 1;

size_t lookUps(const Solution& s, const Section& x) {
  std::set<std::pair<uint32_t, uint32_t>> places;
  for (uint32_t e : s.acquisition(x).region) {
    const LocalEffect& effect = s.results[x.func].effects[e];
    // (What a container tells without looking into it, end() and size(), is none.)
    if (effect.via && effect.kind == Eff::Read && !effect.shallow && effect.direct) places.insert({effect.loc.file, effect.loc.offset});
  }
  return places.size();
}

bool tooShort(const Solution& s, const LockClass& lock) {
  if (!lock.everShared || !lock.barred.empty() || !lock.loc.valid()) return false;
  bool any = false;
  for (uint32_t i : lock.sections) {
    const Section& x = s.sections[i];
    const Acquisition& q = s.acquisition(x);
    if (x.mode == Mode::Upgrade || q.ambiguous || q.many) return false;
    if (x.mode != Mode::Shared) continue;
    any = true;
    // Waits, unknown calls and taking the lock again are no "only reads".
    if (!x.verdict.proved() && x.verdict.category != "nothing guarded is read") return false;
    if (x.verdict.cost > 1 || (x.verdict.cost == 1 && lookUps(s, x) > kOneLookUp)) return false;
    if (!q.nested.empty() || q.isTry || q.guardEscapes || q.heldAtExit) return false;
  }
  return any;
}

std::vector<Finding> check(const Solution& s, const RuleOptions&) {
  std::vector<Finding> out;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<const LockClass*>> places;
  for (const auto& [id, lock] : s.locks)
    if (lock.loc.valid()) places[{lock.loc.file, lock.loc.offset}].push_back(&lock);
  for (const auto& [place, classes] : places) {
    bool all = true;
    for (const LockClass* c : classes) all &= tooShort(s, *c);
    if (!all) continue;
    const LockClass& lock = *classes.front();
    Finding f;
    f.rule = "shared-lock-too-short";
    f.code = "LT501";
    f.level = Level::Note;
    f.safety = Safety::Candidate;
    f.lock = lockNote(s, lock.id);
    f.at = f.lock.at;
    f.label = "its shared sections are one look-up at most";
    f.message = "`" + lock.name + "` is shared by sections so short that an exclusive lock may be faster";
    int cost = 0;
    for (uint32_t i : lock.sections) {
      f.sections.push_back(sectionNote(s, s.sections[i]));
      if (s.sections[i].mode == Mode::Shared) cost = std::max(cost, s.sections[i].verdict.cost);
    }
    f.cost = costName(cost);
    f.because.push_back("each shared section reads a few values or makes one look-up: taking and giving back the lock costs more");
    f.because.push_back("no reader waits for another one or takes the lock again: nobody needs two of them inside at once");
    f.help.push_back("measure with a plain mutex; no edit is offered");
    f.help.push_back("locktidy why " + lock.name);
    f.rank = 10;
    identify(f, {s.program.text(lock.id)});
    f.fix.safety = f.safety;
    f.fix.group = f.id;
    out.push_back(std::move(f));
  }
  return out;
}

}  // namespace

extern const Rule rule_shared_lock_too_short;
const Rule rule_shared_lock_too_short{
    "shared-lock-too-short", "LT501", "a reader-writer lock is shared by sections too short to gain from it",
    "0.1.0", Level::Note, false, check};

}  // namespace locktidy
