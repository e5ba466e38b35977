// The edits that turn one exclusive-only lock into a reader-writer lock.
#pragma once

#include <string>
#include <vector>

#include "checker/report/Report.h"
#include "rules/LockUses.h"

namespace locktidy {

// Several classes of one declaration are instances of one class template.
struct SharedLock {
  std::vector<const LockClass*> classes;
  std::vector<LockUse> uses;             // of all of them
  std::vector<const Section*> readers;   // to be shared
  std::vector<const Section*> others;    // stay exclusive
  std::string oldType, newType;          // "std::mutex", "std::shared_mutex"
  std::string header;                    // of newType
  // Those of `readers` that step a counter, which becomes atomic (LT202).
  std::vector<const Section*> counters;
};

struct SharedEdits {
  bool possible = false;
  std::string why;                       // if not
  std::vector<Edit> edits;
  std::vector<IncludeEdit> includes;
};

SharedEdits sharedEdits(const Solution& s, const SharedLock& lock);

}  // namespace locktidy
