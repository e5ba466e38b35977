// One program out of many units' facts: interned once, definitions merged,
// with the indexes that solving asks for. Immutable after link().
//
// Identity is the USR. Entities with internal linkage get the file of their
// declaration appended, so that two files' `static` namesakes stay apart while
// one header's static function, seen from many units, is one.
//
// Several bodies of one function (configurations, macro variants) are kept
// side by side; whoever asks gets them all and joins.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checker/model/Facts.h"
#include "checker/model/Interner.h"
#include "checker/model/Models.h"

namespace locktidy {

using FuncId = uint32_t;

struct CallTarget {
  std::vector<FuncId> bodies;   // functions with a body that may run
  bool unknown = false;         // something without a visible body may run too
  bool assumed = false;         // matched by type only: an assumption
  std::vector<Str> noBody;      // USRs of declared targets without a body
  // Either this one or the other may run.
  void join(const CallTarget& o) {
    bodies.insert(bodies.end(), o.bodies.begin(), o.bodies.end());
    unknown |= o.unknown;
  }
};

struct Program {
  Interner strings;
  std::vector<FileFact> files;            // Loc::file of everything below
  std::vector<FunctionFacts> functions;   // sorted by USR text, then content
  std::vector<ClassFact> classes;
  std::vector<GlobalFact> globals;
  std::vector<InactiveText> inactive;
  std::vector<MacroFact> macros;
  std::vector<CommentFact> comments;
  std::vector<AddressTaken> addressTaken;
  std::vector<AliasFact> aliases;
  std::vector<InitMacro> initMacros;
  std::vector<uint32_t> unitsSeeing;      // functions[i]: in how many units

  struct Unit {
    Str mainFile = 0, language = 0, failure = 0;
    UnitStatus status = UnitStatus::Ok;
    bool threadSafetyWarnings = false;
    std::vector<uint32_t> files;
  };
  std::vector<Unit> units;

  // Indexes.
  std::unordered_map<Str, std::vector<FuncId>> byUsr;        // with and without body
  std::unordered_map<Str, uint32_t> classByUsr, classByType; // into classes
  std::unordered_map<Str, TypeFact> types;                   // by name
  struct FieldRef { uint32_t cls, field; };
  std::unordered_map<Str, FieldRef> fields;                  // by USR
  std::unordered_map<Str, uint32_t> globalByUsr;
  std::unordered_map<Str, std::vector<Str>> overriders;      // USR -> direct overriders
  std::unordered_map<Str, std::vector<Str>> derived;         // class type -> direct derived types
  std::unordered_map<Str, std::vector<Str>> takenBySignature;
  // Callable wrappers (std::function<void()>): what was ever stored in one of
  // that type. 0 stands for something that could not be told.
  std::unordered_map<Str, std::vector<Str>> wrapped;
  // Counted pointers (std::shared_ptr<File>): call operators of the deleters
  // that one of that type was ever made with. 0: one that could not be told.
  std::unordered_map<Str, std::vector<Str>> deleters;

  const std::string& text(Str id) const { return strings.text(id); }
  // What people call the function: qualified, without parameters and template
  // arguments, which can be pages long; the place beside it tells overloads apart.
  const std::string& title(FuncId f) const {
    const FunctionFacts& fn = functions[f];
    return text(fn.isLambda ? fn.display : fn.name);
  }
  const FieldFact* field(Str usr) const {
    auto it = fields.find(usr);
    return it == fields.end() ? nullptr : &classes[it->second.cls].fields[it->second.field];
  }
  const ClassFact* fieldOwner(Str usr) const {
    auto it = fields.find(usr);
    return it == fields.end() ? nullptr : &classes[it->second.cls];
  }
  const TypeFact* type(Str name) const {
    auto it = types.find(name);
    return it == types.end() ? nullptr : &it->second;
  }
  const ClassFact* classOfType(Str name) const {
    auto it = classByType.find(name);
    return it == classByType.end() ? nullptr : &classes[it->second];
  }
  const GlobalFact* global(Str usr) const {
    auto it = globalByUsr.find(usr);
    return it == globalByUsr.end() ? nullptr : &globals[it->second];
  }
  // Class name without arguments of a type ("std::map"), following references
  // and const; empty if it is no class.
  std::string_view className(Str typeName) const;
  // The call operator of a class type (closure or functor); 0 if none is known.
  Str callOperator(Str typeName) const;

  CallTarget targetsOf(Str usr) const;                       // direct
  CallTarget overridersOf(Str usr, bool openWorld) const;    // virtual
  CallTarget bySignature(Str signature) const;               // indirect
  // Any of the functions (0: one that could not be told), by their type only.
  CallTarget anyOf(const std::vector<Str>& usrs) const;
  // Whatever the kind of call. Calls of callable wrappers: `wrapped`.
  CallTarget targetsOfCall(const Call& call, bool openWorld) const;
};

// Links the units in the order given; the result does not depend on it.
Program link(std::vector<TuFacts> units, const Models& models);

}  // namespace locktidy
