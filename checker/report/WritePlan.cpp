// Puts planned contents on disk, all or nothing.
//
//  1. every new content is written to a temporary file beside its target and
//     flushed: a full disk or a missing permission shows before anything changed;
//  2. every old file gets a second name, so that going back is a rename too;
//  3. the temporary files are renamed over the targets. If one fails, those
//     already replaced get their old file back.
// A crash between two renames of step 3 leaves whole files, old or new.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "checker/report/Report.h"

namespace locktidy {
namespace {

namespace fs = std::filesystem;

// A file larger than the process may write raises SIGXFSZ, which would kill us
// in mid-write; ignored, the write fails with EFBIG instead.
class IgnoreFileSizeSignal {
 public:
  IgnoreFileSizeSignal() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGXFSZ, &ignore, &old_);
  }
  ~IgnoreFileSizeSignal() { sigaction(SIGXFSZ, &old_, nullptr); }
  IgnoreFileSizeSignal(const IgnoreFileSizeSignal&) = delete;
  IgnoreFileSizeSignal& operator=(const IgnoreFileSizeSignal&) = delete;

 private:
  struct sigaction old_ = {};
};

struct Target {
  const FileEdit* edit = nullptr;
  std::string path;       // the real file
  std::string temporary;  // new content; empty once renamed
  std::string backup;     // old file under a second name
  struct stat status = {};
  bool replaced = false;
};

std::string because(int error) { return std::strerror(error); }

bool writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    if (n == 0) {
      errno = EIO;
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// A new file beside `target` with its owner and mode. On failure there is none,
// and errno says why.
std::string writeBeside(const Target& target, std::string_view bytes, const char* tag) {
  const fs::path path(target.path);
  std::string name = (path.parent_path() / ("." + path.filename().string() + "." + tag + "-XXXXXX")).string();
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) return {};
  bool good = writeAll(fd, bytes);
  // Changing the owner clears set-id bits, so the mode comes after it. Whoever may
  // not give the file away keeps it; that is no reason to refuse the edit.
  if (good && (target.status.st_uid != ::geteuid() || target.status.st_gid != ::getegid()))
    good = ::fchown(fd, target.status.st_uid, target.status.st_gid) == 0 || errno == EPERM;
  good = good && ::fchmod(fd, target.status.st_mode & 07777) == 0;
  good = good && ::fsync(fd) == 0;
  int error = errno;
  if (::close(fd) != 0 && good) {
    good = false;
    error = errno;
  }
  if (good) return name;
  ::unlink(name.c_str());
  errno = error;
  return {};
}

// A second name for the old file; a copy where the file system has no links.
std::string keepOld(const Target& target) {
  const fs::path path(target.path);
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::string name =
        (path.parent_path() / ("." + path.filename().string() + ".locktidy-old-" +
                               std::to_string(::getpid()) + "-" + std::to_string(attempt)))
            .string();
    if (::link(target.path.c_str(), name.c_str()) == 0) return name;
    if (errno != EEXIST) break;
  }
  return writeBeside(target, target.edit->before, "locktidy-old");
}

// Finds the real file and checks that it still is what was planned on.
bool resolve(Target& target, const std::string& root, std::string& error) {
  const std::string& name = target.edit->file;
  std::error_code code;
  const fs::path real = fs::canonical(fs::path(root.empty() ? "." : root) / name, code);
  if (code) {
    error = name + ": " + code.message();
    return false;
  }
  target.path = real.string();
  if (::stat(target.path.c_str(), &target.status) != 0) {
    error = name + ": " + because(errno);
    return false;
  }
  if (!S_ISREG(target.status.st_mode)) {
    error = name + ": not a regular file";
    return false;
  }
  // Rename asks only the directory; a file that is marked read-only stays.
  if ((target.status.st_mode & 0222) == 0 ||
      ::faccessat(AT_FDCWD, target.path.c_str(), W_OK, AT_EACCESS) != 0) {
    error = name + ": file is read-only";
    return false;
  }
  std::ifstream in(target.path, std::ios::binary);
  const std::string now(std::istreambuf_iterator<char>(in), {});
  if (!in || now != target.edit->before) {
    error = name + ": changed since the fix was planned";
    return false;
  }
  return true;
}

void syncDirectories(const std::vector<Target>& targets) {
  std::set<std::string> directories;
  for (const Target& target : targets) directories.insert(fs::path(target.path).parent_path().string());
  for (const std::string& directory : directories) {
    const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) continue;
    ::fsync(fd);  // not every file system can; the contents are safe already
    ::close(fd);
  }
}

void removeLeftovers(std::vector<Target>& targets) {
  for (Target& target : targets) {
    if (!target.temporary.empty()) ::unlink(target.temporary.c_str());
    if (!target.backup.empty()) ::unlink(target.backup.c_str());
  }
}

bool replaceAll(std::vector<Target>& targets, std::string& error) {
  for (Target& target : targets) {
    target.temporary = writeBeside(target, target.edit->after, "locktidy-new");
    if (target.temporary.empty()) {
      error = target.edit->file + ": cannot write: " + because(errno);
      return false;
    }
  }
  for (Target& target : targets) {
    target.backup = keepOld(target);
    if (target.backup.empty()) {
      error = target.edit->file + ": cannot keep the old file: " + because(errno);
      return false;
    }
  }
  for (Target& target : targets) {
    if (::rename(target.temporary.c_str(), target.path.c_str()) != 0) {
      error = target.edit->file + ": cannot replace: " + because(errno);
      return false;
    }
    target.temporary.clear();
    target.replaced = true;
  }
  return true;
}

}  // namespace

bool writePlan(const EditPlan& plan, const std::string& root, std::string& error) {
  const IgnoreFileSizeSignal ignore;
  std::vector<Target> targets;
  std::set<std::string> paths;
  for (const FileEdit& edit : plan.files) {
    Target target;
    target.edit = &edit;
    if (!resolve(target, root, error)) return false;
    if (!paths.insert(target.path).second) {
      error = edit.file + ": planned twice";
      return false;
    }
    targets.push_back(std::move(target));
  }

  const bool good = replaceAll(targets, error);
  if (!good) {
    for (Target& target : targets) {
      if (!target.replaced) continue;
      if (::rename(target.backup.c_str(), target.path.c_str()) != 0)
        error += "; " + target.edit->file + " could not be put back (" + because(errno) +
                 "), its old text is in " + target.backup;
      target.backup.clear();  // renamed, or kept for the user
    }
  }
  removeLeftovers(targets);
  syncDirectories(targets);
  return good;
}

}  // namespace locktidy
