// Every place where the program's text names a lock: what has to be understood
// before its type may change.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "checker/solve/Solution.h"

namespace locktidy {

enum class UseKind : uint8_t {
  Guard,     // constructs a guard that a model knows
  Method,    // lock(), unlock(), try_lock() on the lock itself
  Function,  // pthread_mutex_lock(&mu) and its kin, init and destroy included
  Lifetime,  // construction and destruction of the lock
  Passed,    // an argument of a function of the program, or of a guard class of its own
  Bound,     // a local pointer or reference now refers to it
  Other,     // anything else: returned, stored, copied, native_handle()
};

struct LockUse {
  UseKind kind = UseKind::Other;
  FuncId func = 0;
  uint32_t call = kNone;  // Guard ... Passed: the call
  uint32_t arg = 0;       // Guard, Function, Passed: which argument
  uint32_t local = kNone; // Bound: the variable
  Loc loc;
};

// Does the attribute (guarded_by, requires_capability, ...) name the lock?
bool namesLock(const AttrFact& a, Str lock);

// Uses of each of `locks` (classes, as Solution::locks names them), in the
// order of functions.
std::map<Str, std::vector<LockUse>> usesOfLocks(const Solution& s, const std::set<Str>& locks);

}  // namespace locktidy
