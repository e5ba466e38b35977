// From facts to findings: the one call between the driver and the analysis, and
// the list of rules. Everything the driver knows about locks comes through here.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "checker/model/Facts.h"
#include "checker/model/Models.h"
#include "checker/report/Report.h"
#include "rules/Settings.h"

namespace locktidy {

struct AnalysisOptions {
  std::string root;                 // what the facts' paths are relative to, absolute
  std::vector<std::string> select;  // ids of the rules to run, known and unique
  bool openWorld = false;
  bool trustConst = false;
  Settings settings;                // of the project; empty: defaults
};

struct AnalysisOutput {
  // Findings and, in `coverage`, locks and unresolvedCalls. The driver fills in
  // the rest of the coverage, the exit code and its reasons.
  Result result;
  std::string statistics;     // for --statistics
  std::string unknownReport;  // for --explain-unknown
  // `why LOCK | FILE:LINE`; empty if nothing in the program has that name.
  std::function<std::string(const std::string& what)> why;
  // `locks`, for those declared below `paths` (relative to the root; none: all).
  std::function<std::string(const std::vector<std::string>& paths, bool json)> locks;
};

// `units` in database order, Failed ones included.
AnalysisOutput analyse(std::vector<TuFacts> units, const Models& models,
                       const AnalysisOptions& options);

struct RuleInfo {
  std::string id, code;  // "exclusive-lock-on-read", "LT101"
  std::string summary;   // one line
  Level level = Level::Warning;
  bool onByDefault = true;
  std::string_view manual;  // the rule's page, Markdown
};
// Every rule that is built, in the order they run.
const std::vector<RuleInfo>& ruleInfos();

}  // namespace locktidy
