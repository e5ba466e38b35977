// What one function does, in terms of its own This, Param, Global: the unit of
// interprocedural solving. See FunctionSolver.cpp for how it is computed and
// Solution.h for what the rules see.
#pragma once

#include <cstdint>
#include <vector>

#include "checker/link/Program.h"
#include "checker/model/Models.h"
#include "checker/solve/Paths.h"

namespace locktidy {

enum class Eff : uint8_t {
  Read,
  Write,
  AtomicRead,
  AtomicWrite,  // an atomic store or read-modify-write
  Touch,        // handed to unknown code that may write it
  External,     // file, socket, device, process, volatile
  Wait,
  Unknown,      // a call nobody knows, asm, ...
  Hostile,      // hidden static state of a library
  Sync,         // an internally synchronised operation
  Drop,         // a reference was dropped and the destructor is not known
  Free,         // memory was given back: what is in it must be nobody else's
  Blocks,
  Log,
  Alloc,
  Assumption,   // a call matched by type only, whatever it does
};
// Kinds that say something of the call, not of a place.
inline bool isPathless(Eff k) {
  switch (k) {
    case Eff::Read:
    case Eff::Write:
    case Eff::AtomicRead:
    case Eff::AtomicWrite:
    case Eff::Touch:
    case Eff::Free: return false;
    default: return true;
  }
}

struct HeldLock {
  PathId path = kNoPath;
  Mode mode = Mode::Exclusive;
  friend bool operator==(const HeldLock&, const HeldLock&) = default;
  friend auto operator<=>(const HeldLock&, const HeldLock&) = default;
};

// Call chains are shared lists in an arena; 0 ends one.
struct ChainLink {
  FuncId caller = 0;
  Loc at;
  uint32_t next = 0;
};

struct Effect {
  Eff kind = Eff::Unknown;
  PathId path = kNoPath;
  Str type = 0;           // of the accessed place
  bool multiple = false;  // may happen more than once
  bool inOneRound = false;  // ... even in one round of the loops of the function itself
  bool scans = false;     // in rounds below the call it comes from: a loop, recursion, all elements
  bool resultUsed = false;
  bool init = false;      // on an object under construction or destruction
  bool assumed = false;   // through a call matched by type only
  bool rmw = false;
  bool shallow = false;   // a read of the object's own bookkeeping only
  bool bump = false;      // ++, --, += whose result is not used (LT202)
  bool maybe = false;     // by one of several bodies that a call may run
  // Its row (Solution.h) is made where it happens, so callers make none. Unset
  // while the place is named through an argument: callers know it better.
  bool placed = false;
  // The object that a call on the way is made on: without one (a null pointer)
  // none of this happens. 0: happens whatever pointers hold.
  PathId needs = kNoPath;
  std::vector<HeldLock> inner;  // locks surely held inside the callee around it
  FuncId func = 0;        // where the access is written
  Loc loc;
  Str via = 0;            // callee name for modelled or unknown calls
  uint32_t chain = 0;     // from the summarised function to `func`

  // The same effect once more (another site, body or round): what is sure only
  // if it is of both, what may be if it is of either.
  void join(const Effect& o, const PathTable& paths) {
    multiple |= o.multiple;
    inOneRound |= o.inOneRound;
    scans |= o.scans;
    resultUsed |= o.resultUsed;
    assumed &= o.assumed;
    bump &= o.bump;
    maybe &= o.maybe;
    placed &= o.placed;
    needs = paths.bothNeed(needs, o.needs);
  }
};

// `dst` now refers to (bind) or holds a copy of (copy) `src`.
struct Link {
  PathId dst = kNoPath, src = kNoPath;
  bool bind = false;
  friend auto operator<=>(const Link&, const Link&) = default;
};

struct LockDelta {
  PathId path = kNoPath;
  Mode mode = Mode::Exclusive;
  bool must = false;
  bool isTry = false;
  bool anyMode = false;   // a release that serves every mode
  friend bool operator==(const LockDelta&, const LockDelta&) = default;
  friend auto operator<=>(const LockDelta&, const LockDelta&) = default;
};

struct AcquireNote {      // a lock acquired somewhere inside, released or not
  PathId path = kNoPath;
  Mode mode = Mode::Exclusive;
  FuncId func = 0;
  Loc loc;
  uint32_t chain = 0;
  // Through a call that may run something else, or a destructor that only may
  // run: no part of the lock order, which speaks of what surely happens.
  bool weak = false;
  PathId needs = kNoPath;  // as in Effect
};

struct Summary {
  std::vector<Effect> effects;
  std::vector<Link> links;           // dst rooted at This, Param, Global, Ret, Unknown
  std::vector<LockDelta> acquired;   // held at exit, not at entry
  std::vector<LockDelta> released;   // held at entry by the caller, not at exit
  std::vector<AcquireNote> acquires;
  // While a cycle of calls is solved: what every call on into the cycle needs
  // (as Effect::needs), for the effects that are not known yet.
  bool entersCycle = false;
  PathId cycleNeeds = kNoPath;
  bool truncated = false;            // `effects` does not hold all (then one is Unknown)
  bool solved = false;
};

}  // namespace locktidy
