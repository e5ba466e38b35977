// The command line as values. CLI11 does the parsing; what it cannot do is done
// before (`-p=build`, `-fix`, a missing command means `check`) and after
// (durations, sizes, formats, "did you mean").
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "checker/driver/CompileDb.h"
#include "checker/report/Report.h"

namespace locktidy {

enum class Command : uint8_t { Check, Fix, Why, Locks, Explain, Rules, Report, Facts, Doctor, Version };

struct OutputSpec {
  std::string format;  // text, concise, json; for `rules` also markdown
  std::string path;    // empty: stdout
};

enum class IncompletePolicy : uint8_t { Error, Warn, Ignore };
enum class FailOn : uint8_t { Note, Warning, Error, Never };
enum class Verify : uint8_t { Parse, None };

struct Options {
  Command command = Command::Check;
  // What the command is about: LOCK, RULE, RESULT.json, or FILE.
  std::string subject;

  std::vector<std::string> build;  // -p
  std::vector<std::string> paths;
  CommandChanges changes;

  std::vector<std::string> select, ignore, extendSelect;
  FailOn failOn = FailOn::Warning;
  bool exitZero = false;

  std::vector<OutputSpec> outputs;
  std::string saveResult;
  std::string color = "auto";
  int width = 0;  // 0: the terminal's
  int quiet = 0, verbose = 0;
  bool statistics = false, explainUnknown = false;

  bool openWorld = false, trustConst = false;
  std::vector<std::string> models;

  unsigned jobs = 0;  // 0: auto
  std::string cacheDir;  // empty: facts are not kept
  std::chrono::milliseconds tuTimeout{300000};
  uint64_t tuMemory = uint64_t{4} << 30;
  IncompletePolicy incomplete = IncompletePolicy::Error;
  uint32_t maxFailedTus = 0;
  bool maxFailedIsPercent = false;

  // fix
  bool diff = false, checkOnly = false, unsafe = false;
  std::vector<std::string> only;
  Verify verify = Verify::Parse;

  bool json = false;  // version --json
};

// Returns -1 and fills `options`, or the exit code to end with: 0 after --help,
// 2 after an error that has been printed.
int parseOptions(int argc, char** argv, Options& options);

// What -o, -j and so on may say; used by tests.
bool parseDuration(const std::string& text, std::chrono::milliseconds& out);
bool parseSize(const std::string& text, uint64_t& out);

}  // namespace locktidy
