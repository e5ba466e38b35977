#include "checker/driver/Analysis.h"

#include <algorithm>
#include <set>

#include "checker/driver/FactStore.h"
#include "checker/driver/System.h"
#include "checker/model/FactsIo.h"

namespace locktidy {
namespace {

using Clock = std::chrono::steady_clock;

// One line every half minute, so that a CI log shows that something moves.
class Heartbeat {
 public:
  Heartbeat(std::string what, size_t count, bool quiet)
      : what_(std::move(what)), count_(count), quiet_(quiet) {}
  void done() { ++done_; }
  void tick() {
    if (quiet_ || Clock::now() - last_ < std::chrono::seconds(30)) return;
    last_ = Clock::now();
    printNote(what_ + " " + std::to_string(done_) + "/" + std::to_string(count_) + " TUs");
  }

 private:
  std::string what_;
  size_t count_, done_ = 0;
  bool quiet_;
  Clock::time_point last_ = Clock::now();
};

TuFacts failedFacts(const UnitInfo& unit, const std::string& why) {
  TuFacts facts;
  facts.strings.push_back(relativePath(unit.job.file, unit.job.root));
  facts.mainFile = 1;
  facts.strings.push_back(why);
  facts.failure = 2;
  facts.status = UnitStatus::Failed;
  return facts;
}

// Paths on the command line in the spelling of Place::file. A path below which
// nothing was analysed is an error: it would hide every finding.
bool reportPaths(const std::vector<std::string>& paths, const Analysis& analysis,
                 std::vector<std::string>& out, std::string& error) {
  for (const std::string& path : paths) {
    std::string name = relativePath(absolutePath(path), analysis.root);
    auto reads = [&](const UnitInfo& unit) {
      return name == "." || relativePath(unit.job.file, analysis.root) == name ||
             std::any_of(unit.files.begin(), unit.files.end(),
                         [&](const std::string& file) { return isBelow(file, name); });
    };
    if (std::none_of(analysis.units.begin(), analysis.units.end(), reads)) {
      error = path +
              ": no analysed file is here; paths choose what is reported among the files of " +
              analysis.db.names.front();
      return false;
    }
    out.push_back(name);
  }
  return true;
}

void fillCoverage(const Analysis& analysis, Coverage& coverage) {
  coverage.tus = static_cast<uint32_t>(analysis.units.size());
  coverage.ok = coverage.degraded = coverage.failed = 0;
  coverage.variants = analysis.db.names;
  coverage.fromCache = static_cast<uint32_t>(
      std::count_if(analysis.units.begin(), analysis.units.end(), [](const UnitInfo& unit) { return unit.fromStore; }));
  coverage.problems.clear();
  for (const UnitInfo& unit : analysis.units) {
    bool degraded = unit.status == UnitStatus::Degraded;
    if (unit.status == UnitStatus::Ok)
      ++coverage.ok;
    else
      ++(degraded ? coverage.degraded : coverage.failed);
    if (unit.status != UnitStatus::Ok)
      coverage.problems.push_back(
          {relativePath(unit.job.file, analysis.root), unit.failure, degraded});
  }
}

}  // namespace

std::string builtinModels(std::string& error) {
  std::string beside = executableDirectory();
  std::string installed = absolutePath(beside + "/../" LOCKTIDY_DATADIR "/locktidy/models");
  if (isDirectory(installed)) return installed;
  std::string text, ignored;
  if (readFile(beside + "/locktidy.models-dir", text, ignored)) {
    std::string directory = text.substr(0, text.find_last_not_of(" \n") + 1);
    if (isDirectory(directory)) return directory;
    error = directory + ": the models that " + beside +
            "/locktidy.models-dir names are gone; build again";
    return "";
  }
  error = installed +
          ": no models there; install locktidy as a whole (cmake --install), not its binary alone";
  return "";
}

bool loadModels(const Options& options, Models& models, std::string& error) {
  std::string builtin = builtinModels(error);
  if (builtin.empty() || !models.loadDirectory(builtin, error)) return false;
  for (const std::string& path : options.models) {
    // A directory that cannot be read must not look like an empty one.
    if (!isDirectory(path) && !isFile(path)) {
      error = path + ": no such model file or directory (--models)";
      return false;
    }
    if (!(isDirectory(path) ? models.loadDirectory(path, error) : models.loadFile(path, error)))
      return false;
  }
  return true;
}

WorkerLimits workerLimits(const Options& options) {
  WorkerLimits limits;
  limits.jobs = options.jobs ? options.jobs : automaticJobs();
  limits.timeout = options.tuTimeout;
  limits.memory = options.tuMemory;
  return limits;
}

std::vector<UnitInfo> prepareUnits(const CompileDb& db, const std::string& root) {
  std::string resources = findResourceDir();
  std::vector<UnitInfo> units;
  for (const CompileUnit& unit : db.units) {
    UnitInfo info;
    info.job = {unit.directory, unit.file, unit.arguments, root, resources, {}};
    info.failure = unit.problem;
    if (!unit.problem.empty()) info.status = UnitStatus::Failed;
    units.push_back(std::move(info));
  }
  return units;
}

std::vector<TuFacts> extractUnits(std::vector<UnitInfo>& units, const Options& options, FactStore& store) {
  std::vector<TuFacts> all(units.size());
  std::vector<size_t> todo;
  auto keep = [&](size_t i, const TuFacts& facts) {
    units[i].status = facts.status;
    units[i].failure = facts.strings[facts.failure];
    units[i].files.clear();
    for (const FileFact& file : facts.files) units[i].files.push_back(facts.strings[file.path]);
  };
  for (size_t i = 0; i < units.size(); ++i) {
    std::string bytes, error;
    if (!units[i].failure.empty()) {
      all[i] = failedFacts(units[i], units[i].failure);
    } else if (store.get(units[i].job, bytes) && readFacts(bytes, all[i], error)) {
      units[i].fromStore = true;
      keep(i, all[i]);
    } else {
      all[i] = TuFacts();
      todo.push_back(i);
    }
  }
  Heartbeat heartbeat("extracting", todo.size(), options.quiet > 0);
  auto work = [&](size_t i) {
    const ExtractJob& job = units[todo[i]].job;
    TuFacts facts = extractTu(job);
    std::string bytes = writeFacts(facts);
    store.put(job, facts, bytes);
    return bytes;
  };
  auto done = [&](size_t i, JobOutcome outcome) {
    UnitInfo& unit = units[todo[i]];
    TuFacts& facts = all[todo[i]];
    std::string error;
    if (outcome.failure.empty() && !readFacts(outcome.bytes, facts, error))
      outcome.failure = "its facts cannot be read: " + error + " (please report this)";
    if (!outcome.failure.empty()) facts = failedFacts(unit, outcome.failure);
    keep(todo[i], facts);
    heartbeat.done();
  };
  runInWorkers(todo.size(), work, workerLimits(options), done, [&] { heartbeat.tick(); });
  return all;
}

bool analyseProgram(const Options& options, Analysis& analysis, std::string& error) {
  // The cheap things that can be wrong come first: nobody wants to hear of a
  // misspelt rule after ten minutes.
  if (!selectRules(options, ruleInfos(), analysis.selection, error)) return false;
  Models models;
  if (!loadModels(options, models, error)) return false;
  if (!loadCompileDb(options.build, options.changes, analysis.db, error)) return false;
  FactStore store;
  if (!options.cacheDir.empty() && !store.open(options.cacheDir, error)) return false;
  analysis.root = programRoot(analysis.db);
  analysis.units = prepareUnits(analysis.db, analysis.root);

  // A configuration that cannot be used is told of before the work, as far as it
  // is where most are: above the sources.
  analysis.config = std::make_shared<Config>();
  for (const UnitInfo& unit : analysis.units) analysis.config->forFile(unit.job.file);
  if (!analysis.config->error().empty()) {
    error = analysis.config->error();
    return false;
  }

  std::vector<TuFacts> facts = extractUnits(analysis.units, options, store);
  Coverage coverage;
  fillCoverage(analysis, coverage);
  if (coverage.ok + coverage.degraded == 0) {
    const FailedTu& first = coverage.problems.front();
    error = "nothing was analysed: all " + std::to_string(coverage.failed) + " units of " +
            analysis.db.names.front() + " failed; the first: " + first.file + ": " + first.reason;
    if (coverage.failed == 1)
      error = "nothing was analysed: the only unit of " + analysis.db.names.front() +
              " failed: " + first.file + ": " + first.reason;
    return false;
  }
  if (!reportPaths(options.paths, analysis, analysis.paths, error)) return false;

  AnalysisOptions how;
  how.root = analysis.root;
  how.select = analysis.selection.rules;
  how.openWorld = options.openWorld;
  how.trustConst = options.trustConst;
  how.settings = [config = analysis.config, root = analysis.root](const std::string& file) {
    return config->forFile(absolutePath(file, root));
  };
  analysis.out = analyse(std::move(facts), models, how);
  if (!analysis.config->error().empty()) {
    error = analysis.config->error();
    return false;
  }
  Result& result = analysis.out.result;
  result.root = analysis.root;
  fillCoverage(analysis, result.coverage);
  keepFindings(result, analysis.selection, analysis.paths, &analysis.hidden);
  return true;
}

void printProblems(const Coverage& coverage, const Options& options) {
  if (options.quiet) return;
  size_t shown = 0, most = options.verbose ? coverage.problems.size() : 5;
  for (const FailedTu& problem : coverage.problems) {
    if (shown++ == most) {
      printWarning(std::to_string(coverage.problems.size() - most) +
                   " more units could not be analysed fully; -v lists them");
      return;
    }
    printWarning(problem.file +
                 (problem.degraded ? ": parsed with errors, first: " : ": not analysed: ") +
                 problem.reason);
  }
}

}  // namespace locktidy
