// The facts of one translation unit: what its C or C++ says, with no opinion
// about locks. This header is the contract between extraction (the only part
// that sees Clang) and everything else.
//
// Invariants
//  * Plain values. Names and paths are interned in `TuFacts::strings`; id 0 is
//    the empty string. Nothing here depends on the order units are read in.
//  * Extraction never judges: no list of lock types, no list of library
//    effects. It says which places are read, written, bound and called.
//  * Whatever extraction cannot express becomes an event with an `Unknown`
//    root, or makes the function `opaque`; it is never left out in silence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace locktidy {

using Str = uint32_t;  // index into TuFacts::strings (or the linker's table)

inline constexpr int kFactsVersion = 2;
inline constexpr uint32_t kNone = 0xffffffffu;

// A place in a source file as written. For tokens that come out of a macro
// this is the *expansion* point in the file. Offsets are bytes from 0, lines
// and columns count from 1 (column in bytes).
struct Loc {
  uint32_t file = kNone;  // index into TuFacts::files
  uint32_t line = 0, col = 0, offset = 0;
  bool valid() const { return file != kNone; }
};

// Text written in a file: [begin.offset, begin.offset + length). `text` is the
// exact source text. Not valid (file == kNone) if any token of it comes out of
// a macro body or macro argument.
struct Anchor {
  Loc begin;
  uint32_t length = 0;
  Str text = 0;
  bool valid() const { return begin.valid(); }
};

// ---------------------------------------------------------------------------
// Places and values
//
// A *place* is memory, named by a root and selectors.
//   This         the object `this` points to
//   Param i      the parameter variable i itself
//   Local i      FunctionFacts::locals[i]: variables, temporaries, and slots
//                extraction invents (name empty)
//   Global       `entity` names a namespace-scope variable, static member or
//                function-local static
//   Result i     what call i of this function returned (a value, a reference
//                or an object)
//   Fresh i      the object made by new-expression i of this function
//   Ret          the slot holding this function's return value
//   Unknown      anything at all
// Selectors
//   Field f      member f (USR in `field`)
//   Elem         any element of a C array
//   Deref        what the pointer or reference held in the place refers to
//
// References are pointers that are always followed: for `T& r` the place
// written as `r` is `Local r . Deref`. The same holds for reference
// parameters, reference members, captures by reference, and calls that return
// a reference (`Result i . Deref`).
// ---------------------------------------------------------------------------
enum class Root : uint8_t { This, Param, Local, Global, Result, Fresh, Ret, Unknown };
enum class Sel : uint8_t { Field, Elem, Deref };

struct Step {
  Sel sel = Sel::Field;
  Str field = 0;  // USR of the field, for Field only
  // Elem only: names the index when two equal strings surely mean the same
  // element within one function (literals, constants, variables that the
  // function never writes after initialisation); 0: some element.
  Str index = 0;
  friend bool operator==(const Step&, const Step&) = default;
  friend auto operator<=>(const Step&, const Step&) = default;
};

struct Path {
  Root root = Root::Unknown;
  uint32_t index = 0;  // Param, Local, Result, Fresh
  Str entity = 0;      // Global: USR
  std::vector<Step> steps;
  friend bool operator==(const Path&, const Path&) = default;
  friend auto operator<=>(const Path&, const Path&) = default;
};

// A value as far as it matters where it points to.
//   None   no pointer in it (a number, a literal, nullptr)
//   Bind   a pointer or reference to the place `path`
//   Copy   a copy of what the place `path` holds (a pointer variable read, a
//          class object passed on)
enum class ValueKind : uint8_t { None, Bind, Copy };
struct Value {
  ValueKind kind = ValueKind::None;
  Path path;
};

// ---------------------------------------------------------------------------
// Events, in evaluation order. Exactly one of the kinds:
//
//  Read   `place` (a scalar, pointer, or trivially copied class object of type
//         `type`) is loaded. One lvalue-to-rvalue conversion, one Read. Reading
//         a local or parameter variable of scalar type is left out, unless it
//         is volatile, static, or reached through Deref.
//  Write  `place` of type `type` is stored to: assignment, ++, --, compound
//         assignment (which is a Read, then a Write with `rmw`), initialising a
//         field in a constructor, a trivial copy assignment of a class object
//         (type = that class). Initialising a local variable is left out.
//         `rmwUsed`: the value of the ++/+=/-- expression is used.
//  Bind   `place` (pointer, reference, or slot) now refers to `value.path`.
//  Copy   `place` now holds a copy of what `value.path` holds (pointer
//         assignment, trivial class copy, slot transfer).
//         `p = q;` is Write p + Copy p<-q; `p = &x;` is Write p + Bind p->x;
//         `T& r = x;` is Bind r->x only; `int* p = q;` is Copy p<-q only.
//  Call   see Call below; `call` indexes FunctionFacts::calls.
//  Return control leaves with a value: what it refers to was given by Bind or
//         Copy to the root Ret before (class objects: constructed in Ret).
//  EndScope  the variable Local `place.index` goes out of scope. Emitted for
//         variables of class type only; its destructor call, if not trivial,
//         is a Call of its own (self = Local) just before.
//  Opaque  something extraction does not express (asm, va_arg, co_await, ...);
//         `note` says what.
// ---------------------------------------------------------------------------
enum class EventKind : uint8_t { Read, Write, Bind, Copy, Call, Return, EndScope, Opaque };

struct Event {
  EventKind kind = EventKind::Opaque;
  Path place;
  Value value;
  Str type = 0;  // Read/Write: id into TuFacts types (by type name)
  uint32_t call = kNone;
  bool isVolatile = false;
  bool rmw = false;
  bool rmwUsed = false;
  Str op = 0;    // Write: "=", "++", "+=", "init", ...
  Str note = 0;  // Opaque: what it was
  Loc loc;       // of the expression
};

enum class CallKind : uint8_t {
  Direct,    // callee known: functions, non-virtual or devirtualised methods
  Virtual,   // callee = the method named statically; overriders may run
  Indirect,  // through a function or member pointer: `target` = its value,
             // `signature` = canonical function type
  Construct, // constructor `callee`, self = the object
  Destroy,   // destructor `callee`, self = the object (scope end, delete,
             // member and base destructors, temporaries)
};

struct Arg {
  Value value;
  Str type = 0;       // type of the argument expression as the parameter sees it
  bool constRef = false;   // parameter is `const T&`, `const T*` or by value
  bool byValue = false;    // parameter is neither reference nor pointer
  bool literalTrue = false, literalFalse = false;  // true/false or 1/0
  Str constant = 0;   // constant value ("1"), or name of an enumerator ("kShared")
  Anchor text;        // as written
};

struct Call {
  CallKind kind = CallKind::Direct;
  Str callee = 0;     // USR; 0 for Indirect
  // Qualified name without template arguments and inline namespaces:
  // "std::map::find", "std::unique_lock::unique_lock", "std::lock_guard::~lock_guard",
  // "pthread_mutex_lock", "operator new", "Cache::get".
  Str name = 0;
  Str signature = 0;  // canonical function type as a string
  bool hasSelf = false;
  Path self;          // the object a method, constructor or destructor runs on
  Str selfType = 0;   // class type of the object, with template arguments
  bool constMethod = false;
  std::vector<Arg> args;      // by position; default arguments included
  Value target;               // Indirect
  Str resultType = 0;
  bool returnsRef = false;    // result is a reference: its place is Result.Deref
  bool resultUnused = false;  // discarded-value expression
  bool implicit = false;      // scope-end destructors, conversions, range-for calls
  uint32_t local = kNone;     // Construct/Destroy of a declared variable: its index
  Loc loc;            // start of the statement's innermost full call expression
  Loc nameLoc;        // of the callee's name token; for a declared variable's
                      // constructor, of the variable's name
  Anchor calleeName;  // the name token(s) after . or -> or ::, as written
  Anchor whole;       // the whole call expression (for declared variables see LocalInfo)
  Str macro = 0;      // name of the outermost macro this came out of, 0: none
};

// Terminator condition: block's first successor is taken if the value of call
// `call` (converted to bool; `negated` by !) is true. `equalsZero`: taken if
// the result compares equal to 0.
struct Branch {
  uint32_t call = kNone;
  bool negated = false;
};

// The block decides about another round of a loop; Constant: a variable is
// compared with a constant there, or an array is gone through.
enum class LoopKind : uint8_t { None, Constant, Open };

struct Block {
  std::vector<Event> events;
  std::vector<uint32_t> succs;  // kNone entries are left out; order kept
  Branch branch;
  LoopKind loop = LoopKind::None;
  bool handler = false;  // first block of a catch handler: any event of the
                         // try block may have come before
};

struct LocalInfo {
  Str name = 0;   // empty: a slot or temporary that extraction made
  Str type = 0;   // canonical type name, template arguments included
  bool isRef = false, isPtr = false, isClass = false;
  bool isParamCopy = false;
  uint32_t writes = 0;  // writes after initialisation
  Loc loc;        // of the name
  // For a declared variable with written type, e.g.
  //   std::lock_guard<std::mutex> g(mu_);
  Anchor typeText;   // `std::lock_guard<std::mutex>` (without cv-qualifiers)
  // Declared with auto: the type that its initialiser constructs, as written
  // (`auto g = std::unique_lock<std::mutex>(mu_);`).
  Anchor initTypeText;
  Anchor declText;   // from the type to the end of the initialiser: `...g(mu_)`
  bool isAuto = false;       // declared with auto
  bool soleDeclarator = true;
  Str macro = 0;             // declared by this macro's expansion
  Anchor macroName;          // the macro's name token at the expansion point
  Anchor macroCall;          // the whole expansion as written: `WRITE_SCOPE(mutex_)`
};

struct ParamInfo {
  Str name = 0, type = 0;
  bool isRef = false, isPtr = false, pointeeConst = false, isClass = false;
  Anchor typeText;
  // The same in the one other declaration of the function, if there is one;
  // `moreDeclared`: there are still others.
  Anchor otherTypeText;
  bool moreDeclared = false;
};

// Clang thread-safety attributes, by canonical spelling: acquire_capability,
// acquire_shared_capability, release_capability, release_shared_capability,
// release_generic_capability, try_acquire_capability, requires_capability,
// requires_shared_capability, locks_excluded, assert_capability, guarded_by,
// pt_guarded_by, capability, scoped_lockable, lock_returned, no_thread_safety_analysis;
// also `annotate` strings as "annotate:TEXT", and "noreturn", "pure", "const".
struct AttrFact {
  Str kind = 0;
  std::vector<Path> args;  // expressions, in terms of the function's This and Param
  Str successValue = 0;    // try_acquire_capability: "true"/"false"
  // The name as written: `requires_capability`, or that of the macro it comes
  // out of (`REQUIRES`). Invalid if that is not in plain sight.
  Anchor written;
};

struct FunctionFacts {
  Str usr = 0;
  Str name = 0;      // as Call::name
  Str display = 0;   // for people: "Cache::get(int) const", template arguments kept
  Str owner = 0;     // USR of the class it is a member of (or the closure class)
  Str ownerType = 0; // type name of that class, with template arguments
  Str signature = 0; // canonical function type
  bool hasBody = false;
  bool opaque = false;       // body exists but could not be expressed
  Str opaqueReason = 0;
  bool internal = false;     // static or anonymous namespace
  bool isStatic = false, isConst = false, isCtor = false, isDtor = false;
  bool isVirtual = false, isPure = false, isFinal = false, isLambda = false;
  bool isImplicit = false, isDefaulted = false, isTemplateInstance = false;
  bool isMain = false, isNoexcept = false, isCoroutine = false, isVariadic = false;
  bool inSystemHeader = false;
  uint32_t lambdaIn = kNone; // unused by value; see `parent`
  Str parent = 0;            // lambdas: USR of the function whose body contains it
  std::vector<Str> overrides;
  std::vector<ParamInfo> params;
  bool returnsRef = false, returnsPtr = false, returnsClass = false;
  Str returnType = 0;
  std::vector<AttrFact> attrs;
  std::vector<LocalInfo> locals;
  std::vector<Call> calls;
  std::vector<Block> blocks;  // blocks[entry] first executed
  uint32_t entry = 0;
  Loc loc;                    // of the name
  Loc bodyBegin, bodyEnd;
};

struct FieldFact {
  Str usr = 0, name = 0, type = 0;
  bool isMutable = false, isRef = false, isPtr = false, isConst = false, isStatic = false;
  bool isVolatile = false, isBitField = false;
  std::vector<AttrFact> attrs;  // guarded_by args are Paths rooted at This
  Loc loc;
  Anchor typeText;
};

struct ClassFact {
  Str usr = 0;
  Str name = 0;   // qualified, no template arguments, no inline namespaces
  Str type = 0;   // type name with template arguments: what `type` ids of places say
  std::vector<Str> bases;        // type names
  std::vector<FieldFact> fields; // non-static and static data members
  std::vector<Str> methods;      // USRs of declared methods, ctors, dtor
  std::vector<Str> friends;      // USRs of friend functions and classes
  Str copyCtor = 0, moveCtor = 0, copyAssign = 0, moveAssign = 0, dtor = 0;  // USR if not trivial
  bool triviallyCopyable = false;
  bool isLambda = false, isUnion = false, isFinal = false, isAbstract = false;
  bool isTemplateInstance = false, inSystemHeader = false, inHeader = false;
  bool internal = false;  // anonymous namespace or local class
  std::vector<AttrFact> attrs;
  std::vector<Str> captures;  // lambdas: field USRs in order are `fields`
  Loc loc;
};

// What a type name means. Every type name used in events, locals, params and
// fields has one entry.
enum class TypeKind : uint8_t { Other, Bool, Int, Float, Enum, Pointer, Ref, Array, Class, Function, MemberPointer };
struct TypeFact {
  Str name = 0;     // canonical, without cv at top level: "std::map<int, Foo>"
                    // (inline namespaces left out)
  TypeKind kind = TypeKind::Other;
  bool isConst = false;    // top-level const as written at this use: not part of identity
  Str pointee = 0;  // Pointer, Ref, Array element: type name
  bool pointeeConst = false;
  Str cls = 0;      // Class: USR of the class
  Str clsName = 0;  // Class: name without template arguments: "std::map"
  std::vector<Str> args;   // Class: type names of type template arguments
  uint32_t size = 0;       // bytes, 0 unknown
};

struct GlobalFact {
  Str usr = 0, name = 0, type = 0;
  bool isConst = false, isThreadLocal = false, isStaticLocal = false, internal = false;
  bool isVolatile = false;
  Str function = 0;  // static locals: USR of the function
  std::vector<AttrFact> attrs;
  Loc loc;
  Anchor typeText;
  std::vector<Anchor> otherTypeTexts;  // of its other declarations
};

// `using Guard = std::lock_guard<std::mutex>;` outside functions.
struct AliasFact {
  Str usr = 0, name = 0;  // qualified
  Str type = 0;           // what it stands for: type name
  Anchor typeText;        // as written
  Loc loc;                // of the name
};

// A macro that initialises a variable or member: `pthread_mutex_t mu =
// PTHREAD_MUTEX_INITIALIZER;`, also inside a list.
struct InitMacro {
  Str entity = 0;         // USR of the variable or member
  Anchor name;            // the macro's name
};

// Functions whose address is taken (not as the callee of a call).
struct AddressTaken {
  Str function = 0, signature = 0;
  Loc loc;
};

// Source text that was not analysed: inactive #if branches and template
// patterns that nobody instantiates. `names` are the identifiers in it.
struct InactiveText {
  Loc begin;
  uint32_t endLine = 0;
  bool isTemplate = false;
  std::vector<Str> names;  // sorted, unique
};

// Macros with a body, where defined and what identifiers the body mentions;
// only macros defined in the program's own files.
struct MacroFact {
  Str name = 0, body = 0;  // body as written, one line
  bool functionLike = false;
  std::vector<Str> params;
  Loc loc;
};

struct CommentFact {  // only comments that contain "locktidy" or "NOLINT"
  Loc loc;
  Str text = 0;
};

struct FileFact {
  Str path = 0;      // relative to the unit's root where below it, else absolute
  Str sha256 = 0;    // of the bytes read
  bool system = false;
};

enum class UnitStatus : uint8_t { Ok, Degraded, Failed };

struct TuFacts {
  int version = kFactsVersion;
  std::vector<std::string> strings{std::string()};
  Str mainFile = 0;
  Str language = 0;   // "c++17", "c11", ...
  bool threadSafetyWarnings = false;  // compiled with -Wthread-safety
  UnitStatus status = UnitStatus::Ok; // Degraded: parsed with errors
  Str failure = 0;    // Failed: why; Degraded: first error "file:line: text"
  uint32_t errors = 0;
  std::vector<FileFact> files;
  std::vector<TypeFact> types;       // sorted by name text
  std::vector<ClassFact> classes;    // sorted by usr text
  std::vector<GlobalFact> globals;   // sorted by usr text
  std::vector<FunctionFacts> functions;  // sorted by usr text; also declared-only ones
  std::vector<AliasFact> aliases;    // sorted by usr text
  std::vector<InitMacro> initMacros; // in source order
  std::vector<AddressTaken> addressTaken;
  std::vector<InactiveText> inactive;
  std::vector<MacroFact> macros;
  std::vector<CommentFact> comments;
};

}  // namespace locktidy
