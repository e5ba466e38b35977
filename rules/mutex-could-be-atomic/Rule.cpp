// LT201: a lock around one scalar. Every section of the lock touches exactly
// one guarded object, with one load, one store or one read-modify-write that
// std::atomic has; then the object can be atomic and the lock can go.
#include <algorithm>
#include <map>
#include <optional>

#include "rules/AtomicScalar.h"
#include "rules/Describe.h"
#include "rules/LockUses.h"
#include "rules/mutex-could-be-atomic/Removal.h"

namespace locktidy {
namespace {

// How often the object may be accessed on one way through a section.
constexpr size_t kTwice = 2;

class Assessor {
 public:
  Assessor(const Solution& s, const LockClass& lock, const AtomicScalars& scalars)
      : s_(s), e_(s.engine), p_(s.program), lock_(lock), scalars_(scalars) {}

  Str object() const { return object_; }
  bool compound() const { return compound_; }  // a read and then a write somewhere
  Loc compoundAt() const { return compoundAt_; }

  // Why the lock guards no such scalar; "" if it does.
  std::string run() {
    if (!lock_.barred.empty()) return lock_.barred;
    if (lock_.sections.empty()) return "it has no section";
    for (uint32_t i : lock_.sections) {
      const Section& x = s_.sections[i];
      const Acquisition& q = s_.acquisition(x);
      if (!x.ineligible.empty()) return x.ineligible;
      if (q.ambiguous || q.tooLarge || !s_.results[x.func].incomplete.empty()) return "a section could not be followed";
      if (!q.nested.empty()) return "other locks are taken inside it";
      if (!q.tokens.empty()) return "the guard is passed on";
      if (std::string why = section(x); !why.empty()) return why;
    }
    if (!object_) return "its sections touch nothing that it guards";
    return elsewhere();
  }

 private:
  // The member or global, if it is the lock's own: in the same object, or both
  // global.
  bool siblings(PathId place, PathId lock) const {
    auto home = [&](PathId p) {
      while (e_.paths.at(p).kind == StepKind::Field) p = e_.paths.at(p).parent;
      return p;
    };
    PathId a = home(place), b = home(lock);
    auto global = [&](PathId p) { return e_.paths.at(p).kind == StepKind::Root && e_.paths.at(p).root == Root::Global; };
    if (global(a) && global(b)) return true;
    return e_.paths.withoutIndexes(a) == e_.paths.withoutIndexes(b);
  }

  std::string section(const Section& x) {
    const Acquisition& q = s_.acquisition(x);
    const FunctionResult& r = s_.results[x.func];
    bool touched = false;
    std::map<uint32_t, std::vector<const LocalEffect*>> byBlock;  // accesses to the object
    for (uint32_t index : q.region) {
      const LocalEffect& e = r.effects[index];
      switch (e.kind) {
        case Eff::Log:
        case Eff::Alloc: continue;
        case Eff::Read:
        case Eff::Write: break;
        case Eff::AtomicRead: continue;
        case Eff::Unknown: return "a section calls " + (e.via ? "`" + p_.text(e.via) + "`" : std::string("something")) + ", of which nothing is known";
        case Eff::Wait: return "a section waits for another thread";
        case Eff::External: return "a section touches something outside memory";
        default: return "a section does more than access one object";
      }
      bool callers = false;
      std::vector<PathId> places = s_.publicPlaces(x.func, e.path, &callers);
      if (callers && e.kind == Eff::Write) return "a section writes memory of its callers";
      for (PathId place : places) {
        // What nobody writes once it is made may be read by all.
        if (e.kind == Eff::Read && neverWritten(place, e)) continue;
        Str entity = scalars_.entityOf(place);
        if (!entity || !siblings(e.path, q.lock)) return "`" + e_.describe(place) + "`, which a section touches, is no plain member beside the lock";
        if (object_ && entity != object_) return "two objects are accessed under it, `" + scalars_.name(object_) + "` and `" + scalars_.name(entity) + "`";
        object_ = entity;
        touched = true;
        byBlock[e.block].push_back(&e);
        if (e.inOneRound) note(e);
      }
    }
    if (!touched) return "a section of it touches nothing";
    for (uint32_t index : q.region) {
      const LocalEffect& e = r.effects[index];
      if (!isPathless(e.kind) && behind(e.path)) return "a section looks into what `" + scalars_.name(object_) + "` points to";
    }
    if (most(x, byBlock) >= kTwice) {
      bool writes = false;
      for (const auto& [b, all] : byBlock)
        for (const LocalEffect* e : all) writes |= e->kind == Eff::Write;
      if (!writes) return "a section reads `" + scalars_.name(object_) + "` more than once";
      for (const auto& [b, all] : byBlock)
        for (const LocalEffect* e : all) note(*e);
    }
    return {};
  }
  void note(const LocalEffect& e) {
    if (!compound_ || (e.kind == Eff::Write && !compoundWrite_)) compoundAt_ = e.loc;
    compoundWrite_ |= e.kind == Eff::Write;
    compound_ = true;
  }

  bool neverWritten(PathId place, const LocalEffect& e) const {
    for (uint32_t id : s_.distinctOverlapping(place, e.type, e.shallow)) {
      const Row& row = s_.rows[id];
      if (!row.init && row.writes()) return false;
    }
    return true;
  }

  // The most accesses on one way through the section; a loop counts as many.
  // A step (read and write of one expression) is one.
  size_t most(const Section& x, const std::map<uint32_t, std::vector<const LocalEffect*>>& byBlock) const {
    const FunctionFacts& f = p_.functions[x.func];
    const Acquisition& q = s_.acquisition(x);
    auto weight = [&](uint32_t b) {
      auto it = byBlock.find(b);
      if (it == byBlock.end()) return size_t{0};
      std::set<std::tuple<FuncId, uint32_t, uint32_t>> seen;
      size_t n = 0;
      for (const LocalEffect* e : it->second)
        n += scalars_.isAccess(object_, e->func, e->loc) && seen.insert({e->func, e->loc.file, e->loc.offset}).second;
      return n;
    };
    std::map<uint32_t, size_t> known;
    std::set<uint32_t> open;
    bool loop = false;
    uint32_t home = kNone;
    for (uint32_t b = 0; b < f.blocks.size(); ++b)
      for (const Event& event : f.blocks[b].events)
        if (event.kind == EventKind::Call && event.call == q.call) home = b;
    auto walk = [&](auto&& self, uint32_t b) -> size_t {
      if (auto it = known.find(b); it != known.end()) return it->second;
      open.insert(b);
      size_t rest = 0;
      for (uint32_t next : f.blocks[b].succs) {
        if (next >= f.blocks.size() || next == home || !q.blocks.count(next)) continue;
        if (open.count(next)) {
          // Round again: whatever is in it happens more than once.
          for (uint32_t o : open) loop |= weight(o) > 0 && o != home;
          continue;
        }
        rest = std::max(rest, self(self, next));
      }
      open.erase(b);
      return known[b] = rest + weight(b);
    };
    size_t n = home == kNone ? kTwice : walk(walk, home);
    return loop ? kTwice : n;
  }

  // The rest of the program.
  std::string elsewhere() {
    if (const ClassFact* owner = p_.fieldOwner(lock_.id); owner && !owner->inSystemHeader)
      if (std::string missing = s_.missingMember(*owner); !missing.empty()) return "`" + missing + "` has no body in the program";
    std::set<uint32_t> places;
    for (uint32_t i : lock_.sections) {
      const Section& x = s_.sections[i];
      for (uint32_t index : s_.acquisition(x).region) {
        const LocalEffect& e = s_.results[x.func].effects[index];
        if (isPathless(e.kind)) continue;
        bool callers = false;
        for (PathId place : s_.publicPlaces(x.func, e.path, &callers))
          if (scalars_.entityOf(place) == object_)
            for (uint32_t id : s_.overlapping(place, e.type)) places.insert(id);
      }
    }
    bool written = false;
    for (uint32_t id : places) {
      const Row& row = s_.rows[id];
      if (row.init) continue;
      written |= row.writes();
      if (row.kind == Eff::Touch) return "`" + scalars_.name(object_) + "` is handed to code that may write it";
      if (row.orphan && row.owner != p_.fieldOwner(lock_.id)) continue;
      if (!s_.holds(row.held, lock_.id, row.writes() ? Mode::Exclusive : Mode::Shared))
        return "`" + scalars_.name(object_) + "` is also accessed without the lock";
    }
    if (!written) return "`" + scalars_.name(object_) + "` never changes after construction";
    for (const ScalarUse& u : scalars_.uses(object_))
      if (u.kind == ScalarUseKind::Bound) return "a reference to `" + scalars_.name(object_) + "` is made";
    return publishes();
  }

  // Does the path lead through the object, a pointer?
  bool behind(PathId path) const {
    for (PathId at = path; e_.paths.at(at).kind != StepKind::Root; at = e_.paths.at(at).parent) {
      const PathNode& n = e_.paths.at(at);
      if (n.kind == StepKind::Deref && scalars_.entityOf(n.parent) == object_) return true;
    }
    return false;
  }

  // A pointer whose target others reach only through it, or memory that is
  // handed over: the lock orders more than the scalar.
  std::string publishes() const {
    const FieldFact* f = p_.field(object_);
    const GlobalFact* g = p_.global(object_);
    const TypeFact* t = p_.type(f ? f->type : g ? g->type : 0);
    if (!t || t->kind != TypeKind::Pointer) return {};
    for (const Row& row : s_.rows)
      if (!row.init && row.writes() && behind(row.path)) return "what `" + scalars_.name(object_) + "` points to changes too";
    return {};
  }

  const Solution& s_;
  Engine& e_;
  const Program& p_;
  const LockClass& lock_;
  const AtomicScalars& scalars_;
  Str object_ = 0;
  bool compound_ = false, compoundWrite_ = false;
  Loc compoundAt_;
};

Finding describe(const Solution& s, const LockClass& lock, const Assessor& a, const AtomicScalars& scalars,
                 const RuleOptions& options) {
  const std::string name = scalars.name(a.object());
  const AtomicEdits& atomic = scalars.edits(a.object());
  Finding f;
  f.rule = "mutex-could-be-atomic";
  f.code = "LT201";
  f.level = Level::Warning;
  f.lock = lockNote(s, lock.id);
  f.at = f.lock.at;
  f.cost = costName(0);
  f.label = "guards one scalar, `" + name + "`";
  std::set<std::string> assumes;
  for (uint32_t i : lock.sections) {
    const Section& x = s.sections[i];
    f.sections.push_back(sectionNote(s, x));
    f.seenInTus = std::max(f.seenInTus, s.program.unitsSeeing[x.func]);
    std::vector<std::string> text;
    textAssumptions(s, x, text);
    assumes.insert(text.begin(), text.end());
  }
  f.message = "`" + lock.name + "` only guards `" + name + "`, which could be atomic";
  f.because.push_back("every section of the lock accesses `" + name + "` and nothing else that changes");
  f.because.push_back("every access to `" + name + "` in the program, after construction, holds the lock");
  f.because.push_back("every use of the lock in the program was seen; nobody waits with it on a condition");
  f.safety = Safety::Safe;
  if (a.compound()) {
    f.safety = Safety::Candidate;
    f.message = "`" + lock.name + "` only guards `" + name + "`, which could be atomic with a compare-exchange loop";
    f.because.insert(f.because.begin() + 1, "a section reads it and then writes it (" + lineOf(s, a.compoundAt()) + "): one step that has to stay one");
    f.help.push_back("no edit: read it, compute the new value, and try `compare_exchange_weak` until nobody came between");
  } else if (!atomic.why.empty()) {
    f.safety = Safety::Candidate;
    f.help.push_back("no edit: " + atomic.why);
  } else {
    f.because.insert(f.because.begin() + 1, "each section is one load, one store or one step that an atomic has; the atomic is sequentially consistent");
    Removal removal = removeLock(s, options.text, lock);
    if (removal.why.empty()) {
      f.fix.title = "`" + name + "` -> " + atomic.type + ", without `" + lock.name + "`";
      f.fix.edits = std::move(removal.edits);
      addEdits(f.fix.edits, atomic.edits);
      f.fix.includes = atomic.includes;
    } else {
      f.safety = Safety::Candidate;
      f.help.push_back("no edit: " + removal.why);
    }
  }
  f.assumes.assign(assumes.begin(), assumes.end());
  if (!assumes.empty() && f.safety == Safety::Safe) f.safety = Safety::Likely;
  f.rank = 35;
  identify(f, {s.program.text(lock.id)});
  f.fix.safety = f.safety;
  f.fix.group = f.id;
  f.help.push_back("locktidy why " + lock.name);
  return f;
}

// What the lock's uses say against it.
std::string strangeUse(const Solution& s, const std::vector<LockUse>& uses, const LockClass& lock) {
  std::set<std::pair<FuncId, uint32_t>> known;
  for (uint32_t i : lock.sections) known.insert({s.sections[i].func, s.acquisition(s.sections[i]).call});
  for (const LockUse& u : uses) {
    std::string at = lineOf(s, u.loc);
    if (u.kind == UseKind::Other || u.kind == UseKind::Bound || u.kind == UseKind::Passed)
      return "what happens to it at " + at + " is not understood";
    if (u.kind == UseKind::Guard && !known.count({u.func, u.call})) return "the section that begins at " + at + " could not be followed";
  }
  return {};
}

using Uses = std::map<Str, std::vector<LockUse>>;

std::vector<std::pair<const LockClass*, Assessor>> assessAll(const Solution& s, const AtomicScalars& scalars) {
  std::vector<std::pair<const LockClass*, Assessor>> out;
  std::set<Str> ids;
  std::map<std::pair<uint32_t, uint32_t>, int> declared;
  for (const auto& [id, lock] : s.locks) {
    if (!lock.loc.valid()) continue;
    ++declared[{lock.loc.file, lock.loc.offset}];
    Assessor a(s, lock, scalars);
    if (!a.run().empty()) continue;
    ids.insert(id);
    out.push_back({&lock, a});
  }
  if (out.empty()) return out;
  Uses uses = usesOfLocks(s, ids);
  std::vector<std::pair<const LockClass*, Assessor>> fine;
  for (const auto& [lock, a] : out)
    // Instances of one template: each would have to agree.
    if (declared[{lock->loc.file, lock->loc.offset}] == 1 && strangeUse(s, uses[lock->id], *lock).empty()) fine.push_back({lock, a});
  return fine;
}

std::vector<Finding> check(const Solution& s, const RuleOptions& options) {
  AtomicScalars scalars(s, options.text);
  std::vector<Finding> out;
  for (const auto& [lock, a] : assessAll(s, scalars))
    if (!scalars.edits(a.object()).impossible) out.push_back(describe(s, *lock, a, scalars, options));
  return out;
}

}  // namespace

std::string whyNotAtomic(const Solution& s, const LockClass& lock, const RuleOptions& options) {
  AtomicScalars scalars(s, options.text);
  Assessor a(s, lock, scalars);
  if (std::string why = a.run(); !why.empty()) return why;
  if (const AtomicEdits& atomic = scalars.edits(a.object()); atomic.impossible) return atomic.why;
  return strangeUse(s, usesOfLocks(s, {lock.id})[lock.id], lock);
}

std::set<Str> atomicLocks(const Solution& s, const RuleOptions& options) {
  AtomicScalars scalars(s, options.text);
  std::set<Str> out;
  for (const auto& [lock, a] : assessAll(s, scalars))
    if (!scalars.edits(a.object()).impossible) out.insert(lock->id);
  return out;
}

extern const Rule rule_mutex_could_be_atomic;
const Rule rule_mutex_could_be_atomic{
    "mutex-could-be-atomic", "LT201", "a lock guards one scalar that could be atomic",
    "0.1.0", Level::Warning, true, check};

}  // namespace locktidy
