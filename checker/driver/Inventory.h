// What is known of every lock, reported or not: the texts of `why`, `locks`,
// `--statistics` and `--explain-unknown`.
#pragma once

#include <string>
#include <vector>

#include "checker/solve/Solution.h"
#include "rules/Rule.h"

namespace locktidy {

// Exclusive sections by verdict, with the most frequent reasons.
std::string statisticsOf(const Solution& s);
// Calls of which nothing is known, by the sections they silence.
std::string unknownOf(const Solution& s);
// A lock by name, or the locks of FILE:LINE; empty if there is none.
std::string whyOf(const Solution& s, const std::string& what, const RuleOptions& options);

// Every lock that is acquired and declared below one of `paths` (relative to
// the program's root; none: everywhere), with its sections. Those held
// exclusively only to read, most often, come first.
std::string locksText(const Solution& s, const std::vector<std::string>& paths);
std::string locksJson(const Solution& s, const std::vector<std::string>& paths);

}  // namespace locktidy
