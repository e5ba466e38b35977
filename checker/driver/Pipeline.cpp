#include "checker/driver/Pipeline.h"

#include <algorithm>
#include <memory>

#include "checker/driver/Inventory.h"
#include "checker/driver/System.h"
#include "rules/Rule.h"
#include "rules/SourceText.h"

namespace locktidy {
namespace {

// Everything `why` needs after the findings are out.
struct World {
  Models models;
  Program program;
  std::unique_ptr<Solution> solution;
  std::unique_ptr<SourceText> text;
  RuleOptions options;
};

// locks.never-suggest. A write under a shared lock is a fault, no suggestion.
bool unwanted(const Finding& f, const Settings& settings) {
  if (!settings || f.rule == "write-under-shared-lock") return false;
  for (const std::string& pattern : settings(f.lock.at.file).neverSuggest)
    if (globMatch(pattern, f.lock.name) || globMatch(pattern, f.lock.type)) return true;
  return false;
}

}  // namespace

AnalysisOutput analyse(std::vector<TuFacts> units, const Models& models, const AnalysisOptions& options) {
  AnalysisOutput output;
  output.result.root = options.root;
  auto world = std::make_shared<World>();
  world->models = models;
  world->program = link(std::move(units), world->models);
  SolveOptions how;
  how.openWorld = options.openWorld;
  how.trustConst = options.trustConst;
  world->solution = std::make_unique<Solution>(world->program, world->models, how);
  const Solution& s = *world->solution;

  world->text = std::make_unique<SourceText>(world->program, options.root);
  RuleOptions& ruleOptions = world->options;
  ruleOptions.openWorld = options.openWorld;
  ruleOptions.text = world->text.get();
  ruleOptions.settings = options.settings;
  for (const RuleEntry& entry : allRules()) {
    if (std::find(options.select.begin(), options.select.end(), entry.rule->id) == options.select.end()) continue;
    for (Finding& f : entry.rule->check(s, ruleOptions))
      if (!unwanted(f, options.settings)) output.result.findings.push_back(std::move(f));
  }
  std::sort(output.result.findings.begin(), output.result.findings.end(), [](const Finding& a, const Finding& b) {
    return std::tie(a.at.file, a.at.line, a.at.column, a.rule, a.fingerprint) <
           std::tie(b.at.file, b.at.line, b.at.column, b.rule, b.fingerprint);
  });
  output.result.coverage.locks = static_cast<uint32_t>(s.locks.size());
  output.result.coverage.unresolvedCalls = static_cast<uint32_t>(s.unknownCallees.size());
  output.statistics = statisticsOf(s);
  output.unknownReport = unknownOf(s);
  output.why = [world](const std::string& what) { return whyOf(*world->solution, what, world->options); };
  output.locks = [world](const std::vector<std::string>& paths, bool json) {
    return json ? locksJson(*world->solution, paths) : locksText(*world->solution, paths);
  };
  return output;
}

const std::vector<RuleInfo>& ruleInfos() {
  static const std::vector<RuleInfo> kRules = [] {
    std::vector<RuleInfo> out;
    for (const RuleEntry& e : allRules())
      out.push_back({std::string(e.rule->id), std::string(e.rule->code), std::string(e.rule->summary), e.rule->level,
                     e.rule->selected, e.manual});
    std::sort(out.begin(), out.end(), [](const RuleInfo& a, const RuleInfo& b) { return a.code < b.code; });
    return out;
  }();
  return kRules;
}

}  // namespace locktidy
