// The few things the driver asks the operating system for: files, paths and
// messages. All messages of locktidy go through here: "locktidy: error: TEXT".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace locktidy {

void printError(std::string_view text);
void printWarning(std::string_view text);
void printNote(std::string_view text);
void printOut(std::string_view text);  // stdout, unbuffered, complete

// False with `error` = "PATH: why" if the file cannot be read.
bool readFile(const std::string& path, std::string& text, std::string& error);
// Replaces the file as a whole: a temporary file beside it, then a rename.
bool writeFile(const std::string& path, std::string_view text, std::string& error);

// Absolute and without `.`, `..` and doubled slashes. Symbolic links stay as
// they are, so that a path keeps the spelling the build uses.
std::string absolutePath(const std::string& path, const std::string& base = "");
std::string parentPath(const std::string& path);
bool isBelow(const std::string& path, const std::string& directory);
// `path` as seen from `root` if below it, else as it is.
std::string relativePath(const std::string& path, const std::string& root);
bool isDirectory(const std::string& path);
bool isFile(const std::string& path);

// The candidate that `text` was probably meant to be; empty if none is near.
std::string closest(std::string_view text, const std::vector<std::string>& candidates);
// `; did you mean "X"?` or nothing.
std::string didYouMean(std::string_view text, const std::vector<std::string>& candidates);

// Whether `pattern` (`*` and `?`) matches the whole text.
bool globMatch(std::string_view pattern, std::string_view text);

// Directory of the running binary.
std::string executableDirectory();

}  // namespace locktidy
