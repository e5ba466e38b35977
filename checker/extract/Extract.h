// Clang's side of locktidy: one translation unit in, facts out. Nothing outside
// checker/extract includes a Clang or LLVM header.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checker/model/Facts.h"

namespace locktidy {

struct ExtractJob {
  std::string directory;               // working directory of the command
  std::string file;                    // main source file, absolute
  std::vector<std::string> arguments;  // as in the database, argv[0] included
  std::string root;                    // absolute; paths below it are recorded relative
  std::string resourceDir;             // Clang's builtin headers
  // Contents to use instead of what is on disk, by absolute path.
  std::map<std::string, std::string> overlay;
};

// Never throws and never fails: what goes wrong is in TuFacts::status.
TuFacts extractTu(const ExtractJob& job);

// Parses only (bodies included). Returns the first error as "file:line: text",
// or an empty string if the unit parses without errors.
std::string checkParses(const ExtractJob& job);

// The command's arguments as this Clang can take them: the driver mode is kept,
// flags that Clang's option table lacks, output, dependency-file and foreign
// precompiled-header flags are taken out and named in `dropped`.
std::vector<std::string> cleanArguments(const std::vector<std::string>& arguments,
                                        std::vector<std::string>* dropped);

// "22.1.8"
std::string clangVersion();
// The resource directory this Clang was built to use, found relative to its
// shared library or in the known places; empty if there is none.
std::string findResourceDir();

}  // namespace locktidy
