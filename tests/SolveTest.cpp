// The solver without Clang: facts are built by hand, go through their text
// form, are linked and solved.
//
// What a function does is compared as lines, in order:
//   write n_ under mu_ perhaps under other_
// `under`: surely held exclusively; `under mu_ (shared)`; `perhaps under`: held
// on some path. Only what other threads can see is listed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "checker/link/Program.h"
#include "checker/model/FactsIo.h"
#include "checker/model/Interner.h"
#include "checker/solve/Solution.h"

namespace locktidy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const char* const kMutex = "std::shared_mutex";

// ---------------------------------------------------------------------------
// Building a unit
class Unit {
 public:
  explicit Unit(const std::string& file = "a.cpp") {
    facts.mainFile = str(file);
    facts.files = {{facts.mainFile, 0, false}};
    simple("int", TypeKind::Int);
    simple("bool", TypeKind::Bool);
    simple("void", TypeKind::Other);
    library(kMutex, {});
    library("std::mutex", {});
  }

  Str str(std::string_view text) { return names_.intern(text); }

  Str simple(const std::string& name, TypeKind kind) {
    TypeFact t;
    t.name = str(name);
    t.kind = kind;
    facts.types.push_back(t);
    return t.name;
  }
  // A class of a library: `name` is what its models call it.
  Str library(const std::string& type, const std::vector<std::string>& args) {
    TypeFact t;
    t.kind = TypeKind::Class;
    t.name = str(type);
    t.clsName = str(type.substr(0, type.find('<')));
    for (const std::string& a : args) t.args.push_back(str(a));
    facts.types.push_back(t);
    return t.name;
  }
  Str pointer(const std::string& to, TypeKind kind = TypeKind::Pointer) {
    std::string name = to + (kind == TypeKind::Ref ? " &" : " *");
    for (const TypeFact& t : facts.types)
      if (t.name == str(name)) return t.name;
    TypeFact t;
    t.name = str(name);
    t.kind = kind;
    t.pointee = str(to);
    facts.types.push_back(t);
    return t.name;
  }
  Str ref(const std::string& to) { return pointer(to, TypeKind::Ref); }

  // A class with fields (name, type); a field's USR is "Class.name".
  void cls(const std::string& name, const std::vector<std::pair<std::string, std::string>>& fields) {
    TypeFact t;
    t.kind = TypeKind::Class;
    t.name = t.cls = t.clsName = str(name);
    facts.types.push_back(t);
    ClassFact c;
    c.usr = c.name = c.type = str(name);
    for (const auto& [field, type] : fields) {
      FieldFact f;
      f.usr = str(name + "." + field);
      f.name = str(field);
      f.type = str(type);
      c.fields.push_back(f);
    }
    facts.classes.push_back(c);
  }
  void method(const std::string& cls, const std::string& usr) {
    for (ClassFact& c : facts.classes)
      if (c.usr == str(cls)) c.methods.push_back(str(usr));
  }
  void global(const std::string& name, const std::string& type) {
    GlobalFact g;
    g.usr = g.name = str(name);
    g.type = str(type);
    facts.globals.push_back(g);
  }

  TuFacts take() {
    facts.strings.clear();
    for (Str i = 0; i < names_.size(); ++i) facts.strings.push_back(names_.text(i));
    return facts;
  }

  TuFacts facts;
  uint32_t line = 1;  // of the next event

 private:
  Interner names_;
};

Path operator/(Path p, Step s) {
  p.steps.push_back(s);
  return p;
}
const Step kDeref{Sel::Deref, 0, 0};

// One function being written: events go to the current block.
class Fn {
 public:
  // `name` is the USR too: "Store::get". Methods take their class from it.
  Fn(Unit& unit, const std::string& name) : u_(unit) {
    f_.usr = f_.name = f_.display = u_.str(name);
    f_.hasBody = true;
    f_.loc = at();
    f_.blocks.resize(1);
    size_t colon = name.find("::");
    if (colon == std::string::npos) return;
    f_.owner = f_.ownerType = u_.str(name.substr(0, colon));
    u_.method(name.substr(0, colon), name);
  }
  ~Fn() { u_.facts.functions.push_back(f_); }
  Fn(const Fn&) = delete;

  Path self(std::initializer_list<const char*> fields = {}) { return below({Root::This, 0, 0, {}}, fields); }
  Path global(const std::string& name) { return {Root::Global, 0, u_.str(name), {}}; }
  Path below(Path p, std::initializer_list<const char*> fields) {
    for (const char* f : fields) p = p / Step{Sel::Field, u_.str(f), 0};
    return p;
  }
  // A pointer or reference parameter: the place it refers to.
  Path param(const std::string& name, Str type) {
    ParamInfo p;
    p.name = u_.str(name);
    p.type = type;
    p.isPtr = true;
    f_.params.push_back(p);
    return Path{Root::Param, static_cast<uint32_t>(f_.params.size() - 1), 0, {}} / kDeref;
  }
  Path local(const std::string& name, const std::string& type, bool isPtr = false) {
    LocalInfo l;
    l.name = u_.str(name);
    l.type = u_.str(type);
    l.isPtr = isPtr;
    l.loc = at();
    f_.locals.push_back(l);
    return {Root::Local, static_cast<uint32_t>(f_.locals.size() - 1), 0, {}};
  }

  Fn& read(Path p, const std::string& type = "int") { return access(EventKind::Read, std::move(p), type); }
  Fn& write(Path p, const std::string& type = "int") { return access(EventKind::Write, std::move(p), type); }
  // place = &target
  Fn& bind(Path place, Path target) {
    Event e;
    e.kind = EventKind::Bind;
    e.place = std::move(place);
    e.value = {ValueKind::Bind, std::move(target)};
    return push(e);
  }

  uint32_t call(const std::string& name, const std::vector<std::pair<Path, Str>>& args = {},
                std::optional<Path> self = {}, const std::string& selfType = "",
                CallKind kind = CallKind::Direct) {
    Call c;
    c.kind = kind;
    c.callee = c.name = u_.str(name);
    c.loc = c.nameLoc = at();
    if (self) {
      c.hasSelf = true;
      c.self = *self;
      c.selfType = u_.str(selfType);
    }
    for (const auto& [place, type] : args) {
      Arg a;
      a.value = {ValueKind::Bind, place};
      a.type = type;
      c.args.push_back(a);
    }
    f_.calls.push_back(c);
    Event e;
    e.kind = EventKind::Call;
    e.call = static_cast<uint32_t>(f_.calls.size() - 1);
    push(e);
    return e.call;
  }
  // mutex.op()
  uint32_t on(Path mutex, const std::string& op, const std::string& type = kMutex) {
    return call(type + "::" + op, {}, std::move(mutex), type);
  }
  Fn& lock(Path m) { return on(std::move(m), "lock"), *this; }
  Fn& unlock(Path m) { return on(std::move(m), "unlock"), *this; }
  Fn& lockShared(Path m) { return on(std::move(m), "lock_shared"), *this; }
  Fn& unlockShared(Path m) { return on(std::move(m), "unlock_shared"), *this; }
  // std::unique_lock g(mutex); the guard's place.
  Path guard(Path mutex, const std::string& cls = "std::unique_lock") {
    std::string type = cls + "<" + kMutex + ">";
    u_.library(type, {kMutex});
    Path g = local("g", type);
    f_.locals.back().isClass = true;
    std::string ctor = cls + cls.substr(cls.rfind("::"));
    uint32_t c = call(ctor, {{std::move(mutex), u_.ref(kMutex)}}, g, type, CallKind::Construct);
    f_.calls[c].local = g.index;
    return g;
  }
  uint32_t onGuard(Path g, const std::string& op, CallKind kind = CallKind::Direct) {
    std::string type = u_text(f_.locals[g.index].type);
    return call(type.substr(0, type.find('<')) + "::" + op, {}, g, type, kind);
  }
  void end(Path g) { onGuard(g, "~guard", CallKind::Destroy); }
  // Called with `a` and a pointer to a new object; the place of the object.
  Path fresh() { return {Root::Fresh, fresh_++, 0, {}}; }

  // ---- control flow
  uint32_t block() {
    f_.blocks.emplace_back();
    return static_cast<uint32_t>(f_.blocks.size() - 1);
  }
  uint32_t here() const { return current_; }
  Fn& in(uint32_t b) { return current_ = b, *this; }
  Fn& edge(uint32_t from, uint32_t to) { return f_.blocks[from].succs.push_back(to), *this; }
  // Ends the block: to `yes` if the call returned true, else to `no`.
  Fn& branch(uint32_t call, uint32_t yes, uint32_t no, bool negated = false) {
    f_.blocks[current_].branch = {call, negated};
    return edge(current_, yes).edge(current_, no);
  }
  // Ends the block: to either.
  Fn& either(uint32_t a, uint32_t b) { return edge(current_, a).edge(current_, b); }

  FunctionFacts& facts() { return f_; }

 private:
  std::string u_text(Str s) {
    TuFacts all = u_.take();
    return all.strings[s];
  }
  Loc at() { return {0, u_.line, 1, u_.line * 100}; }
  Fn& push(Event e) {
    e.loc = {0, u_.line, 1, u_.line * 100};
    ++u_.line;
    f_.blocks[current_].events.push_back(e);
    return *this;
  }
  Fn& access(EventKind kind, Path p, const std::string& type) {
    Event e;
    e.kind = kind;
    e.place = std::move(p);
    e.type = u_.str(type);
    if (kind == EventKind::Write) e.op = u_.str("=");
    return push(e);
  }

  Unit& u_;
  FunctionFacts f_;
  uint32_t current_ = 0, fresh_ = 0;
};

// ---------------------------------------------------------------------------
// Solving
const Models& shippedModels() {
  static const Models models = [] {
    Models m;
    std::string error;
    EXPECT_TRUE(m.loadDirectory(LOCKTIDY_SOURCE_DIR "/rules/models", error)) << error;
    return m;
  }();
  return models;
}

class Solved {
 public:
  explicit Solved(std::vector<TuFacts> units) {
    std::vector<TuFacts> read;
    for (TuFacts& u : units) {
      EXPECT_EQ(validateFacts(u), "");
      std::string error;
      read.emplace_back();
      EXPECT_TRUE(readFacts(writeFacts(u), read.back(), error)) << error;
    }
    program = std::make_unique<Program>(link(std::move(read), shippedModels()));
    solution = std::make_unique<Solution>(*program, shippedModels(), SolveOptions());
  }
  explicit Solved(Unit& unit) : Solved(std::vector<TuFacts>{unit.take()}) {}

  FuncId id(const std::string& name) const {
    for (FuncId f = 0; f < program->functions.size(); ++f)
      if (program->text(program->functions[f].usr) == name) return f;
    ADD_FAILURE() << "no function " << name;
    return 0;
  }

  // The effects of a function, as the head of this file says.
  std::vector<std::string> does(const std::string& name) const {
    const FunctionResult& r = solution->results[id(name)];
    std::vector<std::string> out;
    auto spell = [&](const Effect& e, const std::vector<HeldLock>& held) {
      std::string text = kindName(e.kind);
      if (e.kind != Eff::Unknown && e.kind != Eff::Wait) text += " " + solution->engine.describe(e.path);
      for (const HeldLock& h : held)
        text += " under " + solution->engine.describe(h.path) + (h.mode == Mode::Shared ? " (shared)" : "");
      return text;
    };
    // Of a function without sections of its own the summary is what is kept.
    if (r.acquisitions.empty()) {
      for (const Effect& e : solution->engine.summaries[id(name)].effects) out.push_back(spell(e, e.inner));
      return out;
    }
    for (uint32_t i = 0; i < r.effects.size(); ++i) {
      const LocalEffect& e = r.effects[i];
      std::string text = spell(e, e.held);
      for (const Acquisition& q : r.acquisitions) {
        bool may = std::count(q.region.begin(), q.region.end(), i), must = std::count(q.regionMust.begin(), q.regionMust.end(), i);
        if (may && !must) text += " perhaps under " + solution->engine.describe(q.lock);
      }
      out.push_back(text);
    }
    return out;
  }

  const Section& section(const std::string& function) const {
    for (const Section& s : solution->sections)
      if (program->text(program->functions[s.func].usr) == function) return s;
    ADD_FAILURE() << "no section in " << function;
    static const Section none;
    return none;
  }
  Reading reading(const std::string& function) const { return section(function).verdict.reading; }
  std::string reason(const std::string& function) const { return section(function).verdict.reason; }

  std::unique_ptr<Program> program;
  std::unique_ptr<Solution> solution;

 private:
  static std::string kindName(Eff k) {
    switch (k) {
      case Eff::Read: return "read";
      case Eff::Write: return "write";
      case Eff::AtomicRead: return "atomic read";
      case Eff::AtomicWrite: return "atomic write";
      case Eff::Touch: return "touch";
      case Eff::Unknown: return "unknown";
      case Eff::Wait: return "wait";
      default: return "other";
    }
  }
};

// class Store { std::shared_mutex mu_; int a_, b_; Store* next_; };
Unit storeUnit(const std::string& file = "a.cpp") {
  Unit u(file);
  u.pointer("Store");
  u.pointer("int");
  u.cls("Store", {{"mu_", kMutex}, {"a_", "int"}, {"b_", "int"}, {"next_", "Store *"}});
  return u;
}
constexpr const char *kMu = "Store.mu_", *kA = "Store.a_", *kB = "Store.b_", *kNext = "Store.next_";

// ---------------------------------------------------------------------------
// Lock sets

TEST(LockSets, FromAcquisitionToRelease) {
  Unit u = storeUnit();
  {
    Fn f(u, "Store::f");
    f.read(f.self({kA})).lock(f.self({kMu})).write(f.self({kA})).unlock(f.self({kMu})).write(f.self({kB}));
  }
  EXPECT_THAT(Solved(u).does("Store::f"), ElementsAre("read a_", "write a_ under mu_", "write b_"));
}

TEST(LockSets, SharedAndExclusiveAreToldApart) {
  Unit u = storeUnit();
  {
    Fn f(u, "Store::f");
    f.lockShared(f.self({kMu})).read(f.self({kA})).unlockShared(f.self({kMu}));
    f.lock(f.self({kMu})).write(f.self({kA})).unlock(f.self({kMu}));
  }
  EXPECT_THAT(Solved(u).does("Store::f"), ElementsAre("read a_ under mu_ (shared)", "write a_ under mu_"));
}

TEST(LockSets, AGuardHoldsUntilItsEndOrItsUnlock) {
  Unit u = storeUnit();
  {
    Fn f(u, "Store::f");
    Path g = f.guard(f.self({kMu}));
    f.write(f.self({kA}));
    f.onGuard(g, "unlock");
    f.write(f.self({kB}));
    f.onGuard(g, "lock");
    f.read(f.self({kA}));
    f.end(g);
    f.read(f.self({kB}));
  }
  EXPECT_THAT(Solved(u).does("Store::f"),
              ElementsAre("write a_ under mu_", "write b_", "read a_ under mu_", "read b_"));
}

TEST(LockSets, TakenOnOneBranchIsPerhapsHeldAfterIt) {
  Unit u = storeUnit();
  {
    Fn f(u, "Store::f");
    uint32_t yes = f.block(), after = f.block();
    f.either(yes, after);
    f.in(yes).lock(f.self({kMu})).write(f.self({kA})).edge(yes, after);
    f.in(after).write(f.self({kB}));
  }
  EXPECT_THAT(Solved(u).does("Store::f"), ElementsAre("write a_ under mu_", "write b_ perhaps under mu_"));
}

TEST(LockSets, ReleasedOnOneBranchIsPerhapsHeldAfterIt) {
  Unit u = storeUnit();
  {
    Fn f(u, "Store::f");
    uint32_t yes = f.block(), no = f.block(), after = f.block();
    f.lock(f.self({kMu})).either(yes, no);
    f.in(yes).unlock(f.self({kMu})).write(f.self({kA})).edge(yes, after);
    f.in(no).read(f.self({kA})).edge(no, after);
    f.in(after).write(f.self({kB}));
  }
  EXPECT_THAT(Solved(u).does("Store::f"),
              ElementsAre("write a_", "read a_ under mu_", "write b_ perhaps under mu_"));
}

TEST(LockSets, ReleasedOnEveryBranchIsReleased) {
  Unit u = storeUnit();
  {
    Fn f(u, "Store::f");
    uint32_t yes = f.block(), no = f.block(), after = f.block();
    f.lock(f.self({kMu})).either(yes, no);
    f.in(yes).unlock(f.self({kMu})).edge(yes, after);
    f.in(no).read(f.self({kA})).unlock(f.self({kMu})).edge(no, after);
    f.in(after).write(f.self({kB}));
  }
  Solved s(u);
  EXPECT_THAT(s.does("Store::f"), ElementsAre("read a_ under mu_", "write b_"));
  // Both releases belong to the one acquisition.
  const Acquisition& q = s.solution->results[s.id("Store::f")].acquisitions.at(0);
  EXPECT_EQ(q.releases.size(), 2u);
  EXPECT_FALSE(q.foreignRelease || q.heldAtExit);
}

TEST(LockSets, ALoopJoinsWithItsOwnEnd) {
  // while (..) { read a_; lock; write b_; }   the second round holds the lock
  Unit u = storeUnit();
  {
    Fn f(u, "Store::f");
    uint32_t head = f.block(), body = f.block(), after = f.block();
    f.edge(f.here(), head);
    f.in(head).either(body, after);
    f.in(body).read(f.self({kA})).lock(f.self({kMu})).write(f.self({kB})).edge(body, head);
  }
  EXPECT_THAT(Solved(u).does("Store::f"), ElementsAre("read a_ perhaps under mu_", "write b_ under mu_"));
}

TEST(LockSets, AHandlerMayStartAnywhere) {
  Unit u = storeUnit();
  {
    Fn f(u, "Store::f");
    uint32_t handler = f.block();
    f.facts().blocks[handler].handler = true;
    f.lock(f.self({kMu})).write(f.self({kA})).unlock(f.self({kMu}));
    f.in(handler).write(f.self({kB}));
  }
  EXPECT_THAT(Solved(u).does("Store::f"), ElementsAre("write a_ under mu_", "write b_ perhaps under mu_"));
}

TEST(LockSets, AnotherInstancesReleaseIsNotThisOnes) {
  Unit u = storeUnit();
  {
    Fn f(u, "Store::f");
    Path other = f.param("other", u.pointer("Store"));
    f.lock(f.self({kMu})).unlock(f.below(other, {kMu})).write(f.self({kA}));
  }
  Solved s(u);
  EXPECT_THAT(s.does("Store::f"), ElementsAre("write a_ perhaps under mu_"));
  EXPECT_TRUE(s.solution->results[s.id("Store::f")].acquisitions.at(0).foreignRelease);
}

TEST(LockSets, DeadCodeHasNoEffects) {
  Unit u = storeUnit();
  {
    Fn f(u, "Store::f");
    f.read(f.self({kA})).in(f.block()).write(f.self({kB}));
  }
  EXPECT_THAT(Solved(u).does("Store::f"), ElementsAre("read a_"));
}

// ---------------------------------------------------------------------------
// Branches on try-locks

TEST(TryLock, HeldWhereItSucceeded) {
  Unit u = storeUnit();
  {
    Fn f(u, "Store::f");
    uint32_t yes = f.block(), no = f.block();
    uint32_t c = f.on(f.self({kMu}), "try_lock");
    f.branch(c, yes, no);
    f.in(yes).write(f.self({kA}));
    f.in(no).write(f.self({kB}));
  }
  EXPECT_THAT(Solved(u).does("Store::f"), ElementsAre("write a_ under mu_", "write b_"));
}

TEST(TryLock, NegatedCondition) {
  Unit u = storeUnit();
  {
    Fn f(u, "Store::f");
    uint32_t failed = f.block(), got = f.block();
    uint32_t c = f.on(f.self({kMu}), "try_lock_shared");
    f.branch(c, failed, got, true);
    f.in(failed).write(f.self({kA}));
    f.in(got).read(f.self({kB}));
  }
  EXPECT_THAT(Solved(u).does("Store::f"), ElementsAre("write a_", "read b_ under mu_ (shared)"));
}

TEST(TryLock, PerhapsHeldWhereNobodyAsked) {
  Unit u = storeUnit();
  {
    Fn f(u, "Store::f");
    f.on(f.self({kMu}), "try_lock");
    f.write(f.self({kA}));
  }
  EXPECT_THAT(Solved(u).does("Store::f"), ElementsAre("write a_ perhaps under mu_"));
}

TEST(TryLock, AskingTheGuardLater) {
  Unit u = storeUnit();
  u.library("std::try_to_lock_t", {});
  {
    Fn f(u, "Store::f");
    Path g = f.guard(f.self({kMu}));
    Arg tag;
    tag.type = u.str("std::try_to_lock_t");
    tag.byValue = true;
    f.facts().calls.back().args.push_back(tag);
    uint32_t yes = f.block(), no = f.block();
    uint32_t owns = f.onGuard(g, "owns_lock");
    f.branch(owns, yes, no);
    f.in(yes).write(f.self({kA}));
    f.in(no).write(f.self({kB}));
  }
  EXPECT_THAT(Solved(u).does("Store::f"), ElementsAre("write a_ under mu_", "write b_"));
}

// ---------------------------------------------------------------------------
// Calls

TEST(Wrappers, ACalleeTakesAndAnotherReleases) {
  Unit u = storeUnit();
  {
    Fn f(u, "Store::begin");
    f.lock(f.self({kMu}));
  }
  {
    Fn f(u, "Store::finish");
    f.unlock(f.self({kMu}));
  }
  {
    Fn f(u, "Store::f");
    f.call("Store::begin", {}, f.self(), "Store");
    f.write(f.self({kA}));
    f.call("Store::finish", {}, f.self(), "Store");
    f.write(f.self({kB}));
  }
  EXPECT_THAT(Solved(u).does("Store::f"), ElementsAre("write a_ under mu_", "write b_"));
}

TEST(Wrappers, ACalleeThatReleasesOnOnePathOnly) {
  Unit u = storeUnit();
  {
    Fn f(u, "Store::finish");
    uint32_t yes = f.block(), after = f.block();
    f.either(yes, after).in(yes).unlock(f.self({kMu})).edge(yes, after);
  }
  {
    Fn f(u, "Store::f");
    f.lock(f.self({kMu}));
    f.call("Store::finish", {}, f.self(), "Store");
    f.write(f.self({kB}));
  }
  EXPECT_THAT(Solved(u).does("Store::f"), ElementsAre("write b_ perhaps under mu_"));
}

TEST(Wrappers, OfAnotherObject) {
  // void begin(Store* s) { s->mu_.lock(); }   f: begin(this->next_)
  Unit u = storeUnit();
  {
    Fn f(u, "begin");
    Path s = f.param("s", u.pointer("Store"));
    f.lock(f.below(s, {kMu}));
  }
  {
    Fn f(u, "Store::f");
    Path next = f.self({kNext}) / kDeref;
    f.call("begin", {{next, u.pointer("Store")}});
    f.write(f.below(next, {kA})).write(f.self({kA}));
  }
  EXPECT_THAT(Solved(u).does("Store::f"), ElementsAre("write next_->a_ under next_->mu_", "write a_ under next_->mu_"));
}

TEST(Effects, ParametersBecomeWhatTheCallerPasses) {
  Unit u = storeUnit();
  {
    Fn f(u, "set");
    f.write(f.param("out", u.pointer("int")));
  }
  {
    Fn f(u, "Store::member");
    f.call("set", {{f.self({kA}), u.pointer("int")}});
  }
  {
    Fn f(u, "Store::mine");
    Path x = f.local("x", "int");
    f.call("set", {{x, u.pointer("int")}});
  }
  {
    // One level more: the helper's own parameter is passed on.
    Fn f(u, "setTwo");
    Path s = f.param("s", u.pointer("Store"));
    f.call("set", {{f.below(s, {kB}), u.pointer("int")}});
  }
  {
    Fn f(u, "Store::below");
    f.call("setTwo", {{f.self({kNext}) / kDeref, u.pointer("Store")}});
  }
  Solved s(u);
  EXPECT_THAT(s.does("Store::member"), ElementsAre("write a_"));
  EXPECT_THAT(s.does("Store::mine"), IsEmpty()) << "a local that nobody else sees";
  EXPECT_THAT(s.does("setTwo"), ElementsAre("write argument 1->b_"));
  EXPECT_THAT(s.does("Store::below"), ElementsAre("write next_->b_"));
}

TEST(Effects, MethodsOfAMember) {
  Unit u = storeUnit();
  u.cls("Pair", {{"left_", "Store"}, {"right_", "Store"}});
  {
    Fn f(u, "Store::set");
    f.lock(f.self({kMu})).write(f.self({kA})).unlock(f.self({kMu}));
  }
  {
    Fn f(u, "Pair::f");
    f.call("Store::set", {}, f.self({"Pair.left_"}), "Store");
    f.call("Store::set", {}, f.self({"Pair.right_"}), "Store");
  }
  EXPECT_THAT(Solved(u).does("Pair::f"),
              ElementsAre("write left_.a_ under left_.mu_", "write right_.a_ under right_.mu_"));
}

TEST(Effects, ACalleeWithoutBodyIsUnknown) {
  Unit u = storeUnit();
  {
    Fn f(u, "Store::f");
    f.call("elsewhere", {{f.self({kA}), u.pointer("int")}});
  }
  EXPECT_THAT(Solved(u).does("Store::f"), ElementsAre("unknown", "touch a_"));
}

TEST(Effects, RecursionEndsAndKeepsEverything) {
  // f: read a_; g()    g: write b_; f()
  Unit u = storeUnit();
  {
    Fn f(u, "Store::f");
    f.read(f.self({kA}));
    f.call("Store::g", {}, f.self(), "Store");
  }
  {
    Fn f(u, "Store::g");
    f.write(f.self({kB}));
    f.call("Store::f", {}, f.self(), "Store");
  }
  Solved s(u);
  for (const char* name : {"Store::f", "Store::g"}) {
    EXPECT_THAT(s.does(name), testing::IsSupersetOf({"read a_", "write b_"})) << name;
  }
}

// Each round moves what is written by one parameter: the cycle is followed to its end.
TEST(Effects, RecursionThatTakesManyRoundsToSettle) {
  // turn(p0..p7): *p0 = 1; turn(p1..p7, p0): in the end all eight are written
  Unit u = storeUnit();
  constexpr int kParams = 8;
  {
    Fn f(u, "turn");
    std::vector<Path> params;
    for (int i = 0; i < kParams; ++i) params.push_back(f.param("p" + std::to_string(i), u.pointer("int")));
    f.write(params[0]);
    std::vector<std::pair<Path, Str>> turned;
    for (int i = 0; i < kParams; ++i) turned.push_back({params[(i + 1) % kParams], u.pointer("int")});
    f.call("turn", turned);
  }
  {
    Fn f(u, "Store::f");
    Path mine = f.local("mine", "int");
    std::vector<std::pair<Path, Str>> args(kParams, {mine, u.pointer("int")});
    args.back() = {f.self({kA}), u.pointer("int")};
    f.call("turn", args);
  }
  EXPECT_THAT(Solved(u).does("Store::f"), testing::Contains(testing::AnyOf("write a_", "unknown")));
}

TEST(Effects, WalkingAListEnds) {
  // f: write next_->a_; next_->f()
  Unit u = storeUnit();
  {
    Fn f(u, "Store::f");
    f.write(f.below(f.self({kNext}) / kDeref, {kA}));
    f.call("Store::f", {}, f.self({kNext}) / kDeref, "Store");
  }
  EXPECT_THAT(Solved(u).does("Store::f"), testing::Each("write next_->a_"));
}

TEST(Effects, TwoBodiesOfOneFunctionAreJoined) {
  Unit a = storeUnit("a.cpp"), b = storeUnit("b.cpp");
  {
    Fn f(a, "Store::f");
    f.read(f.self({kA}));
  }
  {
    Fn f(b, "Store::f");
    f.write(f.self({kB}));
  }
  {
    Fn f(b, "Store::g");
    f.call("Store::f", {}, f.self(), "Store");
  }
  Solved forth({a.take(), b.take()}), back({b.take(), a.take()});
  EXPECT_THAT(forth.does("Store::g"), testing::UnorderedElementsAre("read a_", "write b_"));
  EXPECT_EQ(forth.does("Store::g"), back.does("Store::g"));
}

// ---------------------------------------------------------------------------
// Private and escaped objects

TEST(Escapes, ANewObjectIsPrivateUntilItIsStored) {
  // p = new Store; p->a_ = 1; next_ = p; p->b_ = 2;
  Unit u = storeUnit();
  {
    Fn f(u, "Store::f");
    Path p = f.local("p", "Store *", true), object = f.fresh();
    f.bind(p, object);
    f.write(f.below(p / kDeref, {kA}));
    f.write(f.self({kNext}), "Store *").bind(f.self({kNext}), object);
    f.write(f.below(p / kDeref, {kB}));
  }
  EXPECT_THAT(Solved(u).does("Store::f"), ElementsAre("write next_", "write (unknown).b_"));
}

TEST(Escapes, ALocalHandedToUnknownCode) {
  Unit u = storeUnit();
  {
    Fn f(u, "f");
    Path x = f.local("x", "int");
    f.write(x);
    f.call("elsewhere", {{x, u.pointer("int")}});
    f.write(x);
  }
  EXPECT_THAT(Solved(u).does("f"), testing::Contains("write (unknown)").Times(1));
}

TEST(Escapes, APointerThatMayPointToTwoPlaces) {
  Unit u = storeUnit();
  {
    Fn f(u, "Store::f");
    Path p = f.local("p", "int *", true);
    uint32_t yes = f.block(), no = f.block(), after = f.block();
    f.either(yes, no);
    f.in(yes).bind(p, f.self({kA})).edge(yes, after);
    f.in(no).bind(p, f.self({kB})).edge(no, after);
    f.in(after).write(p / kDeref);
  }
  EXPECT_THAT(Solved(u).does("Store::f"), testing::UnorderedElementsAre("write a_", "write b_"));
}

TEST(Escapes, APointerIsFollowedOnlyToWhatCameBefore) {
  Unit u = storeUnit();
  {
    Fn f(u, "Store::f");
    Path p = f.local("p", "int *", true);
    f.bind(p, f.self({kA})).write(p / kDeref).bind(p, f.self({kB}));
  }
  EXPECT_THAT(Solved(u).does("Store::f"), ElementsAre("write a_"));
}

// ---------------------------------------------------------------------------
// Paths

TEST(Paths, EqualPathsAreOne) {
  PathTable t;
  PathId a = t.field(t.root(Root::This), 7);
  EXPECT_EQ(a, t.field(t.root(Root::This), 7));
  EXPECT_NE(a, t.field(t.root(Root::This), 8));
  EXPECT_NE(a, t.field(t.root(Root::Param, 0), 7));
  EXPECT_TRUE(t.hasPrefix(t.deref(a), a));
  EXPECT_TRUE(t.hasPrefix(a, a));
  EXPECT_FALSE(t.hasPrefix(a, t.deref(a)));
  EXPECT_EQ(t.base(t.deref(a)), t.root(Root::This));
}

TEST(Paths, PrefixesAreReplaced) {
  PathTable t;
  PathId param = t.deref(t.root(Root::Param, 1)), other = t.field(t.root(Root::This), 3);
  EXPECT_EQ(t.replacePrefix(t.field(param, 5), param, other), t.field(other, 5));
  EXPECT_EQ(t.replacePrefix(param, param, other), other);
}

TEST(Paths, ACycleFoldsToItsFirstRound) {
  PathTable t;
  const Str next = 1, value = 2;
  PathId once = t.deref(t.field(t.root(Root::This), next));
  PathId walk = once;
  for (int i = 0; i < 30; ++i) walk = t.deref(t.field(walk, next));
  EXPECT_EQ(walk, once);
  EXPECT_EQ(t.field(walk, value), t.field(once, value));
  // Another field in between makes a longer cycle, which folds too.
  const Str prev = 3;
  PathId zig = t.deref(t.field(once, prev));
  EXPECT_EQ(t.deref(t.field(t.deref(t.field(zig, next)), prev)), zig);
}

TEST(Paths, LongOnesAreCut) {
  PathTable t;
  PathId p = t.root(Root::This);
  for (Str f = 1; f <= kMaxSteps; ++f) p = t.field(p, f);
  EXPECT_EQ(t.at(p).kind, StepKind::Field);
  PathId cut = t.field(p, 100);
  EXPECT_EQ(t.at(cut).kind, StepKind::Any);
  EXPECT_EQ(t.field(cut, 101), cut);
  EXPECT_EQ(t.deref(p), cut) << "whatever is below";
}

TEST(Paths, IndexesAreForgottenOutside) {
  PathTable t;
  PathId a = t.elem(t.root(Root::This), 4), b = t.elem(t.root(Root::This), 5);
  EXPECT_NE(a, b);
  EXPECT_EQ(t.withoutIndexes(t.field(a, 9)), t.withoutIndexes(t.field(b, 9)));
}

// ---------------------------------------------------------------------------
// Overlap

class Overlap : public testing::Test {
 protected:
  Overlap() {
    unit_.cls("Inner", {{"x_", "int"}, {"y_", "int"}});
    unit_.cls("Outer", {{"in_", "Inner"}, {"twin_", "Inner"}, {"list_", "int"}, {"p_", "Inner *"}});
    unit_.pointer("Inner");
    unit_.global("one", "Inner");
    unit_.global("two", "Inner");
    { Fn f(unit_, "nothing"); }
    solved_ = std::make_unique<Solved>(unit_);
  }
  PathTable& t() { return solved_->solution->engine.paths; }
  Str str(const std::string& s) { return solved_->program->strings.find(s); }
  PathId field(PathId p, const std::string& name) { return t().field(p, str(name)); }
  PathId self() { return t().root(Root::This); }
  PathId param(uint32_t i) { return t().deref(t().root(Root::Param, i)); }
  PathId global(const std::string& name) { return t().root(Root::Global, 0, str(name)); }
  // In both directions.
  bool may(PathId a, PathId b, const std::string& typeA = "int", const std::string& typeB = "int", bool shallowA = false) {
    bool r = solved_->solution->mayOverlap(a, str(typeA), b, str(typeB), shallowA, false);
    EXPECT_EQ(r, solved_->solution->mayOverlap(b, str(typeB), a, str(typeA), false, shallowA)) << "not symmetric";
    return r;
  }
  Unit unit_;
  std::unique_ptr<Solved> solved_;
};

TEST_F(Overlap, FieldsOfOneObject) {
  PathId in = field(self(), "Outer.in_"), twin = field(self(), "Outer.twin_");
  EXPECT_TRUE(may(field(in, "Inner.x_"), field(in, "Inner.x_")));
  EXPECT_FALSE(may(field(in, "Inner.x_"), field(in, "Inner.y_")));
  EXPECT_FALSE(may(field(in, "Inner.x_"), field(twin, "Inner.x_"))) << "one contains neither";
}

TEST_F(Overlap, ThroughAPointerAnywhere) {
  // q->x_ may be in_.x_ of some Outer, but never a y_.
  PathId x = field(param(0), "Inner.x_");
  EXPECT_TRUE(may(x, field(field(self(), "Outer.in_"), "Inner.x_")));
  EXPECT_FALSE(may(x, field(field(self(), "Outer.in_"), "Inner.y_")));
  EXPECT_TRUE(may(x, field(t().deref(field(self(), "Outer.p_")), "Inner.x_")));
}

TEST_F(Overlap, TheSameFieldOfTwoInstances) {
  // Judged by class: which instance it is, the locks tell.
  EXPECT_TRUE(may(field(self(), "Outer.list_"), field(param(0), "Outer.list_")));
}

TEST_F(Overlap, AWholeObjectCoversItsFields) {
  PathId in = field(self(), "Outer.in_");
  EXPECT_TRUE(may(in, field(in, "Inner.x_"), "Inner"));
  EXPECT_TRUE(may(param(0), field(in, "Inner.x_"), "Inner")) << "*q = Inner()";
  EXPECT_FALSE(may(param(0), field(self(), "Outer.list_"), "Inner"));
  EXPECT_TRUE(may(param(0), param(1), "Inner", "Inner"));
  EXPECT_FALSE(may(param(0), param(1), "Inner", "Outer"));
}

TEST_F(Overlap, ElementsAndTheContainersOwnBookkeeping) {
  PathId list = field(self(), "Outer.list_");
  PathId element = t().elem(list);
  EXPECT_TRUE(may(list, element));
  EXPECT_FALSE(may(list, element, "int", "int", true)) << "size() does not meet a write to an element";
  EXPECT_TRUE(may(list, list, "int", "int", true));
}

TEST_F(Overlap, Globals) {
  EXPECT_TRUE(may(field(global("one"), "Inner.x_"), field(global("one"), "Inner.x_")));
  EXPECT_FALSE(may(field(global("one"), "Inner.x_"), field(global("two"), "Inner.x_")));
  EXPECT_TRUE(may(field(global("one"), "Inner.x_"), field(param(0), "Inner.x_"))) << "q may point to it";
}

TEST_F(Overlap, ACutPathMeetsEverythingBelow) {
  PathId p = self();
  for (int i = 0; i < kMaxSteps; ++i) p = t().elem(field(p, i % 2 ? "Outer.in_" : "Outer.twin_"));
  ASSERT_EQ(t().at(p).kind, StepKind::Any);
  EXPECT_TRUE(may(p, field(p, "Inner.x_")));
}

// ---------------------------------------------------------------------------
// Verdicts, end to end

// get: lock; read a_.  set: lock; write a_.
void getAndSet(Unit& u) {
  {
    Fn f(u, "Store::get");
    f.lock(f.self({kMu})).read(f.self({kA})).unlock(f.self({kMu}));
  }
  {
    Fn f(u, "Store::set");
    f.lock(f.self({kMu})).write(f.self({kA})).unlock(f.self({kMu}));
  }
}

TEST(Verdicts, ReadingAndWriting) {
  Unit u = storeUnit();
  getAndSet(u);
  Solved s(u);
  EXPECT_EQ(s.reading("Store::get"), Reading::ReadOnly) << s.reason("Store::get");
  EXPECT_EQ(s.reading("Store::set"), Reading::Writing);
  EXPECT_EQ(s.section("Store::get").ineligible, "");
  const LockClass& lock = s.solution->locks.at(s.section("Store::get").lock);
  EXPECT_EQ(lock.name, "Store::mu_");
  EXPECT_TRUE(lock.hasShared);
  EXPECT_FALSE(lock.everShared);
}

TEST(Verdicts, WithoutAWriterNothingIsGuarded) {
  Unit u = storeUnit();
  {
    Fn f(u, "Store::get");
    f.lock(f.self({kMu})).read(f.self({kA})).unlock(f.self({kMu}));
  }
  EXPECT_EQ(Solved(u).reading("Store::get"), Reading::Undecided);
}

TEST(Verdicts, AWriteElsewhereWithoutTheLock) {
  Unit u = storeUnit();
  getAndSet(u);
  {
    Fn f(u, "Store::reset");
    f.write(f.self({kA}));
  }
  EXPECT_EQ(Solved(u).reading("Store::get"), Reading::Undecided);
}

TEST(Verdicts, AWriteElsewhereUnderTheSharedLock) {
  Unit u = storeUnit();
  getAndSet(u);
  {
    Fn f(u, "Store::bump");
    f.lockShared(f.self({kMu})).write(f.self({kA})).unlockShared(f.self({kMu}));
  }
  EXPECT_EQ(Solved(u).reading("Store::get"), Reading::Undecided);
}

TEST(Verdicts, AWriteInAConstructorIsNoConflict) {
  Unit u = storeUnit();
  getAndSet(u);
  {
    Fn f(u, "Store::Store");
    f.facts().isCtor = true;
    f.write(f.self({kA}));
  }
  Solved s(u);
  EXPECT_EQ(s.reading("Store::get"), Reading::ReadOnly) << s.reason("Store::get");
}

TEST(Verdicts, ACalleeWithoutBodyLeavesTheSectionUndecided) {
  Unit u = storeUnit();
  getAndSet(u);
  {
    Fn f(u, "Store::ask");
    f.lock(f.self({kMu})).read(f.self({kA}));
    f.call("elsewhere");
    f.unlock(f.self({kMu}));
  }
  Solved s(u);
  EXPECT_EQ(s.reading("Store::ask"), Reading::Undecided);
  EXPECT_EQ(s.reading("Store::get"), Reading::ReadOnly) << "it silences what it is in, nothing else";
}

TEST(Verdicts, TakingTheLockAgain) {
  Unit u = storeUnit();
  getAndSet(u);
  {
    Fn f(u, "Store::twice");
    f.lock(f.self({kMu})).read(f.self({kA}));
    f.call("Store::get", {}, f.self(), "Store");
    f.unlock(f.self({kMu}));
  }
  EXPECT_EQ(Solved(u).reading("Store::twice"), Reading::Writing);
}

TEST(Verdicts, LocksInACycleAreLeftAlone) {
  // forth: a.mu_ then b.mu_; back: b.mu_ then a.mu_ (globals of two classes)
  Unit u = storeUnit();
  getAndSet(u);
  u.cls("Other", {{"mu_", kMutex}});
  u.global("store", "Store");
  u.global("other", "Other");
  {
    Fn f(u, "forth");
    Path a = f.below(f.global("store"), {kMu}), b = f.below(f.global("other"), {"Other.mu_"});
    f.lock(a).lock(b).unlock(b).unlock(a);
  }
  {
    Fn f(u, "back");
    Path a = f.below(f.global("store"), {kMu}), b = f.below(f.global("other"), {"Other.mu_"});
    f.lock(b).lock(a).unlock(a).unlock(b);
  }
  Solved s(u);
  EXPECT_NE(s.section("Store::get").ineligible, "");
}

TEST(Verdicts, ALockHeldAtReturnIsTheCallersSection) {
  Unit u = storeUnit();
  getAndSet(u);
  {
    Fn f(u, "Store::begin");
    f.lock(f.self({kMu}));
  }
  {
    Fn f(u, "Store::f");
    f.call("Store::begin", {}, f.self(), "Store");
    f.read(f.self({kA})).unlock(f.self({kMu}));
  }
  Solved s(u);
  for (const Section& x : s.solution->sections)
    EXPECT_NE(s.program->text(s.program->functions[x.func].usr), "Store::begin");
  EXPECT_EQ(s.reading("Store::f"), Reading::ReadOnly) << s.reason("Store::f");
}

TEST(Verdicts, OrderOfUnitsDoesNotMatter) {
  Unit a = storeUnit("a.cpp"), b = storeUnit("b.cpp");
  getAndSet(a);
  {
    Fn f(b, "Store::peek");
    f.lock(f.self({kMu})).read(f.self({kA})).unlock(f.self({kMu}));
  }
  Solved forth({a.take(), b.take()}), back({b.take(), a.take()});
  ASSERT_EQ(forth.solution->sections.size(), back.solution->sections.size());
  for (size_t i = 0; i < forth.solution->sections.size(); ++i) {
    const Section &x = forth.solution->sections[i], &y = back.solution->sections[i];
    EXPECT_EQ(forth.program->text(forth.program->functions[x.func].usr), back.program->text(back.program->functions[y.func].usr));
    EXPECT_EQ(x.verdict.reading, y.verdict.reading);
    EXPECT_EQ(x.verdict.reason, y.verdict.reason);
  }
}

}  // namespace
}  // namespace locktidy
