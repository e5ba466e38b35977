// The pipeline as the commands use it: models and databases in, units extracted
// in worker processes, findings out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checker/driver/CompileDb.h"
#include "checker/driver/Config.h"
#include "checker/driver/FactStore.h"
#include "checker/driver/Options.h"
#include "checker/driver/Pipeline.h"
#include "checker/driver/Selection.h"
#include "checker/driver/Workers.h"
#include "checker/extract/Extract.h"

namespace locktidy {

// What later steps need of a unit once its facts are gone into the analysis.
struct UnitInfo {
  ExtractJob job;
  UnitStatus status = UnitStatus::Ok;
  std::string failure;             // Failed: why; Degraded: the first error
  std::vector<std::string> files;  // that it read, spelled as Place::file is
  bool fromStore = false;          // not parsed in this run
};

struct Analysis {
  CompileDb db;
  std::string root;
  Selection selection;
  std::shared_ptr<Config> config;
  std::vector<UnitInfo> units;  // in database order
  std::vector<std::string> paths;  // the command's, as Place::file is spelled
  AnalysisOutput out;           // what is reported
  std::vector<Finding> hidden;  // found, but not selected
};

// The directory of the models that come with locktidy: ../share/locktidy/models
// beside the binary, or what the file locktidy.models-dir beside it names (the
// build tree). Empty with an error that says where it looked.
std::string builtinModels(std::string& error);
// The built-in models and those of --models, in this order.
bool loadModels(const Options& options, Models& models, std::string& error);

WorkerLimits workerLimits(const Options& options);

// Jobs for all units of the database.
std::vector<UnitInfo> prepareUnits(const CompileDb& db, const std::string& root);

// Extracts every unit, in worker processes, and returns the facts in the order
// of `units`, whose status, failure and files are filled in. Never fails.
// Units that `store` knows unchanged are not parsed, the others added to it.
std::vector<TuFacts> extractUnits(std::vector<UnitInfo>& units, const Options& options, FactStore& store);

// All of it. On failure returns false with a message for exit code 2: bad
// options, no database, no model, nothing analysed, a path without files.
bool analyseProgram(const Options& options, Analysis& analysis, std::string& error);

// Warnings about units that could not be analysed, as many as -v and -q ask for.
void printProblems(const Coverage& coverage, const Options& options);

}  // namespace locktidy
