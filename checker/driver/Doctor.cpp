// `locktidy doctor`: is this installation whole, and what does locktidy make of
// the compilation database? Says what it finds even where something is broken;
// the exit code is 2 if the tool could not run as things stand.
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "checker/driver/Analysis.h"
#include "checker/driver/Commands.h"
#include "checker/driver/System.h"

namespace locktidy {
namespace {

class Doctor {
 public:
  explicit Doctor(const Options& options) : options_(options) {}

  int run() {
    line("locktidy", std::string(LOCKTIDY_VERSION) + ", in " + executableDirectory());
    line("clang", clangVersion());
    resources();
    models();
    line("workers", std::to_string(workerLimits(options_).jobs) + ", each " +
                        spellDuration(options_.tuTimeout) + " and " + spellSize(options_.tuMemory) +
                        " a unit");
    database();
    printOut(out_);
    return broken_ ? 2 : 0;
  }

 private:
  void line(const std::string& name, const std::string& text) {
    out_ += name + std::string(name.size() < 14 ? 14 - name.size() : 1, ' ') + text + "\n";
  }
  void bad(const std::string& name, const std::string& text) {
    broken_ = true;
    line(name, "BROKEN: " + text);
  }
  // A few of many names.
  void list(const std::string& name, const std::vector<std::string>& items) {
    size_t most = options_.verbose ? items.size() : 5;
    for (size_t i = 0; i < items.size() && i < most; ++i) line(i ? "" : name, items[i]);
    if (items.size() > most)
      line("", "... " + std::to_string(items.size() - most) + " more (-v lists them)");
  }

  void resources() {
    std::string directory = findResourceDir();
    if (directory.empty())
      bad("resource dir", "Clang's builtin headers were not found; install libclang-common-22-dev");
    else if (!isFile(directory + "/include/stddef.h"))
      bad("resource dir", directory + " has no include/stddef.h; install libclang-common-22-dev");
    else
      line("resource dir", directory + " (stddef.h is there)");
  }

  void models() {
    std::string error, directory = builtinModels(error);
    Models models;
    if (directory.empty() || !loadModels(options_, models, error)) return bad("models", error);
    nlohmann::json merged = nlohmann::json::parse(models.dump(), nullptr, false);
    auto count = [&](const char* key, const char* what) {
      return std::to_string(merged.contains(key) ? merged[key].size() : 0) + " " + what;
    };
    line("models", directory);
    for (const std::string& path : options_.models) line("", path);
    line("", count("mutexes", "locks, ") + count("guards", "guards, ") +
                 count("lockFunctions", "lock functions, ") + count("functions", "functions, ") +
                 count("classes", "classes"));
  }

  void database() {
    CompileDb db;
    std::string error;
    if (!loadCompileDb(options_.build, options_.changes, db, error)) {
      // Without -p a missing database is nothing that is broken.
      if (options_.build.empty() && db.entries == 0) return line("database", "none: " + error);
      return bad("database", error);
    }
    for (const std::string& file : db.files) line("database", file);
    line("", std::to_string(db.entries) + " entries, " + std::to_string(db.duplicates) +
                 " duplicates, " + std::to_string(db.skipped.size()) +
                 " not C or C++: " + std::to_string(db.units.size()) + " units");
    line("root", programRoot(db));
    list("not C or C++", db.skipped);
    std::vector<std::string> missing;
    std::map<std::string, size_t> dropped;
    for (const CompileUnit& unit : db.units) {
      if (!unit.problem.empty()) missing.push_back(unit.file + ": " + unit.problem);
      std::vector<std::string> flags;
      cleanArguments(unit.arguments, &flags);
      for (const std::string& flag : flags) ++dropped[flag];
    }
    list("missing", missing);
    std::vector<std::string> flags;
    for (const auto& [flag, count] : dropped)
      flags.push_back(flag + " (" + std::to_string(count) + " units)");
    list("dropped flags", flags);
    sample(db);
  }

  // Parses the first unit that is there: whether headers are found shows at once.
  void sample(const CompileDb& db) {
    std::vector<UnitInfo> units = prepareUnits(db, programRoot(db));
    for (const UnitInfo& unit : units) {
      if (!unit.failure.empty()) continue;
      auto start = std::chrono::steady_clock::now();
      std::string problem;
      WorkerLimits limits = workerLimits(options_);
      limits.jobs = 1;
      runInWorkers(
          1, [&](size_t) { return checkParses(unit.job); }, limits,
          [&](size_t, JobOutcome outcome) {
            problem = outcome.failure.empty() ? outcome.bytes : outcome.failure;
          });
      auto time = std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::steady_clock::now() - start);
      std::string name = relativePath(unit.job.file, unit.job.root);
      if (problem.empty())
        line("sample parse", name + ": no errors, " + std::to_string(time.count()) + " ms");
      else
        bad("sample parse", name + ": " + problem);
      return;
    }
    bad("sample parse",
        "no unit of the database can be parsed: every source or directory is missing");
  }

  const Options& options_;
  std::string out_;
  bool broken_ = false;
};

}  // namespace

int runDoctor(const Options& options) { return Doctor(options).run(); }

}  // namespace locktidy
