// The verdict on one section, as if it were shared already: what it does
// (RULES.md 2), whether the rest of the program conflicts, and whether a rule
// may propose anything at all.
//
// A section that writes outranks one that is merely undecided; the first
// reason of the higher rank is the one people see.

#include <algorithm>

#include "checker/solve/Solution.h"

namespace locktidy {
namespace {

constexpr size_t kMaxDeciders = 8;   // accesses shown as reasons
constexpr size_t kMaxReads = 6;      // and as evidence

}  // namespace

// A member or friend of the lock's owner that is used and has no body: it could write
// anything in the owner, so nothing that needs "nobody else writes" is proved.
// One that nobody calls was forgotten in the header, or is for callers outside
// the program, who are no suspects (RULES.md 3).
std::string Solution::missingMember(const ClassFact& c) const {
  std::vector<Str> insiders = c.methods;
  insiders.insert(insiders.end(), c.friends.begin(), c.friends.end());
  for (Str usr : insiders) {
    auto it = program.byUsr.find(usr);
    if (it == program.byUsr.end()) continue;
    const FunctionFacts& f = program.functions[it->second.front()];
    bool fine = f.isPure || f.isDefaulted || f.isImplicit || (!f.isVirtual && !used_.count(usr));
    for (FuncId id : it->second) fine |= program.functions[id].hasBody;
    // Declared and never defined: how copying was switched off before C++11.
    if (!f.params.empty() && (f.isCtor || program.text(f.name).ends_with("operator="))) {
      const TypeFact* t = program.type(f.params[0].type);
      fine |= t && t->kind == TypeKind::Ref && t->pointee == c.type;
    }
    if (!fine) return program.text(f.display);
  }
  return {};
}

class Judge {
 public:
  Judge(Solution& solution, Section& section)
      : s_(solution), e_(solution.engine), p_(solution.program), paths_(solution.engine.paths), x_(section),
        q_(solution.acquisition(section)), r_(solution.results[section.func]), v_(section.verdict) {}

  void run() {
    if (!r_.incomplete.empty()) stop(Reading::Undecided, "too large to analyse", r_.incomplete);
    if (q_.tooLarge) stop(Reading::Undecided, "too large to analyse", "more happens in it than is followed");
    effects();
    synchronised();
    nestedLocks();
    conflicts();
    references();
    counter();
    cost();
    std::sort(v_.assumptions.begin(), v_.assumptions.end());
    v_.assumptions.erase(std::unique(v_.assumptions.begin(), v_.assumptions.end()), v_.assumptions.end());
    if (v_.reason.empty()) {
      v_.reading = Reading::ReadOnly;
      v_.category = "read-only";
      v_.reason = "only reads";
    }
    eligibility();
  }

 private:
  // ---- reasons -------------------------------------------------------------
  template <class Access>  // LocalEffect, Row, AcquireNote
  Decider decider(const Access& a, const char* kind, const std::string& why) const {
    Decider d;
    if (a.path && (paths_.at(a.path).kind != StepKind::Root || paths_.rootOf(a.path).root != Root::Unknown))
      d.path = e_.describe(a.path);
    d.kind = kind;
    if constexpr (requires { a.via; }) d.via = p_.text(a.via);
    if constexpr (requires { a.chain; }) d.chain = a.chain;
    d.why = why;
    d.func = a.func;
    d.loc = a.loc;
    return d;
  }
  void stop(Reading reading, const std::string& category, const std::string& why) {
    ++stops_;
    if (!v_.reason.empty() && (reading != Reading::Writing || v_.reading == Reading::Writing)) return;
    v_.reading = reading;
    v_.category = category;
    v_.reason = why;
  }
  template <class Access>
  void block(Reading reading, const std::string& category, const Access& a, const char* kind, const std::string& why) {
    stop(reading, category, why);
    if (v_.deciders.size() < kMaxDeciders) v_.deciders.push_back(decider(a, kind, why));
  }

  // ---- what the section does ------------------------------------------------
  void effects() {
    std::set<std::string> dropTypes, unknownNames;
    bool assumed = false;
    for (uint32_t index : q_.region) {
      const LocalEffect& e = r_.effects[index];
      assumed |= e.assumed;
      if (e.via) ++calls_;
      switch (e.kind) {
        case Eff::Log:
        case Eff::Alloc:
        case Eff::Assumption: break;
        case Eff::Blocks: v_.cost = std::max(v_.cost, 3); break;
        case Eff::External:
          block(Reading::Writing, "external effect", e, "external",
                e.via ? "calls `" + p_.text(e.via) + "`, which touches something outside memory" : "a volatile access");
          break;
        case Eff::Wait:
          block(Reading::Writing, "waits", e, "wait", "waits for another thread in `" + p_.text(e.via) + "`");
          break;
        case Eff::Hostile:
          block(Reading::Writing, "thread-hostile call", e, "write",
                "calls `" + p_.text(e.via) + "`, which uses a hidden static buffer");
          break;
        case Eff::Unknown: {
          std::string name = e.via ? p_.text(e.via) : "something that could not be analysed";
          if (name.empty()) name = "a function pointer";
          unknownNames.insert(name);
          block(Reading::Undecided, "unknown call", e, "unknown", "calls `" + name + "`, of which nothing is known");
          break;
        }
        case Eff::Sync: synchronised_ += repeats(e) ? 2 : 1; break;
        case Eff::Drop: dropTypes.insert(p_.text(e.type)); break;
        case Eff::Read:
        case Eff::AtomicRead: read(e); break;
        case Eff::Free: free(e); break;
        case Eff::Touch:
        case Eff::Write:
        case Eff::AtomicWrite: write(e); break;
      }
    }
    v_.calls = calls_;
    if (x_.mode == Mode::Exclusive)
      for (const std::string& name : unknownNames) ++s_.unknownCallees[name];
    if (assumed)
      v_.assumptions.push_back(
          "calls through function objects and pointers reach only functions of the program with that type");
    for (const std::string& t : dropTypes)
      v_.assumptions.push_back("dropping a reference does not run a destructor that writes guarded state" +
                               (t.empty() ? "" : " (`" + t + "`)"));
  }

  void read(const LocalEffect& e) {
    // Asking the lock itself who holds it: the answer changes with the mode.
    if (e.path != q_.lock && paths_.hasPrefix(e.path, q_.lock)) asksLock_ = true;
    bool callers = false;
    for (PathId p : s_.publicPlaces(x_.func, e.path, &callers)) {
      reads_.emplace_back(p, &e);
      if (e.kind == Eff::AtomicRead) atomicReads_.insert(paths_.withoutIndexes(p));
    }
  }

  // What a `delete` in a destructor chain of a counted pointer frees is nobody
  // else's any more; any other may be.
  void free(const LocalEffect& e) {
    if (s_.countedDrop(e)) return;
    bool callers = false;
    for (PathId p : s_.publicPlaces(x_.func, e.path, &callers))
      block(Reading::Writing, "frees", e, "write", "`" + e_.describe(p) + "` is freed");
  }

  void write(const LocalEffect& e) {
    bool callers = false;
    std::vector<PathId> places = s_.publicPlaces(x_.func, e.path, &callers);
    // What hangs off the object that owns the lock is never the caller's own.
    if (callers && paths_.base(e.path) == paths_.base(q_.lock)) callers = false;
    if (places.empty()) return;
    if (callers) {
      v_.assumptions.push_back("callers pass memory of their own to `" + p_.title(x_.func) + "`");
      return;
    }
    if (e.kind == Eff::Touch) return;  // comes with Unknown
    for (PathId p : places) {
      if (e.kind == Eff::AtomicWrite) {
        if (Str field = paths_.lastField(p); field && e_.isRefCount(field)) continue;
        v_.compound |= e.resultUsed;
        v_.changedPlaces.emplace_back(p, e.type);
        atomicWrites_.insert(paths_.withoutIndexes(p));
        atomics_ += repeats(e) ? 2 : 1;
        if (e.resultUsed)
          block(Reading::Writing, "atomic decision", e, "atomic",
                "uses the result of an atomic update of `" + e_.describe(p) + "`");
        continue;
      }
      if (Str inner = innerLock(p, e)) {
        v_.changedPlaces.emplace_back(p, e.type);
        innerLocks_.insert(inner);
        repeated_ |= repeats(e);
        continue;
      }
      if (s_.dropsReference(e.func, p)) continue;
      v_.changedPlaces.emplace_back(p, e.type);
      plainWrites_ += repeats(e) ? 2 : 1;
      if (e.bump) bumped_.push_back({p, &e});
      if (!written_.insert({p, e.type}).second) continue;
      block(Reading::Writing, "write", e, "write",
            "`" + e_.describe(p) + "` is written" + (e.via ? " by `" + p_.text(e.via) + "`" : std::string()));
    }
  }

  // Another lock, taken exclusively around the write, that every access to the
  // place in the program holds.
  Str innerLock(PathId p, const LocalEffect& e) const {
    for (const HeldLock& h : e.held) {
      Str m = e_.lockClass(h.path);
      if (!m || m == x_.lock || h.mode != Mode::Exclusive) continue;
      bool all = true;
      for (uint32_t id : s_.distinctOverlapping(p, e.type)) {
        const Row& row = s_.rows[id];
        if (row.init || s_.holds(row.held, m, row.writes() ? Mode::Exclusive : Mode::Shared)) continue;
        all = false;
        break;
      }
      if (all) return m;
    }
    return 0;
  }

  // Order between two or more synchronised effects (RULES.md 2.2).
  void synchronised() {
    if (!innerLocks_.empty()) {
      // An inner critical section is one step, however many writes are in it.
      size_t taken = 0;
      for (const AcquireNote& n : q_.nested) taken += innerLocks_.count(e_.lockClass(n.path));
      synchronised_ += std::max({taken, innerLocks_.size(), repeated_ ? size_t{2} : size_t{0}});
    }
    v_.compound |= atomics_ + synchronised_ + plainWrites_ >= 2;
    if (atomics_ + synchronised_ >= 2)
      stop(Reading::Writing, "order of synchronised effects",
           "makes several synchronised changes, whose order may matter");
    for (PathId p : atomicWrites_)
      if (atomicReads_.count(p))
        stop(Reading::Writing, "atomic decision", "reads and then changes the atomic `" + e_.describe(p) + "`");
    if (atomics_ == 1) v_.assumptions.push_back("nothing depends on the order of the one atomic update in it");
  }

  void nestedLocks() {
    for (const AcquireNote& n : q_.nested) {
      Str m = e_.lockClass(n.path);
      if ((!m || m != x_.lock) && n.path != q_.lock) continue;
      block(Reading::Writing, "takes the lock again", n, "acquire", "takes the same lock again");
      return;
    }
  }

  // ---- the rest of the program ----------------------------------------------
  void conflicts() {
    std::set<std::pair<PathId, bool>> seen;
    bool guarded = false;
    for (const auto& [place, e] : reads_) {
      if (onlyBumped(place)) continue;  // an atomic counter conflicts with nobody
      if (!seen.insert({place, e->shallow}).second) continue;
      ++v_.reads;
      guarded |= conflict(place, *e);
    }
    if (!guarded) {
      v_.immutable = immutable_ && v_.reason.empty();
      stop(Reading::Undecided, "nothing guarded is read",
           v_.immutable ? "what it reads never changes after construction" : "reads nothing that the lock guards");
    }
    if (!v_.reason.empty() && bumped_.size() != 1) return;
    if (const ClassFact* owner = p_.fieldOwner(x_.lock); owner && !owner->inSystemHeader)
      if (const std::string missing = s_.missingMember(*owner); !missing.empty())
        stop(Reading::Undecided, "a member has no body", "`" + missing + "` has no body in the program");
  }

  // LT202: all that keeps the section from being shared is the step of one
  // counter, whose value it does not look at.
  bool onlyBumped(PathId place) const {
    return bumped_.size() == 1 && plainWrites_ == 1 && paths_.withoutIndexes(place) == paths_.withoutIndexes(bumped_[0].first);
  }
  void counter() {
    if (bumped_.size() != 1 || plainWrites_ != 1 || stops_ != 1 || atomics_ + synchronised_) return;
    const auto& [place, step] = bumped_[0];
    for (const auto& [read, e] : reads_)
      if (onlyBumped(read) && (e->func != step->func || e->loc.file != step->loc.file || e->loc.offset != step->loc.offset)) return;
    v_.counter = {place, step->type, step->func, step->loc, step->chain};
    v_.unblock = "an atomic counter would make this section read-only";
  }

  // Compares one read with everything else that touches the place. True: the
  // lock guards it.
  bool conflict(PathId place, const LocalEffect& e) {
    std::vector<HeldLock> held = s_.heldAt(e, x_.func);
    const bool owned = s_.ownedByLockOwner(e.path, q_.lock);
    if (owned) v_.readPlaces.emplace_back(place, e.type);
    const Row* unlockedRead = nullptr;
    bool writtenUnderLock = false;
    for (uint32_t id : s_.distinctOverlapping(place, e.type, e.shallow)) {
      const Row& row = s_.rows[id];
      if (row.init) continue;
      // Nobody in the program calls it, it is no member of the lock's owner and
      // does not reach into one: what a library offers for single objects is no
      // suspect.
      if (row.orphan && row.owner != p_.fieldOwner(x_.lock) && !reachesInto(row.path)) continue;
      if (e.kind == Eff::AtomicRead && row.atomic()) continue;
      if (!row.writes()) {
        if (!s_.holds(row.held, x_.lock, Mode::Shared)) unlockedRead = &row;
        continue;
      }
      if (s_.holds(row.held, x_.lock, Mode::Exclusive)) {
        writtenUnderLock = true;
        if (owned) continue;
        block(Reading::Undecided, "reached through a pointer others may hold", row, "write",
              "`" + e_.describe(place) + "` is reached through a pointer that others may hold, and written");
        break;
      }
      bool common = std::any_of(held.begin(), held.end(), [&](const HeldLock& h) {
        Str m = e_.lockClass(h.path);
        return m && m != x_.lock && s_.holds(row.held, m, Mode::Exclusive);
      });
      if (common) continue;
      bool shared = s_.holds(row.held, x_.lock, Mode::Shared);
      block(Reading::Undecided, shared ? "written under the shared lock" : "accessed without the lock", row, "write",
            "`" + e_.describe(place) + "`, which it reads, is " +
                (shared ? "written elsewhere under the shared lock" : "also written without the lock"));
      break;
    }
    if (!writtenUnderLock) {
      immutable_ |= owned && !unlockedRead && e.kind == Eff::Read;
      return false;
    }
    if (unlockedRead && otherwiseGuarded(place, e, held)) return false;
    if (unlockedRead) {
      // Reads without the lock of guarded state: the discipline is mixed.
      block(Reading::Undecided, "accessed without the lock", *unlockedRead, "read",
            "`" + e_.describe(place) + "` is also read without the lock");
      return false;
    }
    if (v_.reason.empty() && v_.deciders.size() < kMaxReads) v_.deciders.push_back(decider(e, "read", ""));
    return true;
  }

  // Another lock, held here, guards the place by itself: whoever writes it holds
  // that one exclusively, whoever reads it at least shared.
  bool otherwiseGuarded(PathId place, const LocalEffect& e, const std::vector<HeldLock>& held) const {
    return std::any_of(held.begin(), held.end(), [&](const HeldLock& h) {
      Str m = e_.lockClass(h.path);
      if (!m || m == x_.lock) return false;
      for (uint32_t id : s_.distinctOverlapping(place, e.type, e.shallow)) {
        const Row& row = s_.rows[id];
        if (!row.init && !s_.holds(row.held, m, row.writes() ? Mode::Exclusive : Mode::Shared)) return false;
      }
      return true;
    });
  }

  // Does the path name a member of the class that has the lock?
  bool reachesInto(PathId path) const {
    const ClassFact* owner = p_.fieldOwner(x_.lock);
    for (PathId p = path; owner && paths_.at(p).kind != StepKind::Root; p = paths_.at(p).parent)
      if (paths_.at(p).kind == StepKind::Field && p_.fieldOwner(paths_.at(p).entity) == owner) return true;
    return false;
  }

  // References to guarded state that leave, and objects handed over.
  void references() {
    for (const FunctionResult::Handover& h : r_.handovers) {
      if (!q_.blocks.count(h.block)) continue;
      bool returned = std::string_view(h.how) == "returned";
      bool ownsLock = paths_.hasPrefix(q_.lock, h.target);
      if (std::string_view(h.how) == "deleted") {
        if (ownsLock) stop(Reading::Writing, "hands the object over", "the object that owns the lock is deleted in it");
        continue;
      }
      if (ownsLock && !returned && paths_.at(h.target).kind != StepKind::Root) {
        stop(Reading::Writing, "hands the object over", "the object that owns the lock is handed over in it");
        continue;
      }
      if (s_.segment(h.target).empty()) {
        // A pointer: what it leads to is the lock's if it is changed under it.
        if (paths_.at(h.target).kind == StepKind::Deref && s_.changedThrough_.count({s_.pointerHolder(h.target), x_.lock}))
          leaves(h);
        continue;
      }
      for (uint32_t id : s_.distinctOverlapping(h.target, 0)) {
        const Row& row = s_.rows[id];
        if (row.init || !row.writes() || row.atomic() || !s_.holds(row.held, x_.lock, Mode::Exclusive)) continue;
        leaves(h);
        break;
      }
    }
  }
  void leaves(const FunctionResult::Handover& h) {
    LocalEffect leave;
    leave.path = h.target;
    leave.func = x_.func;
    leave.loc = h.loc;
    block(Reading::Undecided, "a reference to guarded state leaves", leave, "escape",
          "a reference to `" + e_.describe(h.target) + "` leaves the section");
  }

  // Is the block gone through again within the section? A loop around the whole
  // section passes the block that acquires.
  bool inner(uint32_t block) {
    const FunctionFacts& fn = p_.functions[x_.func];
    if (home_ == kNone)
      for (uint32_t b = 0; b < fn.blocks.size(); ++b)
        for (const Event& event : fn.blocks[b].events)
          if (event.kind == EventKind::Call && event.call == q_.call) home_ = b;
    auto [it, fresh] = inner_.emplace(block, false);
    if (!fresh || block == home_ || block >= fn.blocks.size()) return it->second;
    std::vector<uint32_t> todo = fn.blocks[block].succs;
    std::set<uint32_t> seen(todo.begin(), todo.end());
    while (!todo.empty()) {
      uint32_t b = todo.back();
      todo.pop_back();
      if (b == block) return inner_[block] = true;
      if (b == home_ || !q_.blocks.count(b)) continue;
      for (uint32_t next : fn.blocks[b].succs)
        if (seen.insert(next).second) todo.push_back(next);
    }
    return false;
  }
  bool repeats(const LocalEffect& e) { return e.inOneRound || inner(e.block); }

  // The classes T0-T3 of WHEN_IT_PAYS.md, from what is known here: T2 goes over
  // a container or recurses, T3 does so in rounds, T1 calls something, T0 does
  // not even that.
  void cost() {
    for (uint32_t index : q_.region) {
      const LocalEffect& e = r_.effects[index];
      if (e.kind != Eff::Read && e.kind != Eff::AtomicRead && e.kind != Eff::Write) continue;
      int rounds = e.scans + inner(e.block);
      v_.cost = std::max(v_.cost, rounds ? 1 + rounds : calls_ ? 1 : 0);
    }
  }

  // ---- may a rule propose anything? -------------------------------------------
  void no(const std::string& why) {
    if (x_.ineligible.empty()) x_.ineligible = why;
  }
  void eligibility() {
    const FunctionFacts& fn = p_.functions[x_.func];
    auto lock = s_.locks.find(x_.lock);
    bool known = x_.lock && lock != s_.locks.end();
    if (!known || q_.ambiguous) no("which lock it is could not be told");
    else if (!lock->second.barred.empty()) no(lock->second.barred);
    if (q_.many) no("it takes several locks at once");
    if (q_.isTry || q_.timed) no("a try or timed acquisition is a gate: its failure decides something");
    if (q_.adopted) no("the lock is taken in one place and adopted in another");
    if (q_.waits) no("it is handed to a condition variable");
    // A gate: those who take these locks in either order never meet, as long as
    // only one of them is inside.
    for (const AcquireNote& n : q_.nested)
      if (Str m = e_.lockClass(n.path); m && (s_.cyclic_.count(m) || s_.nestedInItself_.count(m)))
        no("locks that are taken in more than one order are taken inside it");
    if (q_.guardEscapes) no("the guard is moved, stored, captured or passed on");
    // (Where the lock's type changes, the functions' types change along.)
    if (!q_.tokens.empty() && known && lock->second.hasShared) no("the guard is passed on as a proof that the lock is held");
    if (q_.heldAtExit) no("the lock is still held when the function returns");
    if (q_.foreignRelease) no("not every release surely belongs to this acquisition");
    if (asksLock_) no("it asks the lock who holds it");
    if (fn.isDtor) no("a destructor takes the lock to wait for those who still hold it");
    if (fn.isCoroutine) no("the lock may be held across a suspension");
    const std::vector<HeldLock>& entry = s_.contexts[x_.func].entryHeld;
    auto under = [&](const HeldLock& h) {
      Str m = e_.lockClass(h.path);
      return m && m != x_.lock && h.mode == Mode::Exclusive;
    };
    std::string outerLock;
    for (const HeldLock& h : entry)
      if (under(h)) no("it always runs under another exclusive lock, `" + e_.describe(h.path) + "`");
    for (const HeldLock& h : q_.outerMust) {
      if (!under(h)) continue;
      outerLock = "it always runs under another exclusive lock, `" + e_.describe(h.path) + "`";
      uint32_t found = kNone, n = 0;
      for (uint32_t i = 0; i < r_.acquisitions.size(); ++i)
        if (r_.acquisitions[i].lock == h.path && r_.acquisitions[i].mode == Mode::Exclusive) found = i, ++n;
      if (n != 1 || x_.outer != kNone) no(outerLock);
      x_.outer = found;
    }
    for (const HeldLock& h : entry)
      if (e_.lockClass(h.path) == x_.lock) no("the lock is held already when the function is entered");
    if (known && oneThread(lock->second)) no("only one thread ever takes the lock");
    if (!x_.ineligible.empty()) x_.outer = kNone;
    if (x_.outer != kNone) x_.ineligible = outerLock;
  }
  bool oneThread(const LockClass& l) const {
    uint64_t roots = 0;
    for (uint32_t i : l.sections) {
      const Context& c = s_.contexts[s_.sections[i].func];
      if (c.manyThreads) return false;
      roots |= c.roots;
    }
    return roots && (roots & (roots - 1)) == 0;
  }

  Solution& s_;
  Engine& e_;
  const Program& p_;
  PathTable& paths_;
  Section& x_;
  const Acquisition& q_;
  const FunctionResult& r_;
  Verdict& v_;
  std::vector<std::pair<PathId, const LocalEffect*>> reads_;
  std::set<std::pair<PathId, Str>> written_;
  std::set<PathId> atomicReads_, atomicWrites_;
  std::set<Str> innerLocks_;
  size_t calls_ = 0, synchronised_ = 0, atomics_ = 0, plainWrites_ = 0;
  uint32_t home_ = kNone;         // the block that acquires
  std::map<uint32_t, bool> inner_;
  size_t stops_ = 0;  // reasons against
  std::vector<std::pair<PathId, const LocalEffect*>> bumped_;  // steps of counters
  bool repeated_ = false, asksLock_ = false, immutable_ = false;
};

// A section that is to be shared reads a consistent state only if no other
// section on the shared side changes that state step by step.
void Solution::judgeSnapshot(Section& s) {
  if (s.mode != Mode::Exclusive || !s.verdict.proved() || !s.lock) return;
  for (uint32_t i : locks.at(s.lock).sections) {
    const Section& other = sections[i];
    if (other.mode != Mode::Shared || !other.verdict.compound) continue;
    for (const auto& [changed, type] : other.verdict.changedPlaces)
      for (const auto& [place, placeType] : s.verdict.readPlaces) {
        if (!mayOverlap(place, placeType, changed, type)) continue;
        s.verdict.reading = Reading::Undecided;
        s.verdict.category = "a snapshot of several changes";
        s.verdict.reason = "`" + engine.describe(place) + "`, which it reads, is changed step by step by `" +
                           program.title(other.func) + "` under the shared lock";
        return;
      }
  }
}

void Solution::judge(Section& s) { Judge(*this, s).run(); }

}  // namespace locktidy
