#include "checker/driver/Selection.h"

#include <algorithm>

#include "checker/driver/System.h"

namespace locktidy {
namespace {

constexpr Safety kTiers[] = {Safety::Safe, Safety::Likely, Safety::Candidate};

// The rules and tiers that a list of words means. False with the first word
// that means nothing.
bool expand(const std::vector<std::string>& words, const std::vector<RuleInfo>& rules,
            std::set<std::string>& ids, std::set<Safety>& tiers, std::string& unknown) {
  for (const std::string& word : words) {
    auto tier = std::find_if(std::begin(kTiers), std::end(kTiers),
                             [&](Safety s) { return toString(s) == word; });
    if (tier != std::end(kTiers)) {
      tiers.insert(*tier);
      continue;
    }
    bool found = false;
    for (const RuleInfo& rule : rules) {
      bool defaults = word == "default" && rule.onByDefault;
      if (word != "all" && !defaults && !globMatch(word, rule.id) && !globMatch(word, rule.code))
        continue;
      ids.insert(rule.id);
      found = true;
    }
    if (!found) return unknown = word, false;
  }
  return true;
}

std::string unknownRule(const char* option, const std::string& word,
                        const std::vector<RuleInfo>& rules) {
  std::vector<std::string> names = {"safe", "likely", "candidate", "all", "default"};
  for (const RuleInfo& rule : rules) names.insert(names.end(), {rule.id, rule.code});
  std::string near = didYouMean(word, names);
  return std::string(option) + ": unknown rule \"" + word + "\"" +
         (near.empty() ? "; locktidy rules lists them" : near);
}

}  // namespace

bool selectRules(const Options& options, const std::vector<RuleInfo>& rules, Selection& out,
                 std::string& error) {
  struct List {
    const char* option;
    const std::vector<std::string>& words;
    std::set<std::string> ids;
    std::set<Safety> tiers;
  };
  List select{"--select", options.select, {}, {}},
      extend{"--extend-select", options.extendSelect, {}, {}},
      ignore{"--ignore", options.ignore, {}, {}};
  for (List* list : {&select, &extend, &ignore}) {
    std::string unknown;
    if (expand(list->words, rules, list->ids, list->tiers, unknown)) continue;
    error = unknownRule(list->option, unknown, rules);
    return false;
  }
  if (select.tiers.empty()) select.tiers.insert(std::begin(kTiers), std::end(kTiers));
  for (const RuleInfo& rule : rules) {
    bool on = select.ids.empty() ? rule.onByDefault : select.ids.count(rule.id) != 0;
    if ((on || extend.ids.count(rule.id)) && !ignore.ids.count(rule.id))
      out.rules.push_back(rule.id);
  }
  for (Safety tier : kTiers)
    if ((select.tiers.count(tier) || extend.tiers.count(tier)) && !ignore.tiers.count(tier))
      out.tiers.insert(tier);
  if (!out.rules.empty() && !out.tiers.empty()) return true;
  error = "--ignore leaves nothing to look for";
  return false;
}

const RuleInfo* findRule(const std::string& name, const std::vector<RuleInfo>& rules) {
  for (const RuleInfo& rule : rules)
    if (rule.id == name || rule.code == name) return &rule;
  return nullptr;
}

void keepFindings(Result& result, const Selection& selection, const std::vector<std::string>& paths,
                  std::vector<Finding>* hidden) {
  auto below = [&](const Place& place) {
    for (const std::string& path : paths)
      if (path == "." || isBelow(place.file, path)) return true;
    return false;
  };
  auto keep = [&](const Finding& finding) {
    if (!selection.tiers.count(finding.safety)) return false;
    if (paths.empty() || below(finding.at) || below(finding.lock.at)) return true;
    return std::any_of(finding.sections.begin(), finding.sections.end(),
                       [&](const SectionNote& section) { return below(section.at); });
  };
  auto last = std::stable_partition(result.findings.begin(), result.findings.end(), keep);
  if (hidden)
    hidden->insert(hidden->end(), std::make_move_iterator(last),
                   std::make_move_iterator(result.findings.end()));
  result.findings.erase(last, result.findings.end());
}

bool isIncomplete(const Coverage& coverage, const Options& options) {
  uint64_t allowed = options.maxFailedTus;
  if (options.maxFailedIsPercent) allowed = allowed * coverage.tus / 100;
  return coverage.failed + coverage.degraded > allowed;
}

void decideExit(Result& result, const Options& options, const Outcome& outcome) {
  Level threshold = options.failOn == FailOn::Note      ? Level::Note
                    : options.failOn == FailOn::Warning ? Level::Warning
                                                        : Level::Error;
  bool findings = options.failOn != FailOn::Never && outcome.countFindings &&
                  std::any_of(result.findings.begin(), result.findings.end(),
                              [&](const Finding& finding) { return finding.level >= threshold; });
  result.exitReasons.clear();
  result.exitCode = 0;
  auto add = [&](bool applies, int code, const char* reason) {
    if (!applies) return;
    result.exitReasons.push_back(reason);
    if (!result.exitCode) result.exitCode = code;
  };
  add(options.incomplete == IncompletePolicy::Error && isIncomplete(result.coverage, options), 3,
      "incomplete");
  add(outcome.fixesRefused, 4, "fixes-not-applied");
  add(findings && !options.exitZero, 1, "findings");
  add(outcome.differences && !options.exitZero, 1, "differences");
}

}  // namespace locktidy
