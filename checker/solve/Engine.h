// The tables that solving shares: paths, chains, summaries, and what is a lock.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "checker/solve/FunctionSolver.h"

namespace locktidy {

// `std::mutex::lock` -> `lock`
inline std::string_view lastName(std::string_view name) {
  size_t at = name.rfind("::");
  return at == std::string_view::npos ? name : name.substr(at + 2);
}

inline constexpr size_t kMaxEffects = 500;  // of one summary

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
  size_t maxEffects = kMaxEffects;  // what a summary made now may hold

  uint32_t chainTo(FuncId caller, const Loc& at, uint32_t next) {
    auto [it, fresh] = chainIds_.try_emplace({caller, at.file, at.offset, next}, static_cast<uint32_t>(chains.size()));
    if (fresh) chains.push_back({caller, at, next});
    return it->second;
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
  // An array or container, not a smart pointer or optional.
  bool holdsMany(Str type) const;
  // A value of this type leads to no other object that it does not own.
  bool pointsNowhere(Str type) const;
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

  // ---- The program's code that libraries run (UserCode.cpp) -----------------
  // What comparing, adding or hashing values of this type runs.
  struct Comparisons {
    std::vector<FuncId> members;   // operator==, operator<, operator+, ... of the type
    std::vector<FuncId> free;      // the same outside it
    std::vector<FuncId> functors;  // the type's own call operator
    std::vector<FuncId> hashes;    // std::hash<type>::operator()
    std::vector<Str> inner;        // a library type: what is compared in it
  };
  const Comparisons& comparisons(Str type);
  // Everything that handling a value of this type may run: a superset, for the
  // order of solving.
  const std::vector<FuncId>& hiddenCallees(Str type);
  // Has a member that is, holds or points to a lock.
  bool ownsLock(Str type);
  // Do callers know better than `func` which object `path` is in? So it is for
  // what a parameter refers to, and for the members of classes without a lock
  // of their own, unless `func` itself holds a lock of that object.
  bool namedByCaller(FuncId func, PathId path, const std::vector<HeldLock>& held);

  // Functions of the cycle that is being solved. Outside it, a callee without
  // a summary has been overlooked and may do anything.
  std::unordered_set<FuncId> solving;
  bool solved(FuncId f) const { return summaries[f].solved || solving.count(f) != 0; }

  std::string describe(PathId path) const;   // "this->map_[].visits"

 private:
  struct ChainKey {
    FuncId caller;
    uint32_t file, offset, next;
    bool operator==(const ChainKey&) const = default;
  };
  struct ChainHash {
    size_t operator()(const ChainKey& k) const {
      uint64_t h = (uint64_t{k.caller} << 32 | k.next) * 0x9e3779b97f4a7c15ull;
      return h ^ h >> 29 ^ (uint64_t{k.file} << 32 | k.offset) * 0xc2b2ae3d27d4eb4full;
    }
  };
  std::unordered_map<ChainKey, uint32_t, ChainHash> chainIds_;
  void addBodies(Str usr, std::vector<FuncId>& out) const;
  std::unordered_map<Str, Comparisons> comparisons_;
  std::unordered_map<Str, std::vector<FuncId>> hidden_, freeOperators_;
  std::unordered_map<Str, bool> ownsLock_;
  bool freeOperatorsKnown_ = false;
  std::unordered_map<Str, bool> lockClasses_, guardClasses_, libraryFields_;
};

}  // namespace locktidy
