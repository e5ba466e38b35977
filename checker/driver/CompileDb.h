// Compilation databases as they are: duplicate entries, relative paths,
// `command` and `arguments`, response files, several configurations of a file,
// directories that are gone, sources that are no C or C++.
//
// Invariants
//  * Units are in database order, databases in the order they were named.
//  * A unit that cannot be analysed stays in the list with its `problem`, so
//    that it counts as a failure; only what is no C or C++ source is left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace locktidy {

struct CompileUnit {
  std::string directory;               // absolute
  std::string file;                    // absolute, without `.` and `..`
  std::vector<std::string> arguments;  // response files expanded
  std::string problem;                 // not empty: why it cannot be analysed
};

// What --extra-arg-before, --extra-arg and --removed-arg change in each command.
struct CommandChanges {
  std::vector<std::string> before, after, removed;
};

struct CompileDb {
  std::vector<std::string> names;  // the databases, as they were named
  std::vector<std::string> files;  // their files, absolute
  std::vector<CompileUnit> units;
  std::vector<std::string> skipped;  // sources that are no C or C++
  size_t entries = 0, duplicates = 0;
};

// `paths`: files, directories, or `-` for stdin; empty: ./compile_commands.json or the one in
// ./build, here or in a directory above. On failure `error` says what is wrong
// with which file, and the way out.
bool loadCompileDb(const std::vector<std::string>& paths, const CommandChanges& changes,
                   CompileDb& db, std::string& error);

// For tests and for tools with one text at hand. `file` names the database in
// messages; relative directories are below the one it is in.
bool parseCompileDb(std::string_view text, const std::string& file, const CommandChanges& changes,
                    CompileDb& db, std::string& error);

// Splits a command line as LLVM does: blanks separate, quotes group, a
// backslash outside single quotes takes the next character as it is.
std::vector<std::string> splitCommand(std::string_view command);

// The directory that paths are recorded relative to: the nearest directory at
// or above the first database that holds `.git`, if a unit's file is below it;
// else the directory that all units' files are below; if that is `/`, the
// database's directory.
std::string programRoot(const CompileDb& db);

}  // namespace locktidy
