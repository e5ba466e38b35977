#include "checker/driver/CompileDb.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "checker/driver/System.h"
#include "checker/extract/Extract.h"

namespace locktidy {
namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

constexpr const char* kHowToMake =
    "configure with `cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON`, or build under `bear -- make`";

// ---------------------------------------------------------------------------
// JSON with the place of the mistake. nlohmann's non-throwing parser only says
// "discarded", so a text it refuses is scanned again by this.
struct Mistake : nlohmann::json_sax<Json> {
  size_t position = 0;
  std::string what;
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception& e) override {
    position = at;
    what = e.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: REST"
    size_t colon = what.find(": ");
    if (colon != std::string::npos) what = what.substr(colon + 2);
    return false;
  }
};

std::string describeMistake(std::string_view text, const std::string& file) {
  Mistake mistake;
  Json::sax_parse(text, &mistake);
  size_t end = std::min(mistake.position ? mistake.position - 1 : 0, text.size());
  size_t line = 1 + static_cast<size_t>(std::count(text.begin(), text.begin() + end, '\n'));
  size_t lineStart = end ? text.rfind('\n', end - 1) : std::string_view::npos;
  size_t column = lineStart == std::string_view::npos ? end + 1 : end - lineStart;
  return file + ":" + std::to_string(line) + ":" + std::to_string(column) +
         ": not JSON: " + mistake.what + "; make the database again: " + kHowToMake;
}

// ---------------------------------------------------------------------------
// Commands

// Response files follow the same quoting rules as `command`, but there newlines
// separate too; splitCommand treats every blank alike, which covers both.
void expandResponseFiles(std::vector<std::string>& arguments, const std::string& directory,
                         int depth = 0) {
  std::vector<std::string> out;
  for (std::string& argument : arguments) {
    std::string text, ignored;
    // Response files that include each other end somewhere.
    if (argument.size() < 2 || argument[0] != '@' || depth > 20 ||
        !readFile(absolutePath(argument.substr(1), directory), text, ignored)) {
      out.push_back(std::move(argument));
      continue;
    }
    std::vector<std::string> inner = splitCommand(text);
    expandResponseFiles(inner, directory, depth + 1);
    out.insert(out.end(), inner.begin(), inner.end());
  }
  arguments = std::move(out);
}

void applyChanges(std::vector<std::string>& arguments, const CommandChanges& changes) {
  std::erase_if(arguments, [&](const std::string& argument) {
    return std::find(changes.removed.begin(), changes.removed.end(), argument) !=
           changes.removed.end();
  });
  if (arguments.empty()) return;
  arguments.insert(arguments.begin() + 1, changes.before.begin(), changes.before.end());
  // What follows `--` is a file name.
  auto end = std::find(arguments.begin(), arguments.end(), "--");
  arguments.insert(end, changes.after.begin(), changes.after.end());
}

// Whether the entry is C or C++, by -x if given, else by the file's name.
bool isCFamily(const std::string& file, const std::vector<std::string>& arguments) {
  static const std::set<std::string> kOurs = {"c",
                                              "c++",
                                              "c-header",
                                              "c++-header",
                                              "cpp-output",
                                              "c++-cpp-output",
                                              "c++-module",
                                              "c++-user-header",
                                              "c++-system-header"};
  static const std::set<std::string> kOthers = {"assembler",   "assembler-with-cpp", "cuda", "hip",
                                                "objective-c", "objective-c++",      "cl",   "ir"};
  // `-xLANG` and `-x LANG`; the last one wins. Other flags begin with -x, too
  // (`-xHost`), so only names of languages count.
  std::string language;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string name;
    if (arguments[i] == "-x" && i + 1 < arguments.size())
      name = arguments[i + 1];
    else if (arguments[i].compare(0, 2, "-x") == 0)
      name = arguments[i].substr(2);
    if (kOurs.count(name) || kOthers.count(name)) language = name;
  }
  if (!language.empty()) return kOurs.count(language) != 0;
  size_t dot = file.find_last_of("./");
  if (dot == std::string::npos || file[dot] == '/') return false;
  std::string extension = file.substr(dot + 1);
  if (extension == "C" || extension == "H") return true;
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  static const std::set<std::string> kExtensions = {
      "c",   "cc",  "cp",  "cpp", "cxx", "c++", "i",    "ii",  "h",   "hh",  "hp",
      "hpp", "hxx", "h++", "inc", "inl", "ipp", "cppm", "ixx", "ccm", "cxxm"};
  return kExtensions.count(extension) != 0;
}

// Equal keys: the same file is compiled to the same meaning; only the output
// differs, as when a source goes into a static and a shared library.
std::string commandKey(const CompileUnit& unit) {
  std::string key = unit.directory + '\0' + unit.file;
  std::vector<std::string> dropped;
  for (const std::string& argument : cleanArguments(unit.arguments, &dropped))
    key += '\0' + argument;
  return key;
}

// ---------------------------------------------------------------------------
class Reader {
 public:
  Reader(const std::string& file, const CommandChanges& changes, CompileDb& db, std::string& error)
      : file_(file), base_(parentPath(file)), changes_(changes), db_(db), error_(error) {
    for (const CompileUnit& unit : db.units) seen_.insert(commandKey(unit));
  }

  bool read(std::string_view text) {
    Json root = Json::parse(text, nullptr, false);
    if (root.is_discarded()) return fail("", describeMistake(text, file_));
    if (!root.is_array())
      return fail("", file_ + ": not a compilation database: expected a list of commands; " +
                          kHowToMake);
    if (root.empty())
      return fail(
          "", file_ + ": the compilation database is empty; build the project's targets into it: " +
                  kHowToMake);
    for (size_t i = 0; i < root.size(); ++i)
      if (!readEntry(root[i], i)) return false;
    return true;
  }

 private:
  bool fail(const std::string& entry, const std::string& what) {
    error_ = entry.empty() ? what : file_ + ": " + entry + " " + what;
    return false;
  }

  bool readEntry(const Json& entry, size_t index) {
    std::string name = "entry " + std::to_string(index + 1);
    if (!entry.is_object()) return fail(name, "is not an object; make the database again");
    auto text = [&](const char* key, std::string& out) {
      auto it = entry.find(key);
      if (it == entry.end())
        return fail(name, std::string("has no \"") + key + "\"; make the database again");
      if (!it->is_string())
        return fail(name, std::string("has a \"") + key + "\" that is not a string");
      out = it->get<std::string>();
      return true;
    };
    CompileUnit unit;
    if (!text("file", unit.file)) return false;
    name += " (" + unit.file + ")";
    if (!text("directory", unit.directory)) return false;
    unit.directory = absolutePath(unit.directory, base_);
    unit.file = absolutePath(unit.file, unit.directory);
    if (auto it = entry.find("arguments"); it != entry.end()) {
      if (!it->is_array()) return fail(name, "has \"arguments\" that are not a list");
      for (const Json& argument : *it) {
        if (!argument.is_string()) return fail(name, "has an argument that is not a string");
        unit.arguments.push_back(argument.get<std::string>());
      }
    } else if (entry.contains("command")) {
      std::string command;
      if (!text("command", command)) return false;
      unit.arguments = splitCommand(command);
    } else {
      return fail(name, "has neither \"command\" nor \"arguments\"; make the database again");
    }
    if (unit.arguments.empty()) return fail(name, "has an empty command");
    ++db_.entries;
    add(std::move(unit));
    return true;
  }

  void add(CompileUnit unit) {
    expandResponseFiles(unit.arguments, unit.directory);
    applyChanges(unit.arguments, changes_);
    if (!isCFamily(unit.file, unit.arguments)) {
      db_.skipped.push_back(unit.file);
      return;
    }
    if (!seen_.insert(commandKey(unit)).second) {
      ++db_.duplicates;
      return;
    }
    if (!isDirectory(unit.directory))
      unit.problem = "its directory " + unit.directory + " does not exist";
    else if (!isFile(unit.file))
      unit.problem = "the source file does not exist (generated? build the project first)";
    db_.units.push_back(std::move(unit));
  }

  const std::string& file_;
  std::string base_;
  const CommandChanges& changes_;
  CompileDb& db_;
  std::string& error_;
  std::set<std::string> seen_;
};

// The database meant by a -p argument, as a name for messages; `source` is what
// to read.
bool databaseFile(const std::string& path, std::string& file, std::string& source,
                  std::string& error) {
  file = absolutePath(path == "-" ? "<stdin>" : path);
  source = path == "-" ? "/dev/stdin" : file;
  if (path == "-") return true;
  if (isDirectory(file)) {
    source = file += "/compile_commands.json";
    if (isFile(file)) return true;
    error = path + ": no compile_commands.json in this directory; " + kHowToMake;
    return false;
  }
  if (isFile(file)) return true;
  error = path +
          ": no such file or directory; give -p the build directory, or the compile_commands.json";
  return false;
}

std::string findDatabase() {
  for (std::string at = absolutePath(".");; at = parentPath(at)) {
    std::string prefix = at == "/" ? "" : at;
    for (const char* below : {"/compile_commands.json", "/build/compile_commands.json"})
      if (isFile(prefix + below)) return prefix + below;
    if (at == "/" || at.empty()) return "";
  }
}

}  // namespace

std::vector<std::string> splitCommand(std::string_view command) {
  std::vector<std::string> out;
  std::string word;
  bool inWord = false;
  char quote = 0;
  for (size_t i = 0; i < command.size(); ++i) {
    char c = command[i];
    if (c == '\\' && quote != '\'' && i + 1 < command.size()) {
      word += command[++i];
      inWord = true;
    } else if (quote) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      inWord = true;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      if (inWord) out.push_back(std::move(word));
      word.clear();
      inWord = false;
    } else {
      word += c;
      inWord = true;
    }
  }
  if (inWord) out.push_back(std::move(word));
  return out;
}

bool parseCompileDb(std::string_view text, const std::string& file, const CommandChanges& changes,
                    CompileDb& db, std::string& error) {
  return Reader(file, changes, db, error).read(text);
}

bool loadCompileDb(const std::vector<std::string>& paths, const CommandChanges& changes,
                   CompileDb& db, std::string& error) {
  std::vector<std::string> names = paths;
  if (names.empty()) {
    std::string found = findDatabase();
    if (found.empty()) {
      error = std::string(
                  "no compilation database: no compile_commands.json here, in build/, or above; "
                  "name its directory with -p; to make one, ") +
              kHowToMake;
      return false;
    }
    // As the user would have named it; reports must not hold where this machine
    // keeps the checkout.
    names.push_back(fs::path(parentPath(found)).lexically_relative(absolutePath(".")).string());
  }
  for (const std::string& name : names) {
    std::string file, source, text;
    if (!databaseFile(name, file, source, error) || !readFile(source, text, error) ||
        !parseCompileDb(text, file, changes, db, error))
      return false;
    db.names.push_back(name);
    db.files.push_back(file);
  }
  if (db.units.empty()) {
    error = db.files.front() + ": no C or C++ source among its " + std::to_string(db.entries) +
            " entries";
    return false;
  }
  return true;
}

std::string programRoot(const CompileDb& db) {
  std::string database = db.files.empty() ? absolutePath(".") : parentPath(db.files.front());
  for (std::string at = database; !at.empty(); at = parentPath(at)) {
    if (isDirectory(at + "/.git") || isFile(at + "/.git")) {
      for (const CompileUnit& unit : db.units)
        if (isBelow(unit.file, at)) return at;
      break;
    }
    if (at == "/") break;
  }
  std::string common;
  for (const CompileUnit& unit : db.units) {
    if (common.empty()) common = parentPath(unit.file);
    while (!isBelow(unit.file, common)) common = parentPath(common);
  }
  return common.empty() || common == "/" ? database : common;
}

}  // namespace locktidy
