// What locktidy knows about libraries: locks, guards, and the effects of calls
// whose bodies it does not read. Loaded from `rules/models/*.json` and from the
// user's files; `rules/models/schema.json` documents every key.
//
// Names are qualified, without template arguments and inline namespaces, as in
// Call::name: "std::map::find". Where two entries speak of one name, the later
// file wins (the user's files come last).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace locktidy {

enum class Mode : uint8_t { Shared, Upgrade, Exclusive };

// A place in a model: a base and selectors, written
//   self        the object the method runs on
//   argN        the object behind argument N: what a reference refers to, the
//               value of a by-value argument (a pointer itself, not its pointee)
//   args        every argument
//   argN...     every argument from N on (base Args, arg = N)
//   ret         what the call returns (bind: what it refers to)
//   global      state of the library itself that no argument names
// followed by any of
//   []          an element owned by the object (container element, optional's
//               value, what a unique_ptr owns)
//   *           what the pointer, iterator or shared pointer refers to
//   &           what a reference kept there was bound to, if anybody saw it bound
//               (std::tie); nothing for what is no reference
//   .first .second and other member names are not used: [] covers them
struct ModelPlace {
  enum class Base : uint8_t { Self, Arg, Args, Ret, Global } base = Base::Self;
  int arg = 0;
  std::string selectors;  // '[' for [], '*' for *, '&' for &
};

// One effect, written in JSON as a string:
//   "read PLACE"            loads from it, and whatever it owns ("read self")
//   "peek PLACE"            loads its own bookkeeping (size, structure, the pointer
//                           inside a unique_ptr), not what it owns: Read, shallow
//   "write PLACE"           stores to it
//   "atomic-read PLACE" "atomic-write PLACE" "atomic-rmw PLACE"
//   "bind PLACE -> PLACE"   the first now refers to the second
//   "copy PLACE <- PLACE"   the first now holds a copy of the second's value
//   "fresh PLACE"           the first refers to a new object nobody else has
//   "invoke PLACE (PLACE, ...)"  calls the callable now, with references to these
//   "later PLACE"           the callable runs later, on another thread
//   "stores PLACE"          the callable or pointer is kept and may be used later
//   "destroy PLACE"         runs the destructor of what is there
//   "construct PLACE (PLACE, ...)"  runs a constructor of what is there with these
//   "copies PLACE"          runs its copy or move constructor or assignment
//   "moves PLACE"           writes it where the parameter is an rvalue reference (what
//                           std::move gives is left empty); else nothing
//   "steals PLACE"          hands it to somebody who may move from it: written unless const
//   "compare PLACE"         runs its comparison, arithmetic, hash or equality, or the
//                           ones that the container's type arguments name
//   "external"              touches files, sockets, devices, processes
//   "wait"                  waits for another thread (join, future, condition)
//   "blocks"                takes long and touches nothing (sleep)
//   "sync"                  internally synchronised; no ordering is promised
//   "log"                   logger or stdio that locks itself
//   "log-to PLACE"          the same on one of the process's own streams (stdout,
//                           stderr); "external" on any other file
//   "alloc"                 allocates or frees (cost only)
//   "scan PLACE"            takes time in proportion to what is there, unless it is
//                           moved from (cost only)
//   "free PLACE"            gives the memory of what is there back
//   "hostile"               not thread-safe: touches hidden static state
//   "noreturn"
//   "signal-handler PLACE"  the callable becomes a signal handler
//   "atfork PLACE"          the callable becomes a fork handler
// An effect on an argument that the call does not have is no effect.
enum class EffectKind : uint8_t {
  Read, Write, AtomicRead, AtomicWrite, AtomicRmw, Bind, Copy, Fresh, Invoke, Later, Stores,
  Destroy, Copies, Compare, External, Wait, Blocks, Sync, Log, Alloc, Hostile, NoReturn,
  SignalHandler, AtFork, Construct, Moves, Free, Steals, LogTo, Scan,
};
struct ModelEffect {
  EffectKind kind = EffectKind::Sync;
  ModelPlace place;                 // unless the kind has none
  ModelPlace source;                // Bind, Copy
  std::vector<ModelPlace> invokeArgs;  // Invoke, Later, Construct
  bool shallow = false;             // Read: "peek"; ignoring it is the safe side
};

// As written in the files: "bind ret -> self[]".
std::string toString(const ModelEffect& effect);

// Effects of one function or method name. Overloads are told apart by
// constness and number of arguments where that matters.
struct FunctionModel {
  std::optional<bool> constMethod;
  std::optional<int> minArgs, maxArgs;
  std::vector<ModelEffect> effects;
};

// What to do with a name that has no entry of its own, by longest prefix.
//   const-reads  a const method reads self, another writes self; arguments by
//                value or const reference are read, others written; callables
//                among the arguments are invoked with elements of the other
//                arguments; what is returned may refer to elements of self and
//                of the arguments. (The promise of [res.on.data.races].)
//   pure         reads its arguments, nothing else
//   sync         internally synchronised
//   log          as sync, and marked as logging
//   unknown      like no entry at all
enum class Policy : uint8_t { Unknown, ConstReads, Pure, Sync, Log };

// How a lock operation is called.
enum class LockOpKind : uint8_t {
  Acquire, Release, Try, Defer, Adopt, Detach, Query, Wait, Assert, None,
  AcquireMany,  // std::lock, scoped_lock over several
  Init, Destroy,
  Guard,    // the call returns a guard that holds the lock: folly's wlock()
  With,     // the call runs its callable argument with the lock held: withWLock()
  View,     // the call returns a lockable part of the lock with this mode
  Convert,  // a held lock changes to `mode`: unlock_upgrade_and_lock()
};
struct LockOp {
  LockOpKind kind = LockOpKind::None;
  Mode mode = Mode::Exclusive;
  bool sharedOrExclusive = false;  // release of whichever is held
  bool timed = false;
};

struct MutexModel {
  std::string type;                   // "std::shared_mutex"
  bool hasShared = false;
  bool recursive = false;
  bool timed = false;
  bool prefersReaders = false;        // can starve writers
  bool perCpu = false;
  std::map<std::string, LockOp> ops;  // method name -> operation
  std::map<std::string, std::string> sharedForm;  // exclusive method -> shared method
  std::string sharedReplacement;      // LT102: type to use instead ("std::shared_mutex")
  std::map<std::string, std::string> initializers;  // macro -> that of the replacement
  std::string header;                 // header of the replacement, "<shared_mutex>"
  std::string minStandard;            // "c++17"
};

struct GuardModel {
  std::string type;                   // "std::unique_lock"
  Mode mode = Mode::Exclusive;
  int lockArg = 0;                    // constructor argument that names the lock
  bool variadic = false;              // scoped_lock: every argument is a lock
  // Where the mode is an argument: index and the values that mean shared/exclusive.
  int modeArg = -1;
  std::map<std::string, Mode> modeValues;
  std::map<std::string, LockOpKind> tags;  // tag type -> Defer, Adopt, Try
  std::map<std::string, LockOp> ops;       // methods of the guard
  std::string sharedForm;             // guard template or class to use instead
  std::string exclusiveForm;          // for shared guards
  std::string header;                 // header of sharedForm
};

// A free function that works on a lock given as argument.
struct LockFunctionModel {
  std::string name;                   // "pthread_rwlock_wrlock"
  LockOp op;
  int lockArg = 0;
  std::string sharedForm, exclusiveForm;  // function to call instead
  bool zeroIsSuccess = true;          // for Try
  // Where the mode is an argument, LWLockAcquire(l, LW_SHARED): as in GuardModel.
  int modeArg = -1;
  std::map<std::string, Mode> modeValues;
};

class Models {
 public:
  // Reads every *.json below `directory` in name order. On a bad file returns
  // false and sets `error` to "FILE: KEY PATH: what is wrong".
  bool loadDirectory(const std::string& directory, std::string& error);
  bool loadFile(const std::string& file, std::string& error);
  bool loadText(std::string_view json, const std::string& name, std::string& error);

  // Entry for a call. `name` as Call::name. Looks up the exact name, then the
  // method of the class through its categories, then nothing.
  const FunctionModel* function(std::string_view name, bool constMethod, size_t args) const;
  Policy policy(std::string_view name) const;

  const MutexModel* mutex(std::string_view type) const;   // type without arguments
  const GuardModel* guard(std::string_view type) const;
  const LockFunctionModel* lockFunction(std::string_view name) const;
  // Condition-variable classes: a wait method hands its lock argument over.
  bool isConditionVariable(std::string_view type) const;
  // std::function and its kin: calling one calls what was stored.
  bool isCallableWrapper(std::string_view type) const;
  // std::unique_ptr and its kin: the pointee is owned by one.
  bool isUniqueOwner(std::string_view type) const;
  // Pointers whose last drop destroys the pointee, with an atomic count.
  bool isCountedPointer(std::string_view type) const;
  // std::reference_wrapper: where an argument is handed on, what it refers to is.
  bool isReferenceWrapper(std::string_view type) const;
  bool isAtomic(std::string_view type) const;
  // Containers and strings: what they hold is their own, they point nowhere.
  bool ownsElements(std::string_view type) const;
  // Containers, strings, iterators...: classes of which a model speaks.
  bool hasClass(std::string_view type) const;

  const std::vector<std::string>& neverSuggest() const { return neverSuggest_; }
  std::string dump() const;  // merged result as JSON, for `locktidy facts`/doctor

 private:
  friend struct ModelsLoader;
  std::map<std::string, std::vector<FunctionModel>, std::less<>> functions_;
  std::map<std::string, std::map<std::string, std::vector<FunctionModel>, std::less<>>, std::less<>> categories_;
  std::map<std::string, std::vector<std::string>, std::less<>> classCategories_;
  std::map<std::string, Policy, std::less<>> prefixes_;
  std::map<std::string, MutexModel, std::less<>> mutexes_;
  std::map<std::string, GuardModel, std::less<>> guards_;
  std::map<std::string, LockFunctionModel, std::less<>> lockFunctions_;
  std::map<std::string, std::string, std::less<>> classKinds_;  // condition-variable, callable, ...
  std::vector<std::string> neverSuggest_;
};

}  // namespace locktidy
