// `locktidy fix`: which groups of fixes to apply, proof that every affected unit
// still parses with them, and the edits on disk.
//
// Invariants
//  * A group is applied as a whole or not at all; it has the tier of its worst
//    member, and the findings that were filtered away belong to it, too.
//  * Nothing is written before everything was verified in memory, and then in
//    one go that SIGINT and SIGTERM do not tear apart.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "checker/driver/Analysis.h"

namespace locktidy {

struct FixRun {
  EditPlan plan;                 // what is left after verification
  std::set<std::string> landed;  // groups on disk, or in the patch
  // Group and reason: conflicts, stale files, units that would not parse.
  std::vector<std::pair<std::string, std::string>> refused;
  size_t chosen = 0;        // groups that were to be applied
  size_t hiddenUnsafe = 0;  // groups that --unsafe would add
};

// Plans and verifies; touches no file.
FixRun planFixes(const Analysis& analysis, const Options& options);

// Writes the plan. On failure nothing has changed and every group is refused.
bool applyFixes(FixRun& run, const std::string& root, std::string& error);

// After the plan was written: moves the places of the findings that remain to
// where their lines are now, and their fixes to the new contents.
void movePlaces(Result& result, const EditPlan& plan);

// The fixes of likely findings, counted by group.
size_t countHiddenUnsafe(const Result& result);

}  // namespace locktidy
