// What LT102 proposes, for the rules that go with it.
#pragma once

#include <string>
#include <vector>

#include "rules/Rule.h"

namespace locktidy {

struct SharedProposal {
  Finding finding;                        // LT102's
  std::vector<const Section*> counters;   // read-only but for a counter that the fix makes atomic
  std::vector<const Section*> blocked;    // the same, where it cannot be made atomic
};
std::vector<SharedProposal> sharedProposals(const Solution& s, const RuleOptions& options);

// Why LT102 proposes nothing for an exclusive-only lock; empty if it does, or if
// the lock has a shared mode. For `locktidy why`.
std::string whyNotShared(const Solution& s, const LockClass& lock, const RuleOptions& options);

}  // namespace locktidy
