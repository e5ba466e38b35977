// What a project may choose about findings and fixes (`.locktidy.json`), for
// locks that one file declares.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace locktidy {

struct LockSettings {
  // fix.shared-mutex: what takes the place of an exclusive-only lock in C++.
  // Empty: what the lock's model says.
  std::string sharedMutex, sharedMutexHeader;
  bool includeT1 = false;                 // ranking.include-t1
  std::vector<std::string> neverSuggest;  // locks.never-suggest: globs over names and types
};

// By the name of the file, as Place::file is spelled. Empty: defaults everywhere.
using Settings = std::function<LockSettings(const std::string& file)>;

}  // namespace locktidy
