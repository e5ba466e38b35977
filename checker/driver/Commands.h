// One function per command. Each prints its output and returns the exit code.
#pragma once

#include "checker/driver/Options.h"
#include "checker/report/Report.h"

namespace locktidy {

int runCheck(const Options& options);
int runFix(const Options& options);
int runWhy(const Options& options);
int runLocks(const Options& options);
int runExplain(const Options& options);
int runRules(const Options& options);
int runReport(const Options& options);
int runFactsDump(const Options& options);
int runDoctor(const Options& options);
int runVersion(const Options& options);

// Prints a result in every asked format, and saves it. Returns result.exitCode,
// or 2 if an output cannot be written.
int emitOutputs(const Result& result, const Options& options);
// The last line on stderr. It is a contract of its own, so it has no prefix.
void printSummary(const Result& result, const Options& options, size_t hiddenUnsafe);

// How text looks where `options` and the terminal say so; `toFile` if it does
// not go to stdout.
TextOptions textOptions(const Options& options, const std::string& root, bool toFile);

// "locktidy: error: TEXT" and exit code 2.
int fatal(const std::string& text);

}  // namespace locktidy
