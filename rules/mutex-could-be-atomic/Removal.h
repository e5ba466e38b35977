// Taking a lock out of the program: its declaration, guards and calls.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "rules/Rule.h"
#include "rules/SourceText.h"

namespace locktidy {

struct Removal {
  std::string why;  // why it cannot be edited; empty: it can
  std::vector<Edit> edits;
};
Removal removeLock(const Solution& s, const SourceText* text, const LockClass& lock);

// Why LT201 proposes nothing for the lock; "" if it does. For `locktidy why`.
std::string whyNotAtomic(const Solution& s, const LockClass& lock, const RuleOptions& options);
// The locks that LT201 reports: no other whole-lock rule speaks of them.
std::set<Str> atomicLocks(const Solution& s, const RuleOptions& options);

}  // namespace locktidy
