// Making one scalar of the program atomic: every place that names it, whether
// it can be done, and the edits.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checker/report/Report.h"
#include "checker/solve/Solution.h"
#include "rules/SourceText.h"

namespace locktidy {

enum class ScalarUseKind : uint8_t {
  Load,
  Store,   // "=", also in initialisers
  Step,    // ++, +=, ...: `op`
  Bound,   // a pointer or reference to it is made
};
struct ScalarUse {
  ScalarUseKind kind = ScalarUseKind::Load;
  FuncId func = 0;
  Str op = 0;
  bool used = false;   // the value of a Step is used
  bool init = false;   // initialises it
  uint32_t call = kNone;  // Bound: as an argument of this call
  Loc loc;
};

// `entity`: USR of a member or global.
struct AtomicEdits {
  std::string why;     // why it cannot be atomic, or not by an edit; empty: it can
  bool impossible = false;  // no atomic could hold it
  std::vector<Edit> edits;
  std::vector<IncludeEdit> includes;
  std::string type;    // "std::atomic<int>"
};

class AtomicScalars {
 public:
  AtomicScalars(const Solution& s, const SourceText* text) : s_(s), text_(text) {}

  // The scalar that a place is: its last step is a member, or it is a global.
  Str entityOf(PathId place) const;
  const std::vector<ScalarUse>& uses(Str entity) const;
  // Is there an access of its own at the place (not the read within a step)?
  bool isAccess(Str entity, FuncId func, const Loc& loc) const;
  const AtomicEdits& edits(Str entity) const;
  std::string name(Str entity) const;

 private:
  void findUses() const;
  AtomicEdits build(Str entity) const;
  std::string copied(Str entity) const;

  const Solution& s_;
  const SourceText* text_;
  mutable bool found_ = false;
  mutable std::map<Str, std::vector<ScalarUse>> uses_;
  mutable std::map<Str, AtomicEdits> edits_;
};

// Does std::atomic of a type of this kind have the operator? ("=" always.)
bool atomicHas(TypeKind kind, const std::string& op);

// Adds those of `more` that are not there yet.
void addEdits(std::vector<Edit>& edits, const std::vector<Edit>& more);

}  // namespace locktidy
