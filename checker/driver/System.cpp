#include "checker/driver/System.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace locktidy {
namespace fs = std::filesystem;

namespace {

// One write per message, so that messages of several processes do not mix.
bool writeAll(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

void printMessage(std::string_view kind, std::string_view text) {
  std::string line = "locktidy: ";
  line.append(kind).append(text);
  if (line.back() != '\n') line += '\n';
  writeAll(STDERR_FILENO, line);
}

}  // namespace

void printError(std::string_view text) { printMessage("error: ", text); }
void printWarning(std::string_view text) { printMessage("warning: ", text); }
void printNote(std::string_view text) { printMessage("", text); }
void printOut(std::string_view text) {
  if (writeAll(STDOUT_FILENO, text)) return;
  // Half a report with a green exit code would mislead whoever reads it.
  printError(std::string("standard output: ") + std::strerror(errno));
  ::_exit(2);
}

bool readFile(const std::string& path, std::string& text, std::string& error) {
  text.clear();
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    error = path + ": " + std::strerror(errno);
    return false;
  }
  char buffer[1 << 16];
  ssize_t n;
  while ((n = ::read(fd, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR))
    if (n > 0) text.append(buffer, static_cast<size_t>(n));
  if (n < 0) error = path + ": " + std::strerror(errno);
  ::close(fd);
  return n == 0;
}

bool writeFile(const std::string& path, std::string_view text, std::string& error) {
  // Devices, pipes and process substitutions cannot be replaced by a rename.
  struct stat info {};
  bool special = ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
  std::string target = path;
  if (!special) {
    std::error_code code;
    fs::path real = fs::canonical(path, code);  // write through a symbolic link
    if (!code) target = real.string();
  }
  std::string temporary = special ? target : target + ".tmp" + std::to_string(::getpid());
  int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd >= 0) {
    bool ok = writeAll(fd, text);
    int problem = errno;
    if (::close(fd) != 0 && ok) ok = false, problem = errno;
    if (special && ok) return true;
    if (ok && ::rename(temporary.c_str(), target.c_str()) == 0) return true;
    if (ok) problem = errno;
    if (!special) ::unlink(temporary.c_str());
    errno = problem;
  }
  error = path + ": cannot be written: " + std::strerror(errno);
  return false;
}

std::string absolutePath(const std::string& path, const std::string& base) {
  fs::path p(path);
  if (!p.is_absolute()) {
    std::error_code code;
    p = (base.empty() ? fs::current_path(code) : fs::path(absolutePath(base))) / p;
  }
  std::string out = p.lexically_normal().string();
  if (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

std::string parentPath(const std::string& path) { return fs::path(path).parent_path().string(); }

bool isBelow(const std::string& path, const std::string& directory) {
  if (directory == "/") return !path.empty() && path[0] == '/';
  return path == directory ||
         (path.size() > directory.size() && path.compare(0, directory.size(), directory) == 0 &&
          path[directory.size()] == '/');
}

std::string relativePath(const std::string& path, const std::string& root) {
  if (path == root) return ".";
  if (root.empty() || !isBelow(path, root)) return path;
  return path.substr(root == "/" ? 1 : root.size() + 1);
}

bool isDirectory(const std::string& path) {
  std::error_code code;
  return fs::is_directory(path, code);
}

bool isFile(const std::string& path) {
  std::error_code code;
  return fs::is_regular_file(path, code);
}

namespace {

// Edit distance where swapping two neighbours counts once.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (!i || !j) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string closest(std::string_view text, const std::vector<std::string>& candidates) {
  std::string best;
  size_t bestDistance = std::max<size_t>(2, text.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    size_t d = distance(text, candidate);
    if (d < bestDistance) bestDistance = d, best = candidate;
  }
  if (!best.empty() || text.size() < 4) return best;
  // "read-on-lock" and the like: a name that contains the text.
  for (const std::string& candidate : candidates)
    if (candidate.find(text) != std::string::npos) return candidate;
  return best;
}

std::string didYouMean(std::string_view text, const std::vector<std::string>& candidates) {
  std::string near = closest(text, candidates);
  return near.empty() ? "" : "; did you mean \"" + near + "\"?";
}

bool globMatch(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string executableDirectory() {
  std::error_code code;
  fs::path exe = fs::read_symlink("/proc/self/exe", code);
  return code ? "" : exe.parent_path().string();
}

}  // namespace locktidy
