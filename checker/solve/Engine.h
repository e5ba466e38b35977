// The tables that solving shares: paths, chains, summaries, and what is a lock.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "checker/solve/FunctionSolver.h"

namespace locktidy {

class Engine {
 public:
  Engine(const Program& program, const Models& models, const SolveOptions& options)
      : program(program), models(models), options(options) {
    chains.emplace_back();
    summaries.resize(program.functions.size());
  }

  const Program& program;
  const Models& models;
  SolveOptions options;
  PathTable paths;
  std::vector<ChainLink> chains;
  std::vector<Summary> summaries;

  uint32_t chainTo(FuncId caller, const Loc& at, uint32_t next) {
    chains.push_back({caller, at, next});
    return static_cast<uint32_t>(chains.size() - 1);
  }
  const std::string& text(Str s) const { return program.text(s); }

  // Members of library classes (pair::second) are no steps: what a map's
  // iterator gives as `->second` and what `operator[]` gives are one place.
  PathId fieldOf(PathId base, Str field) {
    auto it = libraryFields_.find(field);
    if (it == libraryFields_.end()) {
      const ClassFact* owner = program.fieldOwner(field);
      bool library = owner ? owner->inSystemHeader : true;
      it = libraryFields_.emplace(field, library).first;
    }
    return it->second ? base : paths.field(base, field);
  }

  // ---- What is a lock (Locks.cpp) -----------------------------------------
  // A lock class: a model's mutex, a class with an exclusive lock and unlock
  // method without arguments, or one with the capability attribute.
  bool isLockClass(Str type);
  bool isGuardClass(Str type);        // user class: scoped_lockable or by its constructors
  // The operation a method of a lock class does; None if it does none.
  LockOp methodOp(const Call& call);
  bool hasSharedMode(Str type);
  // The type of the place (a type name), 0 if not known. `func` gives meaning
  // to This, Param and Local.
  Str typeOf(PathId path, FuncId func);
  // Climbs from a lock that is part of another lock to the outermost one.
  // Sets `view` if it climbed.
  PathId outermostLock(PathId path, FuncId func, bool* view);
  // The name a lock goes by in all functions: USR of its field or global;
  // 0 for locals and places without one.
  Str lockClass(PathId path) const;
  // A field that counts references (an atomic whose zero deletes its owner).
  bool isRefCount(Str field) const { return refCounts.count(field) != 0; }
  std::unordered_set<Str> refCounts;
  void findRefCounts();

  // USRs of destructors that destroying a value of this type may run.
  struct Destruction {
    std::vector<Str> dtors;
    bool unknown = false;
  };
  std::string describe(PathId path) const;   // "this->map_[].visits"
  std::string describeChain(PathId path) const;

 private:
  std::unordered_map<Str, bool> lockClasses_, guardClasses_, libraryFields_;
};

}  // namespace locktidy
