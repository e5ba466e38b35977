// Solves one function: aliases, lock sets, effects, sections. Callees must be
// summarised first (or be in the same cycle, then with what is known so far).
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "checker/solve/Summary.h"

namespace locktidy {

struct SolveOptions {
  bool openWorld = false;
  bool trustConst = false;
};

// One acquisition of one lock at one place of one function.
struct Acquisition {
  FuncId func = 0;
  uint32_t call = kNone;        // index into FunctionFacts::calls
  PathId lock = kNoPath;        // canonical, in the function's terms
  std::set<PathId> locks;       // all the places it may be, if not one
  Mode mode = Mode::Exclusive;
  PathId guard = kNoPath;       // the guard object, if one holds it
  uint32_t guardLocal = kNone;  // its variable
  bool isTry = false, timed = false, many = false, adopted = false;
  bool sure = true;             // byDelta: the callee does so on every path
  bool byDelta = false;         // a callee acquired it: user guard or wrapper
  bool viaView = false;         // a part of the lock, reached by an accessor
  bool guardEscapes = false;    // moved, returned, stored, captured, passed on
  std::set<std::pair<uint32_t, uint32_t>> tokens;  // (call, argument) that only shows that the lock is held
  bool heldAtExit = false;      // not released in this function on every path
  bool waits = false;           // handed to a condition variable
  bool ambiguous = false;       // which lock it is could not be told
  std::set<uint32_t> releases;  // calls that release it
  bool foreignRelease = false;  // a release that is not surely this one's
  // Effects while it may be held (indexes into FunctionResult::effects).
  std::vector<uint32_t> region;
  std::vector<uint32_t> regionMust;
  bool tooLarge = false;             // more effects than are kept: undecided
  std::vector<AcquireNote> nested;   // locks acquired while it may be held
  std::vector<HeldLock> outerMust;   // held already when it is acquired
  std::set<uint32_t> blocks;         // where it may be held
  bool endless = false;              // in a loop as CallContext::endless
};

struct LocalEffect : Effect {
  std::vector<HeldLock> held;  // surely held in this function at that point
  bool direct = false;         // written here (not a summarised callee's)
  uint32_t block = 0, event = 0;
};

struct CallContext {           // what a callee learns from one call site
  uint32_t call = kNone;
  FuncId callee = 0;
  std::vector<HeldLock> held;  // in the caller's terms, surely held
  bool later = false;          // runs on another thread, or at an unknown time
  bool inLoop = false;
  // In a loop that no constant bounds, or one that sleeps or waits in its rounds.
  bool endless = false;
  bool selfShared = true;
  PathId self = kNoPath;
  std::vector<bool> paramShared;
  std::vector<std::vector<PathId>> paramTargets;  // what pointers/references refer to
  // What pointers and references inside arguments passed by value lead to, as
  // far as others can see it: by the callee's path (`param 0.out*`).
  std::map<PathId, std::vector<PathId>> members;
};

struct FunctionResult {
  Summary summary;
  std::vector<LocalEffect> effects;
  std::vector<Acquisition> acquisitions;
  std::vector<CallContext> contexts;
  // Lock-order edges seen here: held -> acquired, with the place.
  struct Order { PathId held, acquired; Mode heldMode; Loc loc; };
  std::vector<Order> orders;
  std::vector<PathId> waitedLocks;   // handed to a condition variable
  std::vector<PathId> handedOut;     // lock whose address goes to unknown code
  // Pointers to objects stored, returned or deleted: (target, place, block, event)
  struct Handover { PathId target; Loc loc; uint32_t block, event; const char* how; };
  std::vector<Handover> handovers;
  // A pointer to `target` is stored in member `field` (0: in something else
  // that outlives the function, or returned).
  struct Store { Str field; PathId target; };
  std::vector<Store> stores;
  std::vector<Str> signalHandlers, forkHandlers;
  std::string incomplete;            // a limit was met: sections are undecided, and why
};

class Engine;  // Engine.h: the shared tables

FunctionResult solveFunction(Engine& engine, FuncId func);

}  // namespace locktidy
