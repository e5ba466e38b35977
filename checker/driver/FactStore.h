// Facts of translation units that were extracted before, on disk.
//
// An entry's name is the digest of everything that decides what extraction
// reads first: its own source, Clang's version, the compile command, the
// variables that change include paths. The entry lists each file the unit read
// with the digest of its content; it counts only while all of them are the
// same. Models and rules are not part of it: extraction does not use them.
//
// Invariants
//  * An entry appears whole or not at all (temporary file, rename): runs may
//    share a store, and a killed one damages nothing.
//  * An entry that cannot be read or is not whole is no entry.
//  * Only units that parsed without errors are kept: a header that was missing
//    is in no list of files.
//
// Limit: a header that newly appears earlier on the include path is not
// noticed; neither is what `__has_include` did not find then.
#pragma once

#include <map>
#include <string>

#include "checker/extract/Extract.h"

namespace locktidy {

class FactStore {
 public:
  FactStore() = default;  // holds nothing, keeps nothing
  // False with `error` if the directory can be neither used nor made.
  bool open(const std::string& directory, std::string& error);

  // What `writeFacts` returned for this job, if all it read is unchanged.
  bool get(const ExtractJob& job, std::string& bytes);
  // `facts` are those written as `bytes`. What cannot be stored is not.
  void put(const ExtractJob& job, const TuFacts& facts, const std::string& bytes) const;

 private:
  std::string entryPath(const ExtractJob& job) const;
  const std::string& digestOf(const std::string& path);

  std::string directory_;
  std::map<std::string, std::string> digests_;  // by absolute path; "": unreadable
};

}  // namespace locktidy
