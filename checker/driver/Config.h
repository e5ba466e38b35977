// `.locktidy.json` (docs: CLI manual, "Configuration"): found upwards from the
// file that declares a lock; the nearest file wins key by key, up to one that
// says `"root": true` or to the root of the repository.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "rules/Settings.h"

namespace locktidy {

class Config {
 public:
  // Settings for locks that `file` (absolute) declares. After a file that cannot
  // be used, the first such, `error` names it, what is wrong and the way out.
  LockSettings forFile(const std::string& file);
  const std::string& error() const { return error_; }

 private:
  struct Level {
    bool root = false;
    std::optional<std::string> sharedMutex, sharedMutexHeader;
    std::optional<bool> includeT1;
    std::optional<std::vector<std::string>> neverSuggest;
  };
  const Level& level(const std::string& directory);
  bool read(const std::string& path, Level& out);

  std::map<std::string, Level> levels_;  // by directory
  std::string error_;
};

}  // namespace locktidy
