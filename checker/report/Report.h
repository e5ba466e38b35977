// What the rules produce and the emitters print. Plain values; files are named
// by path as in FileFact (relative to the root where below it).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace locktidy {

enum class Level : uint8_t { Off, Note, Warning, Error };
enum class Safety : uint8_t { Safe, Likely, Candidate };

struct Place {
  std::string file;
  uint32_t line = 0, column = 0;  // from 1, bytes
  uint32_t offset = 0, length = 0;
  bool valid() const { return !file.empty(); }
};

struct CallStep {        // one step of a call chain: who calls whom, where
  std::string function;
  Place at;
};

struct AccessNote {      // an access that decided a verdict
  std::string path;      // "this->map_[].visits", for people
  std::string kind;      // read, write, atomic, external, wait, unknown, acquire
  std::string via;       // "std::map::find", empty for plain accesses
  Place at;
  std::vector<CallStep> chain;
};

struct SectionNote {
  std::string function;
  std::string mode;      // exclusive, shared
  std::string verdict;   // read-only, writing, undecided
  std::string reason;    // one clause, for people
  std::string cost;      // T0..T3, TX
  int loopDepth = 0;
  Place at;
  std::vector<AccessNote> accesses;
};

// Replace [offset, offset + length) of `file`, which must read `oldText`.
struct Edit {
  std::string file;
  std::string sha256;    // of the file when it was analysed
  uint32_t offset = 0, length = 0;
  uint32_t line = 0, column = 0;
  std::string oldText, newText;
};

struct IncludeEdit {
  std::string file;
  std::string header;    // "<shared_mutex>" or "\"acme/lock.h\""
};

struct Fix {
  std::string title;
  Safety safety = Safety::Safe;
  std::string group;     // fixes with one group are applied together or not at all
  std::vector<Edit> edits;
  std::vector<IncludeEdit> includes;
  bool empty() const { return edits.empty() && includes.empty(); }
};

struct LockNote {
  std::string name, usr, type;
  Place at;
};

struct Finding {
  std::string id;           // 8 hex digits of the fingerprint
  std::string fingerprint;  // survives line moves, renamed paths, reformatting
  std::string rule, code;
  Level level = Level::Warning;
  Safety safety = Safety::Candidate;
  Place at;
  std::string label;        // under the carets: "read-only section"
  std::string message;      // lower case, no full stop
  LockNote lock;
  std::vector<SectionNote> sections;
  std::vector<std::string> because;   // the proof, one clause each
  std::vector<std::string> assumes;   // assumptions; not empty for likely
  std::vector<std::string> help;
  std::string cost;
  std::string evidence = "static";
  double rank = 0;
  uint32_t seenInTus = 1;
  size_t reads = 0, writes = 0, callsResolved = 0, callsUnresolved = 0;
  Fix fix;
};

struct FailedTu {
  std::string file, reason;
  bool degraded = false;
};

struct Coverage {
  uint32_t tus = 0, ok = 0, degraded = 0, failed = 0, fromCache = 0;
  uint32_t locks = 0, unresolvedCalls = 0;
  std::vector<std::string> variants;   // the databases
  std::vector<FailedTu> problems;
};

// What made a result; filled by the driver, printed in JSON as it is.
struct Tool {
  std::string version, clang, buildId;
};

struct Result {
  std::string root;                    // absolute; not printed in JSON
  std::vector<Finding> findings;       // sorted by file, line, column, rule
  Coverage coverage;
  int exitCode = 0;
  std::vector<std::string> exitReasons;
  Tool tool;
};

std::string_view toString(Level level);    // "note", ...
std::string_view toString(Safety safety);  // "safe", ...

// Emitters. `readFile` gives the current text of a file of the result (empty if
// it cannot be read); used for code frames.
struct TextOptions {
  bool color = false;
  int width = 100;
  int maxFindings = 0;  // 0: all
  bool showFix = true;
  std::string root;     // files are read below it
};
std::string emitText(const Result& result, const TextOptions& options);
std::string emitConcise(const Result& result);
std::string emitJson(const Result& result);      // schema locktidy-result/1, CLI.md 5
// The last line on stderr: "analysed 412/415 TUs (...)"; without a line end.
std::string summaryLine(const Result& result, size_t hiddenUnsafe);

// Reads what emitJson wrote (for `report`, `explain ID`). On failure `result` is
// untouched and `error` says where: "findings[3].location.line: must be ...".
bool parseResult(std::string_view json, Result& result, std::string& error);

// ---------------------------------------------------------------------------
// Edits
struct FileEdit {
  std::string file;          // as in Edit
  std::string before, after; // whole contents
  std::string patchName;     // what a patch calls it: links resolved, relative to
                             // the root (or to "/" elsewhere); empty: as `file`
};
struct EditPlan {
  std::vector<FileEdit> files;                 // sorted by name
  std::vector<std::string> applied;            // groups
  std::vector<std::pair<std::string, std::string>> refused;  // group, reason
};
// Applies the groups of `fixes` in order to the files' current contents in
// memory. A group is refused as a whole if a file's hash or old text differs
// from what was analysed, or if it overlaps an edit already taken (equal edits
// of several groups are taken once). Includes are inserted once, in the style
// of the file (after the last include of the same kind, sorted position if the
// block is sorted), CRLF and BOM kept.
// A file that several names reach (symbolic links) is planned once. A fix without
// a group stands alone, under its title.
EditPlan planEdits(const std::vector<Fix>& fixes, const std::string& root);
// One patch that `git apply` takes, a/ and b/ prefixes, relative names.
std::string unifiedDiff(const EditPlan& plan);
// Writes every file through a temporary file beside it, fsync and rename; keeps
// mode bits; follows symbolic links to the real file. On the first failure
// returns false with `error` naming the file; files already replaced stay
// replaced only if all could be: otherwise they are put back.
bool writePlan(const EditPlan& plan, const std::string& root, std::string& error);

// Where `#include header` goes in `text`, in the style of the file. Only what
// stands before the first brace of code and before `limit` (the first use) is
// looked at; includes under a condition are neither imitated nor counted.
struct IncludePlace {
  bool present = false;  // nothing to do
  size_t offset = 0;     // insert `text` here
  std::string text;      // with its line ends, and blank lines where a new block starts
};
IncludePlace placeInclude(std::string_view text, const std::string& header,
                          size_t limit = std::string_view::npos);

std::string sha256Hex(std::string_view bytes);

}  // namespace locktidy
