// The solved program, as the rules see it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "checker/solve/Engine.h"

namespace locktidy {

// One access to memory that other threads can reach. An access through a
// parameter, or to a plain value's own members, has one row per caller, since
// only callers know which object it is and which locks protect that; anything
// else has one row where it is written.
struct Row {
  Eff kind = Eff::Read;
  PathId path = kNoPath;
  Str type = 0;
  std::vector<HeldLock> held;  // surely held: in the function, or by all callers
  FuncId func = 0;             // where the access is written
  FuncId site = 0;             // the function in whose terms `path` and `held` are
  Loc loc;
  Str via = 0;
  bool init = false;           // construction or destruction
  bool rmw = false, bump = false;
  bool shallow = false;        // a read of a container's own bookkeeping
  // In a function nobody calls, on its own object or a parameter; `owner` is
  // the class it is a member of.
  bool orphan = false;
  const ClassFact* owner = nullptr;
  bool writes() const { return kind == Eff::Write || kind == Eff::AtomicWrite || kind == Eff::Touch; }
  bool atomic() const { return kind == Eff::AtomicRead || kind == Eff::AtomicWrite; }
};

// What callers tell about a function.
struct Context {
  bool hasCallers = false;           // somewhere in the program, recursion aside
  bool runsLater = false;            // some caller only hands it on (thread, callback)
  bool thisShared = true;
  std::vector<bool> paramShared;
  std::vector<std::vector<PathId>> paramTargets;
  std::map<PathId, std::vector<PathId>> members;  // as CallContext::members, over all calls
  // Surely held on entry; other owners' locks have Unknown roots. The second is
  // the same without the calls on objects nobody else can see yet or any more.
  std::vector<HeldLock> entryHeld, entryHeldShared;
  bool constructionOnly = false;
  bool endless = false;              // called, on the same thread, in a loop as CallContext::endless
  uint64_t roots = 0;                // thread roots that reach it (bit set)
  bool manyThreads = false;          // reached from a root that runs more than once
  // When it runs: before the program starts a thread; later for all that is
  // known (from main after that, or nobody calls it); on a thread.
  enum Phase : uint8_t { StartUp, Perhaps, Running } phase = StartUp;
};

enum class Reading : uint8_t { ReadOnly, Writing, Undecided };

// An access that decided a verdict.
struct Decider {
  std::string path, kind, via, why;
  FuncId func = 0;
  Loc loc;
  uint32_t chain = 0;
};

// A scalar that is counted up or down.
struct Counter {
  PathId place = kNoPath;
  Str type = 0;
  FuncId func = 0;                 // where it is stepped
  Loc loc;
  uint32_t chain = 0;
};

struct Verdict {
  Reading reading = Reading::Undecided;
  std::string category;            // stable key for statistics: "write", "unknown call", ...
  std::string reason;              // for people
  std::string unblock;             // what would help, if known
  std::vector<Decider> deciders;   // what blocks, or the guarded reads
  std::vector<std::string> assumptions;
  // What it reads of the lock's owner, and what it changes; `compound`: in
  // several steps, or deciding by the result of one.
  std::vector<std::pair<PathId, Str>> readPlaces, changedPlaces;
  bool compound = false;
  // All that keeps it from being read-only is one step of this counter, whose
  // value it does not use (`counter.place` is set): LT202.
  Counter counter;
  bool immutable = false;          // all that keeps it undecided: what it reads is never written
  size_t reads = 0, calls = 0;
  int cost = 0;                    // T0..T3
  bool proved() const { return reading == Reading::ReadOnly; }
};

struct Section {
  FuncId func = 0;
  uint32_t acquisition = 0;        // into results[func].acquisitions
  Str lock = 0;                    // lock class
  Mode mode = Mode::Exclusive;
  Loc loc;                         // of the guard variable's name or of the call
  Verdict verdict;                 // judged as if it were to become shared
  std::string ineligible;          // why no rule may propose to share it, if so
  // Another acquisition of the same function is held around it exclusively, and
  // that is all that speaks against it.
  uint32_t outer = kNone;
};

struct LockClass {
  Str id = 0;
  std::string name;                // "Registry::mu_"
  Str type = 0;
  Loc loc;
  bool hasShared = false;
  bool everShared = false;         // some section takes it shared
  // A writer that is in an endless loop, or one that sleeps between its rounds:
  // readers must not be able to keep it out for good. Index into sections + 1.
  uint32_t endlessWriter = 0;
  std::string barred;              // no proposal for any section, and why
  std::vector<uint32_t> sections;  // into Solution::sections
};

// Does control come back to the block within the function?
bool inLoop(const FunctionFacts& f, uint32_t block);

class Solution {
 public:
  Solution(const Program& program, const Models& models, const SolveOptions& options);

  const Program& program;
  const Models& models;
  mutable Engine engine;
  std::vector<FunctionResult> results;
  std::vector<Context> contexts;
  std::vector<Row> rows;
  std::vector<Section> sections;           // by place
  std::map<Str, LockClass> locks;          // by class id
  // Callees that hid something, by how many sections they hide.
  std::map<std::string, size_t> unknownCallees;

  const Acquisition& acquisition(const Section& s) const { return results[s.func].acquisitions[s.acquisition]; }
  const FunctionFacts& function(FuncId f) const { return program.functions[f]; }
  // The containment chain of a place after its last Deref.
  using Segment = std::vector<std::pair<StepKind, Str>>;
  // An object of its own (a local or fresh one that escaped) starts with
  // {Root, 0}: it is part of nothing else.
  const Segment& segment(PathId path) const;
  // The object itself, not a part of one.
  static bool wholeObject(const Segment& s) { return s.empty() || (s.size() == 1 && s[0] == kOwnObject); }
  static constexpr std::pair<StepKind, Str> kOwnObject{StepKind::Root, 0};
  // Rows that may touch the same memory as `path` (of type `type`) of `func`.
  // (The reference stays good.)
  const std::vector<uint32_t>& overlapping(PathId path, Str type, bool shallow = false) const;
  // The same without rows that differ only in where they are: one of each kind
  // of access with each set of locks.
  const std::vector<uint32_t>& distinctOverlapping(PathId path, Str type, bool shallow = false) const;
  bool mayOverlap(PathId a, Str typeA, PathId b, Str typeB, bool shallowA = false, bool shallowB = false) const;
  // Is lock class `lock` among `held`, at least in `mode`?
  bool holds(const std::vector<HeldLock>& held, Str lock, Mode mode) const;
  // A section's accesses in terms other functions understand: out-parameters
  // become what callers pass. Empty if no other thread can see the place.
  std::vector<PathId> publicPlaces(FuncId func, PathId path, bool* callersMemory) const;
  // Is the memory at `path` surely reached only through the object that holds
  // `lock` (a place of the same function)? Then every holder of the lock class
  // that reaches it holds the same lock.
  bool ownedByLockOwner(PathId path, PathId lock) const;
  std::vector<HeldLock> heldAt(const LocalEffect& e, FuncId func) const;
  // Is a `Free` part of dropping a counted reference (the count has said that
  // nobody else is left)?
  bool countedDrop(const LocalEffect& e) const;
  // A member or friend of the class that is used and has no body; "" if none.
  std::string missingMember(const ClassFact& c) const;

 private:
  friend class Judge;                       // Verdict.cpp
  void solveBottomUp();
  void solveContexts();
  void solveEntryHeld();
  void solveThreads();
  void solvePhases();
  void collectRows();
  void collectSections();
  void addRow(FuncId site, const LocalEffect& e, PathId place, bool callersMemory);
  bool stepsRefCount(FuncId func, const ClassFact* owner) const;
  bool dropsReference(FuncId func, PathId path) const;
  void findPrivatePointers();
  bool sameElement(Str index, PathId path) const;
  void lockOrder();
  void judge(Section& s);
  void judgeSnapshot(Section& s);
  struct Site {                             // one call, seen from the callee
    FuncId caller;
    const CallContext* c;
  };
  std::vector<std::vector<Site>> callers_;
  std::vector<FuncId> order_;               // callees before callers
  std::vector<uint32_t> component_;         // strongly connected component of each function
  bool rootShared(FuncId caller, PathId p) const;
  Effect unknownEffect(FuncId f) const;
  bool building(const Site& site) const;
  std::unordered_map<Str, std::vector<uint32_t>> rowsByField_;
  std::set<std::tuple<Eff, PathId, std::vector<HeldLock>, FuncId, uint32_t, uint32_t, FuncId, bool, bool>> rowsSeen_;
  std::unordered_set<Str> used_;            // functions that are called, or whose address is taken
  // (member or global with a pointer, lock): what it points to is changed or
  // freed while the lock is held exclusively.
  std::set<std::pair<Str, Str>> changedThrough_;
  Str pointerHolder(PathId pointee) const;
  std::set<Str> privatePointers_;           // members that alone lead to what they point to
  std::set<Str> nestedInItself_;            // locks of which two are held at once
  std::map<Str, std::string> cyclic_;       // locks in a cycle of the order graph, with a place
  mutable std::map<std::tuple<PathId, Str, bool>, std::vector<uint32_t>> overlapCache_;
  mutable std::map<std::tuple<PathId, Str, bool>, std::vector<uint32_t>> distinctCache_;
  mutable std::unordered_map<PathId, Segment> segmentCache_;
};

}  // namespace locktidy
