// What solving one function works on: its definitions, actions and lock states,
// and the class whose phases are spread over Aliases, Escapes, Calls, LockFlow,
// Effects and Summarise.cpp. Included by those and FunctionSolver.cpp only,
// which describes the steps; everybody else includes FunctionSolver.h.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "checker/solve/Engine.h"

namespace locktidy {

inline constexpr size_t kMaxTargets = 8;
inline constexpr size_t kMaxBlocks = 2500;
inline constexpr int kRounds = 24;               // alias passes
inline constexpr size_t kMaxNotes = 200;         // nested acquisitions of one function told apart by place
inline constexpr size_t kMaxRegion = 1500;       // effects of one section
inline constexpr size_t kMaxHeld = 48;           // acquisitions that may be held at one point
inline constexpr size_t kMaxHandovers = 400;
inline constexpr size_t kMaxLockSteps = 20000;   // blocks visited for lock sets
inline constexpr size_t kMaxLinks = 64;
inline constexpr size_t kMaxWrapped = 12;
inline constexpr size_t kMaxNamedDrops = 12;      // destructors of one summary told apart by name
inline constexpr size_t kMaxWork = 150000;      // resolution steps of one function
inline constexpr uint32_t kArgBase = 0x1000000;     // Local indexes of argument slots
inline constexpr uint32_t kInvokeBase = 0x2000000;  // and of invoked callables' arguments
inline constexpr uint32_t kOneOffBase = 0x8000000;  // the same, of functions found while recording
inline constexpr uint32_t kFreshBase = 0x100000;    // objects callees made

struct Point {
  uint32_t block = 0, event = 0;
  friend bool operator==(const Point&, const Point&) = default;
  friend auto operator<=>(const Point&, const Point&) = default;
};

struct Def {
  PathId src = kNoPath;
  bool bind = false;
  bool always = false;  // argument slots: hold whenever they are asked
  Point at;
  friend bool operator==(const Def&, const Def&) = default;
};

using PathSet = std::vector<PathId>;  // small, sorted, unique

inline void insert(PathSet& set, PathId p) {
  auto it = std::lower_bound(set.begin(), set.end(), p);
  if (it == set.end() || *it != p) set.insert(it, p);
}

// How a callee's This and Param map to the caller's places.
struct Frame {
  uint32_t call = 0;
  PathSet self;
  std::vector<PathId> params;  // slots
};

struct LockAction {
  enum Kind { Acquire, Try, Release, GuardEnd, GuardRelease, GuardAcquire, Adopt, Detach, Wait, Transfer } kind;
  Mode mode = Mode::Exclusive;
  bool anyMode = false;  // Release: of whichever mode is held
  bool serves = false;   // Release: the operation itself is good for every mode
  PathSet locks;
  PathId guard = kNoPath, from = kNoPath;
  bool must = true, isTry = false, timed = false, many = false, byDelta = false, view = false;
  uint32_t acq = kNone;  // for acquiring kinds
};

struct State {
  bool reached = false;
  std::map<uint32_t, bool> held;       // acquisition -> must
  std::map<PathId, bool> released;     // caller's locks released -> must
  bool join(const State& o) {
    if (!o.reached) return false;
    if (!reached) {
      *this = o;
      return true;
    }
    bool changed = false;
    for (auto& [a, must] : held) {
      auto it = o.held.find(a);
      bool m = must && it != o.held.end() && it->second;
      if (m != must) must = m, changed = true;
    }
    for (const auto& [a, must] : o.held)
      if (held.emplace(a, false).second) changed = true;
    for (auto& [p, must] : released) {
      auto it = o.released.find(p);
      bool m = must && it != o.released.end() && it->second;
      if (m != must) must = m, changed = true;
    }
    for (const auto& [p, must] : o.released)
      if (released.emplace(p, false).second) changed = true;
    return changed;
  }
};

// What a call is (Calls.cpp).
enum class CallClass : uint8_t { Lock, Guard, CondVar, Bodies, Modelled, PolicyCall, Unknown };
struct CallInfo {
  bool ready = false;
  CallClass cls = CallClass::Unknown;
  CallTarget targets;
  const FunctionModel* model = nullptr;
  Policy policy = Policy::Unknown;
  LockOp op;
  int lockArg = -1;
  const GuardModel* guard = nullptr;
  bool wrapper = false;
  // One of several functions that the call may run, for all we know.
  bool several() const { return targets.assumed || targets.unknown || usrs > 1; }
  size_t usrs = 0;  // different functions among targets.bodies
};

// What a guard object locks, by its constructor (LockFlow.cpp).
struct GuardShape {
  PathSet locks;
  Mode mode = Mode::Exclusive;
  bool many = false;
};

// Where an effect happens, and what is held there (Effects.cpp).
struct Ctx {
  Point at;
  const State* state = nullptr;
  std::vector<HeldLock> held;
};

class FunctionSolver {
 public:
  FunctionSolver(Engine& engine, FuncId id)
      : e_(engine), p_(engine.program), paths_(engine.paths), f_(engine.program.functions[id]), id_(id) {}

  FunctionResult run();

 private:
  void giveUp(Str why);

  // ---- Aliases.cpp: what a place refers to -----------------------------------
  void prepare();
  bool inLoop(uint32_t b) const { return reach_[b][b]; }
  bool inEndlessLoop(uint32_t b) const;
  bool precedes(const Def& d, Point at) const { return d.always || precedes(d.at, at); }
  bool precedes(Point a, Point b) const;
  void limit(PathSet& set);
  PathId nameElements(PathId p, Point at);
  void addDef(PathId dst, PathId src, bool bind, Point at, bool always = false);
  std::vector<std::pair<PathId, std::vector<Def>>> sortedDefs() const;
  void pointees(PathId c, Point at, PathSet& out, int depth = 0);
  void followPointees(PathId c, Point at, PathSet& out, int depth);
  PathSet resolve(const Path& raw, Point at);
  PathId rootPath(const Path& raw);
  PathId argSlot(uint32_t call, uint32_t arg) { return paths_.root(Root::Local, kArgBase + call * 32 + arg % 32); }
  PathId resultOf(uint32_t call) { return paths_.root(Root::Result, call); }
  void defineValue(PathId dst, const Value& v, Point at, bool always);
  PathSet argObject(uint32_t call, uint32_t i, Point at);
  PathSet handedArg(uint32_t call, uint32_t i, Point at);
  Frame frameOf(uint32_t call, Point at);
  PathSet mapPath(PathId path, const Frame& fr, Point at);
  void linksOf(FuncId callee, const Frame& fr, Point at);
  void aliasCall(uint32_t call, Point at);
  void escapeArgs(uint32_t call, Point at);
  void aliasByPolicy(uint32_t call, Point at);
  void aliasPass();

  // ---- Escapes.cpp: what others can see --------------------------------------
  bool privateRoot(const PathNode& n) const { return n.root == Root::Local || n.root == Root::Fresh; }
  bool containsDeref(PathId p) const { return paths_.derefs(p) > 0; }
  bool visiblePlace(PathId p) const;
  void escape(PathId target, Point at);
  void escapeContents(PathId place, Point at, int depth = 0);
  void findEscapes();
  bool isShared(PathId p, Point at);
  PathId publicPath(PathId p);

  // ---- Calls.cpp: what a call is and whom it may run -------------------------
  const CallInfo& info(uint32_t call);
  PathSet evalPlace(const ModelPlace& mp, uint32_t call, Point at);
  CallTarget callableTargets(uint32_t call, const ModelPlace& mp, Point at, PathSet& self);
  CallTarget callableArg(uint32_t call, uint32_t arg, Point at, PathSet& self);
  Frame invokeFrame(uint32_t call, const PathSet& self, const std::vector<PathSet>& args, Point at, uint32_t salt);
  // For the recording pass alone: slots of its own.
  Frame oneOffFrame(uint32_t call, const PathSet& self, const std::vector<PathSet>& args, Point at);
  Frame frameWith(uint32_t slots, uint32_t call, const PathSet& self, const std::vector<PathSet>& args, Point at);
  std::vector<PathSet> invokeArgs(const ModelEffect& m, uint32_t call, Point at);
  PathSet anythingGiven(uint32_t call, Point at, uint32_t except);
  std::vector<Str> placeTypes(const ModelPlace& mp, uint32_t call);
  Str placeType(const ModelPlace& mp, uint32_t call);
  bool isRefArg(const Arg& a) const;
  bool looksCallable(const Arg& a);
  bool looksPointer(const Arg& a) const;

  // ---- LockFlow.cpp: which locks are held where ------------------------------
  uint32_t newAcquisition(uint32_t call, LockAction& a);
  PathSet locksAt(const PathSet& raw, bool* view);
  void addAction(uint32_t call, LockAction a);
  void collectActions();
  PathSet lockOperand(uint32_t call, uint32_t arg, Point at);
  bool isLockOperand(const Arg& a);
  void guardShapes(uint32_t call);
  void collectActions(uint32_t call);
  void collectAttributes(uint32_t call, Point at);
  void collectGuard(uint32_t call, const CallInfo& ci, Point at);
  void guardEscapes();
  bool isProofToken(uint32_t call, uint32_t arg) const;
  void applyActions(uint32_t call, State& s);
  void release(const LockAction& a, uint32_t call, State& s);
  void lockSets();
  void forgetLocks();
  bool neverReturns(uint32_t b);
  void refine(const Branch& br, bool taken, State& s);
  std::vector<HeldLock> mustHeld(const State& s);

  // ---- Effects.cpp: what is read, written and called -------------------------
  void push(Effect eff, const Ctx& cx, bool direct);
  bool known(const LocalEffect& l, const Ctx& cx);
  Effect make(Eff kind, PathId path, const Loc& loc, Str type = 0, Str via = 0);
  bool underConstruction(PathId p) const;
  void access(Eff kind, const PathSet& places, Str type, const Loc& loc, Str via, const Ctx& cx, bool multiple = false,
              bool resultUsed = false, bool rmw = false, bool bump = false, bool shallow = false);
  void plain(Eff kind, const Loc& loc, Str via, const Ctx& cx);
  // How sure it is that the callee runs at all, and that it is the one.
  struct Surety {
    bool assumed = false;  // matched by type only
    bool maybe = false;    // one of several
    bool certain = false;  // surely this one: counts for the lock order
    bool repeated = false; // more than once
  };
  void applyBody(FuncId callee, const Frame& fr, const Loc& loc, const Ctx& cx, Surety how);
  void applyAll(const CallTarget& t, const Frame& fr, uint32_t call, const Ctx& cx, bool repeated = false);
  void noteAcquire(const AcquireNote& n, const Ctx& cx);
  void noteAcquires(const LockAction& a, const Loc& loc, const Ctx& cx);
  void context(uint32_t call, FuncId callee, const Frame& fr, const Ctx& cx, bool later);
  template <class Do>
  void wrappedValues(Str type, const Loc& loc, const Ctx& cx, Do each);
  void destroy(PathSet places, Str type, uint32_t call, const Loc& loc, const Ctx& cx, int depth = 0);
  void destroyPointee(const PathSet& owned, Str type, uint32_t call, const Loc& loc, const Ctx& cx, int depth);
  void allocateUser(Str type, uint32_t call, const Ctx& cx);
  void compareUser(const PathSet& places, const PathSet& self, Str type, uint32_t call, const Ctx& cx, int depth = 0);
  void copyUser(const PathSet& from, Str type, uint32_t call, const Loc& loc, const Ctx& cx, int depth = 0,
                bool relocates = false);
  bool movesFrom(const ModelPlace& mp, uint32_t call) const;
  const FunctionModel* startsThread(Str type, size_t args) const;
  void constructUser(const ModelEffect& m, uint32_t call, const Ctx& cx);
  void recordModel(uint32_t call, const CallInfo& ci, const Ctx& cx);
  void copyArguments(uint32_t call, const Ctx& cx);
  void recordPolicy(uint32_t call, const CallInfo& ci, const Ctx& cx);
  void recordUnknown(uint32_t call, const Ctx& cx);
  void noteWaits(uint32_t call, Point at);
  void recordCall(uint32_t call, const Ctx& cx);
  void recordPass();

  // ---- Summarise.cpp: what leaves the function -------------------------------
  void recordStores();
  void handovers();
  bool exportable(PathId p) const;
  void exportLink(PathId dst, PathId src, bool bind);
  void flatten(PathId dst, PathId src, Point at, int depth = 0);
  void summarise();

  // The function and the shared tables.
  Engine& e_;
  const Program& p_;
  PathTable& paths_;
  const FunctionFacts& f_;
  FuncId id_;
  // What run() returns: filled from collectActions on.
  FunctionResult out_;

  // The graph: which blocks a block reaches, and where each call is (prepare).
  std::vector<std::vector<bool>> reach_;
  std::vector<Point> callPoint_;
  // Aliases: definitions by place, and what was resolved since the last one was added.
  std::unordered_map<PathId, std::vector<Def>> defs_;
  std::vector<std::pair<PathId, Point>> resolving_;
  bool changed_ = false;
  size_t work_ = 0;
  uint64_t defVersion_ = 0, cacheVersion_ = 0;
  std::unordered_map<uint64_t, PathSet> pointeeCache_;
  // Calls, by index; decided when first asked.
  std::vector<CallInfo> infos_;
  uint32_t oneOffs_ = 0;
  // Escapes: private roots, and the points where others come to see them.
  std::map<PathId, std::vector<Point>> escaped_;
  std::deque<std::pair<PathId, Point>> escapeTodo_;
  std::set<std::pair<PathId, Point>> contentsSeen_;
  // Locks: guards by place, actions by call, states at the start of blocks and at the exit.
  std::map<PathId, GuardShape> guards_;
  std::vector<std::vector<LockAction>> actions_;
  std::vector<State> in_;
  State exit_;
  std::set<PathId> waited_;
  std::map<PathId, bool> releasesAny_;  // caller's locks: by operations good for every mode
  // The summary, while it is made.
  std::set<Link> linkSet_;
  std::set<std::pair<PathId, PathId>> flattenSeen_;
  std::set<std::tuple<uint32_t, bool, PathId, Mode, bool, PathId>> nestedSeen_;
  std::set<std::tuple<PathId, PathId, Mode>> ordersSeen_;
  // Callees' effects so far: by hash, with the acquisitions held around each.
  std::unordered_map<uint64_t, std::vector<uint32_t>> seenEffects_;
  std::unordered_map<uint32_t, uint32_t> effectStates_;
  std::map<std::map<uint32_t, bool>, uint32_t> heldStates_;
};

}  // namespace locktidy
