// Which rules run and which findings count: --select, --ignore and
// --extend-select, the paths on the command line, and the exit code.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "checker/driver/Options.h"
#include "checker/driver/Pipeline.h"

namespace locktidy {

struct Selection {
  std::vector<std::string> rules;  // ids, in the order of ruleInfos()
  std::set<Safety> tiers;
};

// Words are rule names, codes, globs over both, `all`, and the tiers. Without a
// rule among them --select keeps the default rules, without a tier all tiers.
// An unknown word is an error with a suggestion.
bool selectRules(const Options& options, const std::vector<RuleInfo>& rules, Selection& out,
                 std::string& error);

// The rule that `name` (name or code) means, or null.
const RuleInfo* findRule(const std::string& name, const std::vector<RuleInfo>& rules);

// Keeps the findings of the selected tiers whose place, lock or section is
// below one of `paths` (spelled as Place::file is); no paths keep all. The
// others go to `hidden`.
void keepFindings(Result& result, const Selection& selection, const std::vector<std::string>& paths,
                  std::vector<Finding>* hidden = nullptr);

// Level, tier and coverage to exit code and reasons: 3 incomplete, 4 fixes not
// applied, 1 findings or differences; the most important wins (CLI.md 2).
struct Outcome {
  bool differences = false;   // fix --diff or --check would change something
  bool fixesRefused = false;  // fix: some group did not land
  bool countFindings = true;  // false for fix --diff and --check
};
bool isIncomplete(const Coverage& coverage, const Options& options);
void decideExit(Result& result, const Options& options, const Outcome& outcome);

}  // namespace locktidy
