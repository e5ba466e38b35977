#include "checker/driver/Commands.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "checker/driver/Analysis.h"
#include "checker/driver/Fixing.h"
#include "checker/driver/System.h"
#include "checker/model/FactsIo.h"

namespace locktidy {
namespace {

std::string counted(size_t n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

// Reports for machines own stdout; texts for people go where they do not break
// them.
bool machineOnStdout(const Options& options) {
  return std::any_of(options.outputs.begin(), options.outputs.end(), [](const OutputSpec& spec) {
    return spec.path.empty() && spec.format == "json";
  });
}

void printReport(const std::string& text, const Options& options) {
  if (text.empty()) return;
  if (!machineOnStdout(options)) return printOut(text);
  std::string_view rest = text;
  while (!rest.empty() && rest.back() == '\n') rest.remove_suffix(1);
  printNote(rest);
}

// A result file that cannot be written must not be noticed only at the end.
bool outputsWritable(const Options& options, std::string& error) {
  std::vector<std::string> paths{options.saveResult};
  for (const OutputSpec& spec : options.outputs) paths.push_back(spec.path);
  for (const std::string& path : paths) {
    if (path.empty()) continue;
    std::string directory = parentPath(absolutePath(path));
    if (!isDirectory(directory))
      error = path + ": there is no directory " + directory;
    else if (isDirectory(path))
      error = path + ": is a directory; name a file";
    else if (::access(directory.c_str(), W_OK) != 0 && ::access(path.c_str(), W_OK) != 0)
      error = path + ": no permission to write there";
    else
      continue;
    return false;
  }
  return true;
}

// FILE:LINE as the program spells it; anything else is the name of a lock.
std::string whySubject(const std::string& subject, const std::string& root) {
  size_t colon = subject.find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 >= subject.size() ||
      !std::isdigit(static_cast<unsigned char>(subject[colon + 1])))
    return subject;
  std::string file = subject.substr(0, colon), place = subject.substr(colon);
  return (isFile(file) ? relativePath(absolutePath(file), root) : file) + place;
}

bool looksLikeId(const std::string& text) {
  return text.size() >= 4 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

int fatal(const std::string& text) {
  printError(text);
  return 2;
}

TextOptions textOptions(const Options& options, const std::string& root, bool toFile) {
  TextOptions text;
  text.root = root;
  const char* noColor = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  bool terminal = !toFile && ::isatty(STDOUT_FILENO);
  text.color =
      options.color == "always" || (options.color == "auto" && terminal && !(noColor && *noColor) &&
                                    !(term && std::string_view(term) == "dumb"));
  winsize size{};
  if (options.width > 0)
    text.width = options.width;
  else if (terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
    text.width = size.ws_col;
  return text;
}

int emitOutputs(const Result& result, const Options& options) {
  std::string error;
  int code = result.exitCode;
  for (const OutputSpec& spec : options.outputs) {
    std::string text =
        spec.format == "json" ? emitJson(result)
        : spec.format == "concise"
            ? emitConcise(result)
            : emitText(result, textOptions(options, result.root, !spec.path.empty()));
    if (spec.path.empty())
      printOut(text);
    else if (!writeFile(spec.path, text, error))
      code = fatal(error);
  }
  if (!options.saveResult.empty() && !writeFile(options.saveResult, emitJson(result), error))
    code = fatal(error);
  return code;
}

void printSummary(const Result& result, const Options& options, size_t hiddenUnsafe) {
  const Coverage& coverage = result.coverage;
  if (options.incomplete == IncompletePolicy::Warn && isIncomplete(coverage, options) &&
      !options.quiet)
    printWarning("the analysis is incomplete: " + counted(coverage.failed, "unit", "units") +
                 " failed, " + std::to_string(coverage.degraded) + " degraded");
  if (options.quiet >= 2) return;
  std::string line = summaryLine(result, hiddenUnsafe) + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

int runCheck(const Options& options) {
  Analysis analysis;
  std::string error;
  if (!outputsWritable(options, error) || !analyseProgram(options, analysis, error))
    return fatal(error);
  Result& result = analysis.out.result;
  decideExit(result, options, {});
  printProblems(result.coverage, options);
  int code = emitOutputs(result, options);
  if (options.statistics) printReport(analysis.out.statistics, options);
  if (options.explainUnknown) printReport(analysis.out.unknownReport, options);
  printSummary(result, options, countHiddenUnsafe(result));
  return code;
}

int runFix(const Options& options) {
  Analysis analysis;
  std::string error;
  if (!outputsWritable(options, error) || !analyseProgram(options, analysis, error))
    return fatal(error);
  Result& result = analysis.out.result;
  printProblems(result.coverage, options);
  FixRun run = planFixes(analysis, options);
  bool dry = options.diff || options.checkOnly;
  if (options.diff) printOut(unifiedDiff(run.plan));
  bool written = !dry && applyFixes(run, analysis.root, error);
  if (!dry && !written) printError(error + "; no file was changed");

  // A write that failed was told of above, once, not for each of its groups.
  for (const auto& [group, reason] : run.refused) {
    if (!dry && !written && reason == error) continue;
    auto finding =
        std::find_if(result.findings.begin(), result.findings.end(),
                     [&, &name = group](const Finding& f) { return f.fix.group == name; });
    std::string at = finding == result.findings.end()
                         ? ""
                         : finding->at.file + ":" + std::to_string(finding->at.line) + ": ";
    printWarning(at + "fix " + group + " not applied: " + reason);
  }
  if (!run.refused.empty() && (dry || written))
    printNote(counted(run.refused.size(), "fix was", "fixes were") +
              " left out whole; settle the reason and run locktidy fix again");
  Outcome outcome;
  outcome.fixesRefused = !run.refused.empty();
  outcome.countFindings = !dry;
  outcome.differences = dry && !run.plan.files.empty();
  if (written) {
    std::erase_if(result.findings, [&](const Finding& f) {
      return !f.fix.empty() && run.landed.count(f.fix.group);
    });
    movePlaces(result, run.plan);
    if (!options.quiet && run.chosen)
      printNote("applied " + std::to_string(run.landed.size()) + " of " +
                counted(run.chosen, "fix", "fixes") + " in " +
                counted(run.plan.files.size(), "file", "files"));
  }
  decideExit(result, options, outcome);
  int code = emitOutputs(result, options);
  printSummary(result, options, run.hiddenUnsafe);
  return code;
}

int runWhy(const Options& options) {
  Analysis analysis;
  std::string error;
  if (!analyseProgram(options, analysis, error)) return fatal(error);
  printProblems(analysis.out.result.coverage, options);
  std::string text =
      analysis.out.why ? analysis.out.why(whySubject(options.subject, analysis.root)) : "";
  if (text.empty())
    return fatal(
        options.subject +
        ": no lock of that name, and no section there; name a lock as `locktidy check` does "
        "(Registry::mu_), or the line of an acquisition (src/registry.cpp:42)");
  printOut(text);
  return 0;
}

int runLocks(const Options& options) {
  Analysis analysis;
  std::string error;
  if (!analyseProgram(options, analysis, error)) return fatal(error);
  printProblems(analysis.out.result.coverage, options);
  for (const OutputSpec& spec : options.outputs) {
    std::string text = analysis.out.locks(analysis.paths, spec.format == "json");
    if (spec.path.empty())
      printOut(text);
    else if (!writeFile(spec.path, text, error))
      return fatal(error);
  }
  return 0;
}

int runExplain(const Options& options) {
  const std::vector<RuleInfo>& rules = ruleInfos();
  if (const RuleInfo* rule = findRule(options.subject, rules)) {
    std::string text(rule->manual);
    if (text.empty()) text = rule->id + " (" + rule->code + "): " + rule->summary;
    if (text.back() != '\n') text += '\n';
    printOut(text);
    return 0;
  }
  if (!looksLikeId(options.subject)) {
    std::vector<std::string> names;
    for (const RuleInfo& rule : rules) names.insert(names.end(), {rule.id, rule.code});
    std::string near = didYouMean(options.subject, names);
    return fatal("unknown rule \"" + options.subject + "\"" +
                 (near.empty() ? "; locktidy rules lists them" : near));
  }
  Analysis analysis;
  std::string error;
  if (!analyseProgram(options, analysis, error)) return fatal(error);
  printProblems(analysis.out.result.coverage, options);
  std::erase_if(analysis.out.result.findings, [&](const Finding& finding) {
    return finding.id.compare(0, options.subject.size(), options.subject) != 0;
  });
  if (analysis.out.result.findings.empty())
    return fatal("no finding " + options.subject +
                 " in this program; locktidy check lists their ids");
  printOut(emitText(analysis.out.result, textOptions(options, analysis.root, false)));
  return 0;
}

int runRules(const Options& options) {
  using nlohmann::json;
  for (const OutputSpec& spec : options.outputs) {
    std::string text;
    json list = json::array();
    if (spec.format == "markdown")
      text = "| code | rule | level | default | about |\n|---|---|---|---|---|\n";
    for (const RuleInfo& rule : ruleInfos()) {
      std::string level(toString(rule.level)), on = rule.onByDefault ? "on" : "off";
      if (spec.format == "json") {
        list.push_back({{"id", rule.id},
                        {"code", rule.code},
                        {"level", level},
                        {"default", rule.onByDefault},
                        {"summary", rule.summary}});
      } else if (spec.format == "markdown") {
        text += "| " + rule.code + " | `" + rule.id + "` | " + level + " | " + on + " | " +
                rule.summary + " |\n";
      } else {
        text += rule.code + "  " + rule.id +
                std::string(rule.id.size() < 26 ? 26 - rule.id.size() : 1, ' ') + level +
                std::string(level.size() < 8 ? 8 - level.size() : 1, ' ') +
                (rule.onByDefault ? "" : "(off) ") + rule.summary + "\n";
      }
    }
    if (spec.format == "json") text = list.dump(2) + "\n";
    std::string error;
    if (spec.path.empty())
      printOut(text);
    else if (!writeFile(spec.path, text, error))
      return fatal(error);
  }
  return 0;
}

int runReport(const Options& options) {
  std::string text, error;
  if (!readFile(options.subject, text, error))
    return fatal(error + "; locktidy check --save-result FILE makes one");
  Result result;
  if (!parseResult(text, result, error))
    return fatal(options.subject + ": not a result of locktidy: " + error +
                 "; locktidy check --save-result FILE makes one");
  // Code frames are read from where one stands, the only root there is now.
  if (result.root.empty()) result.root = absolutePath(".");
  decideExit(result, options, {});
  int code = emitOutputs(result, options);
  printSummary(result, options, countHiddenUnsafe(result));
  return code;
}

int runFactsDump(const Options& options) {
  std::string text, error;
  if (!readFile(options.subject, text, error)) return fatal(error);
  if (text.compare(0, 15, "locktidy-facts ") == 0) {
    TuFacts facts;
    if (!readFacts(text, facts, error)) return fatal(options.subject + ": " + error);
    printOut(dumpFacts(facts));
    return 0;
  }
  CompileDb db;
  if (!loadCompileDb(options.build, options.changes, db, error)) return fatal(error);
  std::string file = absolutePath(options.subject);
  std::vector<UnitInfo> units = prepareUnits(db, programRoot(db));
  std::erase_if(units, [&](const UnitInfo& unit) { return unit.job.file != file; });
  if (units.empty())
    return fatal(options.subject + ": not in " + db.names.front() +
                 "; name a source file that has a command there (a header is dumped with a source "
                 "that includes it)");
  int code = 0;
  FactStore none;
  std::vector<TuFacts> all = extractUnits(units, options, none);
  for (size_t i = 0; i < all.size(); ++i) {
    if (units[i].status == UnitStatus::Failed)
      code = fatal(options.subject + ": " + units[i].failure);
    else
      printOut(dumpFacts(all[i]));
  }
  return code;
}

int runVersion(const Options& options) {
  if (options.json)
    printOut(nlohmann::json(
                 {{"name", "locktidy"}, {"version", LOCKTIDY_VERSION}, {"clang", clangVersion()}})
                 .dump() +
             "\n");
  else
    printOut("locktidy " LOCKTIDY_VERSION " (clang " + clangVersion() + ")\n");
  return 0;
}

}  // namespace locktidy
