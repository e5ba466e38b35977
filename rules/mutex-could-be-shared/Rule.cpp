// LT102: an exclusive-only lock whose sections mostly read. Eligibility is
// decided for the whole lock; each section by the verdict that LT101 uses
// (checker/solve/Verdict.cpp); worth by cost class.
#include <algorithm>
#include <map>

#include "rules/AtomicScalar.h"
#include "rules/Describe.h"
#include "rules/mutex-could-be-shared/Edits.h"
#include "rules/mutex-could-be-shared/Proposal.h"

namespace locktidy {
namespace {

constexpr int kWorthSharing = 2;  // T2: WHEN_IT_PAYS.md

// What keeps a lock from changing its type, whatever its sections do.
std::string wholeLockObstacle(const Solution& s, const LockClass& lock, const MutexModel& model) {
  if (!lock.barred.empty()) return lock.barred;
  for (uint32_t i : lock.sections) {
    const Section& x = s.sections[i];
    const Acquisition& q = s.acquisition(x);
    if (q.many) return "it is taken together with others";
    if (q.ambiguous) return "which lock a section takes could not be told";
    // What a recursive lock allows, a shared one deadlocks on.
    for (const AcquireNote& n : q.nested)
      if (s.engine.lockClass(n.path) == lock.id) return "it is taken again while it is held";
    for (const HeldLock& h : s.contexts[x.func].entryHeld)
      if (s.engine.lockClass(h.path) == lock.id) return "it is taken again while it is held";
    // Made for being taken again: code that is not known may do so.
    if (!model.recursive) continue;
    if (q.tooLarge || !s.results[x.func].incomplete.empty()) return "it may be taken again while it is held";
    for (uint32_t e : q.region) {
      Eff kind = s.results[x.func].effects[e].kind;
      if (kind == Eff::Unknown || kind == Eff::Assumption) return "it may be taken again while it is held";
    }
  }
  if (model.timed && model.sharedReplacement != "std::shared_timed_mutex")
    return "its replacement has no timed operations";
  return {};
}

// pthread_mutex_init(&mu, &attributes): recursive, robust, shared between
// processes, lending priority - whatever was asked for, a reader-writer lock
// may not have it.
bool hasAttributes(const Solution& s, const LockUse& u) {
  if (u.kind != UseKind::Function) return false;
  const Call& c = s.program.functions[u.func].calls[u.call];
  if (s.models.lockFunction(s.program.text(c.name))->op.kind != LockOpKind::Init) return false;
  for (uint32_t i = 0; i < c.args.size(); ++i)
    if (i != u.arg && c.args[i].value.kind != ValueKind::None) return true;  // no null pointer
  return false;
}

// Does the use take the lock at once?
bool acquires(const Solution& s, const LockUse& u) {
  const Call& c = s.program.functions[u.func].calls[u.call == kNone ? 0 : u.call];
  if (u.kind == UseKind::Guard) {
    const GuardModel* g = s.models.guard(s.program.className(c.selfType));
    for (const Arg& a : c.args)
      if (g->tags.count(std::string(s.program.className(a.type)))) return false;
    return true;
  }
  LockOpKind kind = LockOpKind::None;
  if (u.kind == UseKind::Function) kind = s.models.lockFunction(s.program.text(c.name))->op.kind;
  if (u.kind == UseKind::Method) {
    if (const MutexModel* m = s.models.mutex(s.program.className(c.selfType)))
      if (auto it = m->ops.find(std::string(lastName(s.program.text(c.name)))); it != m->ops.end()) kind = it->second.kind;
  }
  return kind == LockOpKind::Acquire;
}

struct Candidate {
  SharedLock lock;
  std::vector<const Section*> shown;    // one per place
  std::vector<const Section*> blocked;  // read-only but for a counter that cannot be atomic
  bool worth = false;
  bool asked = false;  // not worth it by itself: the configuration asks for all readers
};

class Describer {
 public:
  Describer(const Solution& s, Candidate& c, const AtomicScalars& scalars)
      : s_(s), c_(c), scalars_(scalars), lock_(*c.lock.classes.front()) {}

  Finding run() {
    SharedEdits edits = sharedEdits(s_, c_.lock);
    f_.rule = "mutex-could-be-shared";
    f_.code = "LT102";
    f_.level = Level::Warning;
    f_.lock = lockNote(s_, lock_.id);
    f_.at = f_.lock.at;
    count();
    f_.label = std::to_string(readers_) + (readers_ == 1 ? " section only reads" : " sections only read");
    std::string of = readers_ == c_.shown.size() ? readers_ == 1 ? "its only section only reads" : "all its sections only read"
                                                 : std::to_string(readers_) + " of its " + std::to_string(c_.shown.size()) +
                                                       (readers_ == 1 ? " sections only reads" : " sections only read");
    f_.message = "`" + lock_.name + "` is exclusive only, but " + of;
    sections();
    proof();
    assumptions();
    f_.safety = f_.assumes.empty() ? Safety::Safe : Safety::Likely;
    if (!edits.possible) {
      f_.safety = Safety::Candidate;
      f_.help.push_back("no edit: " + edits.why);
    } else if (!writers_ && !undecided_) {
      f_.safety = Safety::Candidate;
      f_.help.push_back("the data never changes after construction: it may need no lock at all");
    } else {
      f_.fix.title = c_.lock.oldType + " -> " + c_.lock.newType;
      f_.fix.edits = std::move(edits.edits);
      f_.fix.includes = std::move(edits.includes);
      for (const Section* x : c_.lock.counters) {
        const AtomicEdits& atomic = scalars_.edits(scalars_.entityOf(x->verdict.counter.place));
        addEdits(f_.fix.edits, atomic.edits);
        f_.fix.includes.insert(f_.fix.includes.end(), atomic.includes.begin(), atomic.includes.end());
      }
      if (c_.asked) {
        f_.safety = Safety::Candidate;
        f_.help.push_back("its readers are short: measure before you share it");
      }
    }
    f_.rank = 40 + 10 * cost_ + 2 * static_cast<double>(readers_);
    identify(f_, {s_.program.text(lock_.id)});
    f_.fix.safety = f_.safety;
    f_.fix.group = f_.id;
    f_.help.push_back("locktidy why " + lock_.name);
    return std::move(f_);
  }

 private:
  bool reads(const Section* x) const {
    return std::find(c_.lock.readers.begin(), c_.lock.readers.end(), x) != c_.lock.readers.end();
  }
  void count() {
    for (const Section* x : c_.shown) {
      if (reads(x)) ++readers_, cost_ = std::max(cost_, x->verdict.cost);
      else if (x->verdict.reading == Reading::Undecided) ++undecided_;
      else ++writers_;
    }
    f_.cost = costName(cost_);
  }
  void sections() {
    // Readers first: they are what is proposed.
    for (bool reading : {true, false})
      for (const Section* x : c_.shown) {
        if (reads(x) != reading) continue;
        SectionNote n = sectionNote(s_, *x);
        if (reading) n.verdict = "read-only";
        if (reading && x->verdict.counter.place) n.reason = "only reads, but for a counter that becomes atomic";
        if (x->verdict.proved() && !reading) {
          n.verdict = "undecided";
          n.reason = x->ineligible.empty() ? "stays exclusive" : x->ineligible;
        }
        f_.sections.push_back(std::move(n));
        f_.seenInTus = std::max(f_.seenInTus, s_.program.unitsSeeing[x->func]);
      }
  }
  void proof() {
    f_.because.push_back("the sections that only read change nothing that others can see, wait for nobody and "
                         "never take the lock again");
    f_.because.push_back(writers_ + undecided_
                             ? "every write to what they read, anywhere in the program, holds `" + lock_.name +
                                   "`; those sections stay exclusive"
                             : "nothing in the program writes what they read once it is constructed");
    f_.because.push_back("every use of the lock in the program was seen");
    if (writers_ + undecided_)
      f_.because.push_back(std::to_string(writers_ + undecided_) +
                           (writers_ + undecided_ == 1 ? " section writes" : " sections write") +
                           " or could not be decided: readers stop waiting for readers, writers may wait longer");
  }
  void assumptions() {
    std::set<std::string> all;
    for (const Section* x : c_.lock.readers) {
      for (const std::string& a : x->verdict.assumptions) all.insert(a);
      if (x->verdict.counter.place)
        all.insert("nothing depends on when exactly `" + s_.engine.describe(x->verdict.counter.place) + "` is counted");
      f_.reads += x->verdict.reads;
      f_.callsResolved += x->verdict.calls;
    }
    for (const LockClass* c : c_.lock.classes) {
      std::vector<std::string> text;
      textAssumptions(s_, s_.sections[c->sections.front()], text);
      all.insert(text.begin(), text.end());
      const MutexModel* replacement = s_.models.mutex(c_.lock.newType);
      if (c->endlessWriter && replacement && replacement->prefersReaders) {
        const Section& x = s_.sections[c->endlessWriter - 1];
        all.insert("readers leave gaps for the writer at " + lineOf(s_, x.loc) +
                   ", which comes again and again (`" + c_.lock.newType + "` may prefer readers)");
      }
    }
    if (annotated() && std::any_of(s_.program.units.begin(), s_.program.units.end(), [](const Program::Unit& u) { return u.threadSafetyWarnings; }))
      all.insert("the build accepts a lock and guards without thread-safety annotations (-Wthread-safety is on)");
    f_.assumes.assign(all.begin(), all.end());
  }
  // Do thread-safety annotations name the lock, while its replacement has none?
  bool annotated() const {
    if (c_.lock.newType.starts_with("locktidy::")) return false;
    auto names = [&](const std::vector<AttrFact>& attrs) {
      for (const AttrFact& a : attrs)
        for (const LockClass* l : c_.lock.classes)
          if (namesLock(a, l->id)) return true;
      return false;
    };
    for (const ClassFact& c : s_.program.classes)
      for (const FieldFact& f : c.fields)
        if (names(f.attrs)) return true;
    for (const GlobalFact& g : s_.program.globals)
      if (names(g.attrs)) return true;
    return std::any_of(s_.program.functions.begin(), s_.program.functions.end(), [&](const FunctionFacts& f) { return names(f.attrs); });
  }

  const Solution& s_;
  Candidate& c_;
  const AtomicScalars& scalars_;
  const LockClass& lock_;
  Finding f_;
  size_t readers_ = 0, writers_ = 0, undecided_ = 0;
  int cost_ = 0;
};

// A lock type that has a reader-writer lock to take its place.
bool isEligible(const Solution& s, const LockClass& lock) {
  const MutexModel* m = s.models.mutex(s.program.className(lock.type));
  return m && !m->hasShared && !m->sharedReplacement.empty() && lock.loc.valid() && !lock.everShared;
}
std::set<Str> eligibleLocks(const Solution& s) {
  std::set<Str> out;
  for (const auto& [id, lock] : s.locks)
    if (isEligible(s, lock)) out.insert(id);
  return out;
}

// Nobody writes what the sections read: they are readers of data that needs no
// lock, for all that is seen.
void neverWritten(Candidate& c) {
  for (const Section* x : c.lock.others)
    if (!x->verdict.immutable || !x->ineligible.empty()) return;
  for (const Section* x : c.lock.others) c.worth |= x->verdict.cost >= kWorthSharing;
  c.lock.readers = std::move(c.lock.others);
  c.lock.others.clear();
}

using Uses = std::map<Str, std::vector<LockUse>>;

// Decides about the lock that `classes` declare (instances of one template).
// Returns why nothing is proposed, or "" with `c` filled in.
std::string assess(const Solution& s, const std::vector<const LockClass*>& classes, const RuleOptions& options,
                   const AtomicScalars& scalars, Uses& uses, Candidate& c) {
  const MutexModel& model = *s.models.mutex(s.program.className(classes.front()->type));
  c.lock.classes = classes;
  c.lock.oldType = model.type;
  c.lock.newType = model.sharedReplacement;
  c.lock.header = model.header;
  LockSettings settings;
  if (options.settings) settings = options.settings(s.program.text(s.program.files[classes.front()->loc.file].path));
  // (What takes the place of a timed lock has to be timed.)
  const bool chosen = !settings.sharedMutex.empty() && !model.timed && model.sharedReplacement.starts_with("std::");
  if (chosen) {
    c.lock.newType = settings.sharedMutex;
    c.lock.header = settings.sharedMutexHeader;
  }
  // A section of a template is read-only if it is so in every instance.
  std::map<std::tuple<uint32_t, uint32_t>, std::vector<const Section*>> places;
  for (const LockClass* l : classes) {
    if (std::string obstacle = wholeLockObstacle(s, *l, model); !obstacle.empty()) return obstacle;
    for (uint32_t i : l->sections) {
      const Section& x = s.sections[i];
      places[{x.loc.file, x.loc.offset}].push_back(&x);
    }
  }
  // Read-only, or but for a counter that can be atomic.
  auto readOnly = [&](const Section* x) {
    if (!x->ineligible.empty()) return false;
    if (x->verdict.proved()) return true;
    return x->verdict.counter.place && scalars.edits(scalars.entityOf(x->verdict.counter.place)).why.empty();
  };
  auto reads = [&](const Section* x) {
    if (!readOnly(x)) return false;
    // A guard that is taken again later: one type serves all its sections.
    const Acquisition& q = s.acquisition(*x);
    for (const Section& o : s.sections)
      if (q.guard && o.func == x->func && &o != x && s.acquisition(o).guard == q.guard && !readOnly(&o)) return false;
    return true;
  };
  for (const auto& [where, group] : places) {
    bool all = std::all_of(group.begin(), group.end(), reads);
    for (const Section* x : group) {
      (all ? c.lock.readers : c.lock.others).push_back(x);
      if (x->verdict.counter.place && x->ineligible.empty()) (all ? c.lock.counters : c.blocked).push_back(x);
      if (all) c.worth |= x->verdict.cost >= kWorthSharing;
    }
    c.shown.push_back(group.front());
  }
  if (!c.worth && c.lock.readers.empty()) neverWritten(c);
  if (c.lock.readers.empty()) return "no section of it only reads";
  if (!c.worth && settings.includeT1) c.worth = c.asked = true;
  if (!c.worth) return "the sections that only read are short (none goes over a container): a shared lock costs more than it gives";

  if (uses.empty()) uses = usesOfLocks(s, eligibleLocks(s));
  auto at = [&](const LockUse& u) { return lineOf(s, u.loc); };
  std::set<std::pair<FuncId, uint32_t>> known;  // acquisitions that are sections
  for (const LockClass* l : classes)
    for (uint32_t i : l->sections) known.insert({s.sections[i].func, s.acquisition(s.sections[i]).call});
  for (const LockClass* l : classes)
    for (const LockUse& u : uses[l->id]) {
      // (What the program's own guards take is a section of those who have them.)
      const FunctionFacts& fn = s.program.functions[u.func];
      bool inGuard = fn.isCtor && s.engine.isGuardClass(fn.ownerType);
      if (acquires(s, u) && !inGuard && !known.count({u.func, u.call})) return "the section that begins at " + at(u) + " could not be followed";
      if (u.kind == UseKind::Other) return "what happens to it at " + at(u) + " is not understood";
      if (hasAttributes(s, u)) return "it is made with attributes at " + at(u);
      // A function that takes the lock by reference may hold it in a section
      // that is not known to be one of this lock.
      if (u.kind == UseKind::Passed && !s.engine.isGuardClass(s.program.functions[u.func].calls[u.call].selfType))
        return "it is handed to `" + s.program.text(s.program.functions[u.func].calls[u.call].name) + "` at " + at(u);
      c.lock.uses.push_back(u);
    }

  int oldest = standardsSeeing(s, classes.front()->loc).first;
  const MutexModel* replacement = chosen ? s.models.mutex(c.lock.newType) : &model;
  int needed = replacement ? standardOf(replacement->minStandard) : 0;
  if (needed && oldest && oldest < needed) {
    if (c.lock.newType != "std::shared_mutex" || oldest < 14)
      return "`" + c.lock.newType + "` needs " + model.minStandard + ", and a unit that sees the lock is older";
    c.lock.newType = "std::shared_timed_mutex";
  }
  std::sort(c.shown.begin(), c.shown.end(), [](const Section* a, const Section* b) {
    return std::tie(a->loc.file, a->loc.line, a->loc.col) < std::tie(b->loc.file, b->loc.line, b->loc.col);
  });
  return {};
}

// Exclusive-only locks by the place of their declaration.
std::map<std::pair<uint32_t, uint32_t>, std::vector<const LockClass*>> declaredLocks(const Solution& s) {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<const LockClass*>> out;
  for (const auto& [id, lock] : s.locks)
    if (isEligible(s, lock)) out[{lock.loc.file, lock.loc.offset}].push_back(&lock);
  return out;
}

std::vector<Finding> check(const Solution& s, const RuleOptions& options) {
  std::vector<Finding> out;
  for (SharedProposal& p : sharedProposals(s, options)) out.push_back(std::move(p.finding));
  return out;
}

}  // namespace

std::vector<SharedProposal> sharedProposals(const Solution& s, const RuleOptions& options) {
  Uses uses;
  AtomicScalars scalars(s, options.text);
  std::vector<SharedProposal> out;
  for (const auto& [place, classes] : declaredLocks(s)) {
    Candidate c;
    if (!assess(s, classes, options, scalars, uses, c).empty()) continue;
    Finding f = Describer(s, c, scalars).run();
    out.push_back({std::move(f), c.lock.counters, c.blocked});
  }
  return out;
}

std::string whyNotShared(const Solution& s, const LockClass& lock, const RuleOptions& options) {
  if (lock.hasShared || lock.everShared) return {};
  if (!isEligible(s, lock)) return "no reader-writer lock is known that could take its place";
  Uses uses;
  AtomicScalars scalars(s, options.text);
  Candidate c;
  return assess(s, declaredLocks(s)[{lock.loc.file, lock.loc.offset}], options, scalars, uses, c);
}

extern const Rule rule_mutex_could_be_shared;
const Rule rule_mutex_could_be_shared{
    "mutex-could-be-shared", "LT102", "an exclusive-only lock is held by sections that only read, long enough to be worth sharing",
    "0.1.0", Level::Warning, true, check};

}  // namespace locktidy
