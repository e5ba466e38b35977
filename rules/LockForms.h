// How a section would be spelled in the other mode. A project's own idiom is
// learnt from how the program already takes that lock, or locks of its type.
#pragma once

#include <string>
#include <vector>

#include "checker/report/Report.h"
#include "checker/solve/Solution.h"

namespace locktidy {

struct Rewrite {
  bool possible = false;
  std::string why;               // if not
  std::string title;             // "std::lock_guard -> std::shared_lock"
  std::vector<Edit> edits;
  std::vector<std::string> assumes;
};

Rewrite rewriteMode(const Solution& s, const Section& section, Mode to);
// Does the lock's type have a shared mode at all?
bool lockHasSharedMode(const Solution& s, const Section& section);

}  // namespace locktidy
