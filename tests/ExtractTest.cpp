// Extraction from real C and C++ snippets. Each test writes a file, extracts
// it, and compares the events of one function, a line each.
#include "checker/extract/Extract.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checker/model/FactsIo.h"

namespace locktidy {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

class ExtractTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    dir_ =
        fs::temp_directory_path() / ("locktidy-extract-" + name + "-" + std::to_string(getpid()));
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / name) << text;
  }

  ExtractJob job(const std::string& name, std::vector<std::string> flags = {"-std=c++17"}) {
    ExtractJob job;
    job.directory = job.root = dir_.string();
    job.file = (dir_ / name).string();
    job.resourceDir = findResourceDir();
    bool c = name.ends_with(".c");
    job.arguments = {c ? "cc" : "c++"};
    if (!c || flags.size() != 1 || flags[0] != "-std=c++17")
      job.arguments.insert(job.arguments.end(), flags.begin(), flags.end());
    job.arguments.insert(job.arguments.end(), {"-c", name, "-o", "x.o"});
    return job;
  }

  const TuFacts& extract(const std::string& text, std::vector<std::string> flags = {"-std=c++17"},
                         const std::string& name = "a.cpp") {
    write(name, text);
    facts_ = extractTu(job(name, std::move(flags)));
    EXPECT_EQ(validateFacts(facts_), "");
    return facts_;
  }

  std::string_view str(Str id) const { return facts_.strings.at(id); }

  const FunctionFacts& function(std::string_view name) {
    for (const FunctionFacts& f : facts_.functions)
      if (str(f.name) == name && f.hasBody) return f;
    for (const FunctionFacts& f : facts_.functions)
      if (str(f.name) == name) return f;
    ADD_FAILURE() << "no function " << name;
    static const FunctionFacts none;
    return none;
  }

  const ClassFact& cls(std::string_view name) {
    for (const ClassFact& c : facts_.classes)
      if (str(c.name) == name) return c;
    ADD_FAILURE() << "no class " << name;
    static const ClassFact none;
    return none;
  }

  std::string fieldName(Str usr) {
    for (const ClassFact& c : facts_.classes)
      for (const FieldFact& f : c.fields)
        if (f.usr == usr) return std::string(str(f.name));
    std::string text(str(usr));
    return text.substr(text.rfind('@') + 1);
  }

  std::string show(const FunctionFacts& f, const Path& path) {
    std::string text;
    switch (path.root) {
    case Root::This:
      text = "this";
      break;
    case Root::Param:
      text = "param " + std::string(str(f.params.at(path.index).name));
      break;
    case Root::Local: {
      std::string name(str(f.locals.at(path.index).name));
      text = name.empty() ? "slot" : name;
      break;
    }
    case Root::Global: {
      text = "global";
      for (const GlobalFact& g : facts_.globals)
        if (g.usr == path.entity) text = "global " + std::string(str(g.name));
      for (const FunctionFacts& g : facts_.functions)
        if (g.usr == path.entity) text = "function " + std::string(str(g.name));
      break;
    }
    case Root::Result:
      text = "result of " + shortName(f.calls.at(path.index).name);
      break;
    case Root::Fresh:
      text = "fresh";
      break;
    case Root::Ret:
      text = "ret";
      break;
    case Root::Unknown:
      text = "unknown";
      break;
    }
    for (const Step& step : path.steps) {
      if (step.sel == Sel::Field) text += "." + fieldName(step.field);
      if (step.sel == Sel::Elem) text += "[]";
      if (step.sel == Sel::Deref) text += ".*";
    }
    return text;
  }

  std::string show(const FunctionFacts& f, const Value& value) {
    if (value.kind == ValueKind::None) return "_";
    return (value.kind == ValueKind::Bind ? "&" : "") + show(f, value.path);
  }

  std::string shortName(Str name) {
    std::string text(str(name));
    return text.substr(text.rfind(':') + 1);
  }

  std::string show(const FunctionFacts& f, const Event& event) {
    switch (event.kind) {
    case EventKind::Read:
      return "read " + show(f, event.place);
    case EventKind::Write:
      return "write " + show(f, event.place) + " " + std::string(str(event.op));
    case EventKind::Bind:
      return "bind " + show(f, event.place) + " <- " + show(f, event.value);
    case EventKind::Copy:
      return "copy " + show(f, event.place) + " <- " + show(f, event.value);
    case EventKind::Return:
      return "return";
    case EventKind::EndScope:
      return "end " + show(f, event.place);
    case EventKind::Opaque:
      return "opaque " + std::string(str(event.note));
    case EventKind::Call:
      break;
    }
    const Call& call = f.calls.at(event.call);
    std::string text;
    switch (call.kind) {
    case CallKind::Direct:
      text = "call ";
      break;
    case CallKind::Virtual:
      text = "virtual ";
      break;
    case CallKind::Indirect:
      text = "indirect " + show(f, call.target);
      break;
    case CallKind::Construct:
      text = "construct ";
      break;
    case CallKind::Destroy:
      text = "destroy ";
      break;
    }
    text += shortName(call.name) + "(";
    std::string separator;
    if (call.hasSelf) {
      text += show(f, call.self);
      separator = "; ";
    }
    for (const Arg& arg : call.args) {
      text += separator + show(f, arg.value);
      separator = ", ";
    }
    return text + ")";
  }

  // All events of a function, blocks in order.
  std::vector<std::string> events(std::string_view name) {
    const FunctionFacts& f = function(name);
    EXPECT_FALSE(f.opaque) << str(f.opaqueReason);
    std::vector<std::string> lines;
    for (const Block& block : f.blocks)
      for (const Event& event : block.events) lines.push_back(show(f, event));
    return lines;
  }

  const Call& callNamed(std::string_view function_, std::string_view name) {
    for (const Call& call : function(function_).calls)
      if (shortName(call.name) == name) return call;
    ADD_FAILURE() << "no call of " << name;
    static const Call none;
    return none;
  }

  fs::path dir_;
  TuFacts facts_;
};

constexpr const char* kGuard = R"(
struct Mutex { Mutex(); void lock(); void unlock(); bool try_lock(); };
template <class M> struct Guard { explicit Guard(M& m); ~Guard(); M& m_; };
)";

TEST_F(ExtractTest, EarlyReturnReleasesOnBothPaths) {
  extract(std::string(kGuard) + R"(
struct Cache {
  int get(bool hit) { Guard<Mutex> g(mu_); if (hit) return n_; return 0; }
  Mutex mu_; int n_;
};)");
  EXPECT_THAT(events("Cache::get"),
              ElementsAre("construct Guard(g; &this.mu_)", "read this.n_", "return",
                          "destroy ~Guard(g)", "end g", "return", "destroy ~Guard(g)", "end g"));
  const FunctionFacts& get = function("Cache::get");
  EXPECT_EQ(str(get.calls[0].selfType), "Guard<Mutex>");
  EXPECT_EQ(get.calls[0].local, 0u);
  // The exit is the last block.
  EXPECT_TRUE(get.blocks.back().succs.empty());
  EXPECT_TRUE(get.blocks.back().events.empty());
}

TEST_F(ExtractTest, TemporariesDieAtTheEndOfTheFullExpression) {
  extract(std::string(kGuard) + R"(
Mutex mu; int n;
void comma() { Guard<Mutex>(mu), ++n; }
Guard<Mutex> make();
void bound() { const auto& g = make(); ++n; }
void passed(Guard<Mutex> g);
void pass() { passed(make()); }
)");
  EXPECT_THAT(events("comma"), ElementsAre("construct Guard(slot; &global mu)", "read global n",
                                           "write global n ++", "destroy ~Guard(slot)"));
  EXPECT_THAT(events("bound"),
              ElementsAre("call make()", "bind g <- &result of make", "read global n",
                          "write global n ++", "destroy ~Guard(result of make)"));
  EXPECT_THAT(events("pass"), ElementsAre("call make()", "call passed(result of make)",
                                          "destroy ~Guard(result of make)"));
}

TEST_F(ExtractTest, CopiesThatNobodyMakesAreLeftOutBeforeCxx17) {
  for (const char* standard : {"-std=c++14", "-std=c++17"}) {
    extract(R"(
struct G { G(int&); G(G&&); ~G(); };
G make(int& x) { return G(x); }
void use(int& x) { G a = make(x); G b = G(x); }
)",
            {standard});
    EXPECT_THAT(events("make"), ElementsAre("construct G(ret; &param x.*)", "return")) << standard;
    EXPECT_THAT(events("use"), ElementsAre("call make(&param x.*)", "copy a <- result of make",
                                           "construct G(b; &param x.*)", "destroy ~G(b)", "end b",
                                           "destroy ~G(a)", "end a"))
        << standard;
  }
}

TEST_F(ExtractTest, BracesAroundOneObjectAreThatObject) {
  extract(R"(
struct G { ~G(); int n; G(const G&) = delete; G(int); };
G make();
void use() { G g{make()}; }
)");
  EXPECT_THAT(events("use"),
              ElementsAre("call make()", "copy g <- result of make", "destroy ~G(g)", "end g"));
}

TEST_F(ExtractTest, DefaultArgumentsHappenWhereTheyAreUsed) {
  extract(R"(
struct T { T(int); ~T(); };
int n;
void f(const T& t = T(n), bool b = true);
void use() {
  f();
}
)");
  EXPECT_THAT(events("use"), ElementsAre("read global n", "construct T(slot; _)",
                                         "call f(&slot, _)", "destroy ~T(slot)"));
  const FunctionFacts& use = function("use");
  for (const Block& block : use.blocks)
    for (const Event& event : block.events) EXPECT_EQ(event.loc.line, 6u);
  const Arg& b = callNamed("use", "f").args[1];
  EXPECT_TRUE(b.literalTrue);
  EXPECT_FALSE(b.text.valid());
}

TEST_F(ExtractTest, ConstructorInitialisers) {
  extract(R"(
struct In { In(int*); };
struct Base { Base(int); };
struct P { int a; int* q; };
struct S : Base {
  S(int* p, int& r) : Base(1), in_(p), p_(p), r_(r), pair_{1, p} {}
  In in_; int* p_; int& r_; P pair_; int n_ = 7;
};)");
  EXPECT_THAT(events("S::S"),
              ElementsAre("construct Base(this; _)", "construct In(this.in_; param p)",
                          "write this.p_ init", "copy this.p_ <- param p",
                          "bind this.r_ <- &param r.*", "copy this.pair_.q <- param p",
                          "write this.pair_ init", "write this.n_ init"));
}

TEST_F(ExtractTest, LambdaCapturesAreFields) {
  extract(R"(
struct S {
  int n_; int* p_;
  int run(int& out) {
    int k = 1;
    auto f = [this, k, &out] { out += n_ + k; return *p_; };
    return f();
  }
};)");
  EXPECT_THAT(events("S::run"), ElementsAre("bind f.this <- &this", "bind f.out <- &param out.*",
                                            "call operator()(f)", "return"));
  const FunctionFacts& body = function("S::(anonymous)::(lambda)::operator()");
  EXPECT_TRUE(body.isLambda);
  EXPECT_EQ(body.parent, function("S::run").usr);
  EXPECT_EQ(body.owner, cls("S::(anonymous)::(lambda)").usr);
  EXPECT_THAT(events("S::(anonymous)::(lambda)::operator()"),
              ElementsAre("read this.this.*.n_", "read this.k", "read this.out.*",
                          "write this.out.* +=", "read this.this.*.p_", "read this.this.*.p_.*",
                          "return"));
  const ClassFact& closure = cls("S::(anonymous)::(lambda)");
  EXPECT_TRUE(closure.isLambda);
  EXPECT_EQ(closure.captures.size(), 3u);
}

TEST_F(ExtractTest, ClosuresOfTwoInstantiationsDiffer) {
  extract(R"(
int n;
template <class T> void f(T t) { auto g = [t] { n += t; }; g(); }
void use() { f(1); f(2.0); }
)");
  std::vector<Str> bodies;
  for (const FunctionFacts& f : facts_.functions)
    if (f.isLambda && f.hasBody) bodies.push_back(f.usr);
  EXPECT_EQ(bodies.size(), 2u);
}

TEST_F(ExtractTest, RangeForOverMapWithStructuredBinding) {
  extract(R"(
#include <map>
std::map<int, long> m;
long sum() { long s = 0; for (const auto& [k, v] : m) s += v; return s; }
)");
  EXPECT_THAT(events("sum"), IsSupersetOf({"bind __range1 <- &global m", "call begin(__range1.*)",
                                           "call operator*(__begin1)", "bind v <- &result of get.*",
                                           "read v.*", "write s +=", "call operator++(__begin1)"}));
  EXPECT_TRUE(callNamed("sum", "begin").implicit);
  EXPECT_TRUE(callNamed("sum", "get").implicit);
  EXPECT_EQ(str(callNamed("sum", "begin").name), "std::map::begin");
}

TEST_F(ExtractTest, StructuredBindingOfPlainStruct) {
  extract(R"(
struct P { int a; int* b; } p;
void f() { auto& [a, b] = p; a = 1; *b = 2; }
)");
  EXPECT_THAT(events("f"), ElementsAre("bind slot <- &global p",
                                       "write slot.*.a =", "read slot.*.b", "write slot.*.b.* ="));
}

TEST_F(ExtractTest, ConditionalOperatorsGoThroughSlots) {
  extract(std::string(kGuard) + R"(
int a, b;
int* pick(bool c) { return c ? &a : &b; }
void lock(bool c, Mutex& x, Mutex& y) { (c ? x : y).lock(); }
struct G { G(int&); ~G(); };
G make();
void object(bool c) { G g = c ? make() : G(a); }
)");
  EXPECT_THAT(events("pick"), ElementsAre("bind slot <- &global a", "bind slot <- &global b",
                                          "copy ret <- slot", "return"));
  EXPECT_THAT(events("lock"), ElementsAre("bind slot <- &param x.*", "bind slot <- &param y.*",
                                          "call lock(slot.*)"));
  EXPECT_THAT(events("object"),
              testing::UnorderedElementsAre("call make()", "copy g <- result of make",
                                            "construct G(g; &global a)", "destroy ~G(g)", "end g"));
}

TEST_F(ExtractTest, OutParameters) {
  extract(R"(
struct V { int x; };
void fill(V* out, int& n, const V& in) { out->x = in.x; n = 2; *out = in; }
)");
  EXPECT_THAT(events("fill"), ElementsAre("read param in.*.x", "write param out.*.x =",
                                          "write param n.* =", "read param in.*",
                                          "write param out.* =", "copy param out.* <- param in.*"));
  const FunctionFacts& fill = function("fill");
  EXPECT_TRUE(fill.params[0].isPtr);
  EXPECT_FALSE(fill.params[0].pointeeConst);
  EXPECT_TRUE(fill.params[2].isRef && fill.params[2].pointeeConst);
}

TEST_F(ExtractTest, GuardAnchors) {
  extract(std::string(kGuard) + R"(
#define SCOPE(m) Guard<Mutex> guard_(m)
Mutex mu;
void plain() { const Guard<Mutex> g(mu), h(mu); }
void macro() { SCOPE(mu); }
void deduced() { Guard g(mu); }
)");
  const LocalInfo& plain = function("plain").locals[0];
  EXPECT_EQ(str(plain.typeText.text), "Guard<Mutex>");
  EXPECT_EQ(str(plain.declText.text), "Guard<Mutex> g(mu)");
  EXPECT_FALSE(plain.soleDeclarator);
  const LocalInfo& macro = function("macro").locals[0];
  EXPECT_FALSE(macro.typeText.valid());
  EXPECT_EQ(str(macro.macro), "SCOPE");
  EXPECT_EQ(str(macro.macroName.text), "SCOPE");
  EXPECT_EQ(str(macro.macroCall.text), "SCOPE(mu)");
  EXPECT_EQ(str(function("macro").calls[0].macro), "SCOPE");
  EXPECT_FALSE(function("macro").calls[0].whole.valid());
  const LocalInfo& deduced = function("deduced").locals[0];
  EXPECT_EQ(str(deduced.typeText.text), "Guard");
  EXPECT_EQ(str(deduced.type), "Guard<Mutex>");
  EXPECT_FALSE(deduced.isAuto);
}

TEST_F(ExtractTest, CallAnchors) {
  extract(std::string(kGuard) + "Mutex mu;\nvoid f() { mu.lock(); ::mu.unlock(); }\n");
  const Call& lock = callNamed("f", "lock");
  EXPECT_EQ(str(lock.calleeName.text), "lock");
  EXPECT_EQ(str(lock.whole.text), "mu.lock()");
  EXPECT_TRUE(lock.resultUnused);
  EXPECT_EQ(lock.nameLoc.line, 5u);
  EXPECT_EQ(lock.nameLoc.col, 15u);
}

TEST_F(ExtractTest, VirtualCallsAndWhatMakesThemDirect) {
  extract(R"(
struct B { virtual void f(); virtual ~B(); };
struct D : B { void f() override; };
struct F final : B { void f() override; };
void dynamic(B& b, B* p) { b.f(); delete p; }
void exact(D& d, F& f) { D local; local.f(); d.D::f(); f.f(); }
)");
  EXPECT_THAT(events("dynamic"), ElementsAre("virtual f(param b.*)", "virtual ~B(param p.*)",
                                             "call operator delete(param p)"));
  EXPECT_THAT(events("exact"),
              IsSupersetOf({"call f(local)", "call f(param d.*)", "call f(param f.*)"}));
  EXPECT_EQ(function("D::f").overrides.size(), 1u);
}

TEST_F(ExtractTest, MemberDestructors) {
  extract(R"(
struct In { ~In(); };
struct Base { ~Base(); };
struct S : Base { ~S() {} In a_, b_[2]; int n_; };
struct Implicit { In in_; };
void use() { Implicit x; }
)");
  EXPECT_THAT(events("S::~S"),
              ElementsAre("destroy ~In(this.b_[])", "destroy ~In(this.a_)", "destroy ~Base(this)"));
  EXPECT_THAT(events("Implicit::~Implicit"), ElementsAre("destroy ~In(this.in_)"));
}

TEST_F(ExtractTest, ThrowLeavesScopesUpToTheTry) {
  extract(std::string(kGuard) + R"(
Mutex mu;
void f(bool b) {
  Guard<Mutex> outer(mu);
  try { Guard<Mutex> inner(mu); if (b) throw 1; } catch (int& e) { e = 2; throw; }
}
)");
  const FunctionFacts& f = function("f");
  std::vector<std::string> handler;
  for (const Block& block : f.blocks)
    if (block.handler)
      for (const Event& event : block.events) handler.push_back(show(f, event));
  EXPECT_THAT(handler,
              ElementsAre("bind e <- &slot", "write e.* =", "destroy ~Guard(outer)", "end outer"));
  EXPECT_EQ(std::ranges::count(events("f"), "destroy ~Guard(inner)"), 2);
}

TEST_F(ExtractTest, BranchesOnCallResults) {
  extract(std::string(kGuard) + R"(
Mutex mu; int n;
void direct() { if (!mu.try_lock()) return; ++n; }
void variable() { bool ok = mu.try_lock(); if (ok) ++n; }
void rewritten() { bool ok = mu.try_lock(); ok = true; if (ok) ++n; }
)");
  auto branch = [&](std::string_view name) {
    for (const Block& block : function(name).blocks)
      if (block.branch.call != kNone) return block.branch;
    return Branch();
  };
  EXPECT_EQ(branch("direct").call, 0u);
  EXPECT_TRUE(branch("direct").negated);
  EXPECT_EQ(branch("variable").call, 0u);
  EXPECT_FALSE(branch("variable").negated);
  EXPECT_EQ(branch("rewritten").call, kNone);
}

TEST_F(ExtractTest, FunctionValues) {
  extract(R"(
void g(int);
struct S { void m(); };
void (*table[])(int) = {g};
void f(S& s, void (*fp)(int)) {
  void (*p)(int) = &g; p(1); fp(2);
  void (S::*mp)() = &S::m; (s.*mp)();
  void (*l)(int) = [](int) {}; l(3);
}
)");
  EXPECT_THAT(events("f"),
              ElementsAre("bind p <- &function g", "indirect p(_)", "indirect param fp(_)",
                          "bind mp <- &function S::m", "indirect mp(param s.*)",
                          StartsWith("bind l <- &function (anonymous)::(lambda)::operator()"),
                          "indirect l(_)"));
  EXPECT_EQ(facts_.addressTaken.size(), 4u);
  EXPECT_THAT(events("(global initializer)"), ElementsAre("bind global table[] <- &function g"));
}

TEST_F(ExtractTest, NewAndDelete) {
  extract(R"(
struct S { S(int&); ~S(); };
alignas(S) char buffer[sizeof(S)];
void* operator new(decltype(sizeof(0)), void* p) noexcept;
S* heap(int& x) { S* s = new S(x); return s; }
)");
  EXPECT_THAT(events("heap"), ElementsAre("construct S(fresh; &param x.*)", "call operator new()",
                                          "bind s <- &fresh", "copy ret <- s", "return"));
}

TEST_F(ExtractTest, CFile) {
  extract(R"(
struct node { struct node *next; int v; union { int i; float f; }; };
static struct node *head; _Atomic int hits;
static int work(struct node *n, int i) {
  struct node copy = *n;
  head = n; n->next->v++; hits++; n->i = copy.v; __atomic_fetch_add(&n->v, 1, __ATOMIC_RELAXED);
  __asm__ volatile("pause");
  return ({ int t = i; t; });
}
int start(void) { return work(head, 1); }
)",
          {"-std=c11"}, "a.c");
  EXPECT_EQ(str(facts_.language), "c11");
  EXPECT_THAT(events("work"),
              ElementsAre("read param n.*", "copy copy <- param n.*",
                          "write global head =", "copy global head <- param n",
                          "read param n.*.next", "read param n.*.next.*.v",
                          "write param n.*.next.*.v ++", "call rmw(&global hits)", "read copy.v",
                          "write param n.*..i =", "call __atomic_fetch_add(&param n.*.v, _, _)",
                          "opaque asm: pause", "return"));
  EXPECT_TRUE(function("work").internal);
}

TEST_F(ExtractTest, ThreadSafetyAttributes) {
  extract(R"(
#define A(x) __attribute__((x))
struct A(capability("mutex")) Mu { void lock() A(acquire_capability()); bool try_lock() A(try_acquire_capability(true)); };
struct A(scoped_lockable) L { L(Mu* m) A(acquire_capability(m)); ~L() A(release_capability()); };
struct S { void f() A(requires_capability(mu_)); Mu mu_; int n_ A(guarded_by(mu_)); };
)");
  auto attr = [&](const std::vector<AttrFact>& attrs) {
    return std::string(str(attrs.at(0).kind));
  };
  EXPECT_EQ(attr(cls("Mu").attrs), "capability");
  EXPECT_EQ(attr(cls("L").attrs), "scoped_lockable");
  EXPECT_EQ(attr(function("L::L").attrs), "acquire_capability");
  EXPECT_EQ(function("L::L").attrs[0].args[0].root, Root::Param);
  EXPECT_EQ(attr(function("Mu::try_lock").attrs), "try_acquire_capability");
  EXPECT_EQ(str(function("Mu::try_lock").attrs[0].successValue), "true");
  const FunctionFacts& f = function("S::f");
  EXPECT_EQ(show(f, f.attrs.at(0).args.at(0)), "this.mu_");
  const FieldFact& n = cls("S").fields[1];
  EXPECT_EQ(attr(n.attrs), "guarded_by");
  EXPECT_EQ(show(f, n.attrs[0].args[0]), "this.mu_");
}

TEST_F(ExtractTest, TextThatWasNotAnalysed) {
  extract(R"(
#define BUMP(x) ++(x) // NOLINT
int n;
template <class T> void never(T t) { n = t; }
template <class T> void once(T t) { n = t; }
void use() { once(1); BUMP(n); }
#ifdef ABSENT
void dead() { n = 4; }
#endif
)");
  ASSERT_EQ(facts_.inactive.size(), 2u);
  EXPECT_TRUE(facts_.inactive[0].isTemplate);
  EXPECT_EQ(facts_.inactive[0].begin.line, 4u);
  std::vector<std::string> names;
  for (Str name : facts_.inactive[1].names) names.emplace_back(str(name));
  EXPECT_THAT(names, ElementsAre("ABSENT", "dead", "n", "void"));
  ASSERT_EQ(facts_.macros.size(), 1u);
  EXPECT_EQ(str(facts_.macros[0].body), "++(x)");
  ASSERT_EQ(facts_.comments.size(), 1u);
  EXPECT_EQ(str(facts_.comments[0].text), "// NOLINT");
}

TEST_F(ExtractTest, NamesLeaveOutInlineNamespacesAndArguments) {
  extract(R"(
namespace lib { inline namespace v2 { template <class T> struct Box { T get() const; operator bool() const; }; } }
namespace { struct Hidden { void go(); }; }
void f(lib::Box<int>& b, Hidden& h) { b.get(); if (b) h.go(); }
)");
  const FunctionFacts& f = function("f");
  EXPECT_EQ(str(f.calls[0].name), "lib::Box::get");
  EXPECT_EQ(str(f.calls[0].selfType), "lib::Box<int>");
  EXPECT_TRUE(f.calls[0].constMethod);
  EXPECT_EQ(str(f.calls[1].name), "lib::Box::operator bool");
  EXPECT_EQ(str(f.calls[2].name), "(anonymous)::Hidden::go");
}

TEST_F(ExtractTest, FilesAreNamedFromTheRootAndHashed) {
  write("h.h", "inline int twice(int x) { return 2 * x; }\n");
  extract("#include \"h.h\"\n#include <cstddef>\nint f() { return twice(3); }\n");
  std::vector<std::string> own;
  for (const FileFact& file : facts_.files) {
    EXPECT_EQ(str(file.sha256).size(), 64u);
    if (!file.system) own.emplace_back(str(file.path));
  }
  EXPECT_THAT(own, ElementsAre("a.cpp", "h.h"));
  EXPECT_EQ(str(facts_.mainFile), "a.cpp");
  EXPECT_TRUE(function("twice").hasBody);
}

TEST_F(ExtractTest, BrokenFileIsDegraded) {
  extract(R"(
int n;
void good() { n = 1; }
void bad() { n = undeclared; }
void worse() { n = 1 +; }
)");
  EXPECT_EQ(facts_.status, UnitStatus::Degraded);
  EXPECT_EQ(facts_.errors, 2u);
  EXPECT_THAT(std::string(str(facts_.failure)), StartsWith("a.cpp:4: "));
  EXPECT_THAT(events("good"), ElementsAre("write global n ="));
  EXPECT_TRUE(function("bad").opaque);
  EXPECT_TRUE(function("worse").opaque);
  EXPECT_EQ(str(function("bad").opaqueReason), "does not compile");
}

TEST_F(ExtractTest, MissingHeaderIsOneError) {
  extract("#include \"absent.h\"\nint n;\nvoid f() { n = 1; }\n");
  EXPECT_EQ(facts_.status, UnitStatus::Degraded);
  EXPECT_EQ(facts_.errors, 1u);
  EXPECT_THAT(events("f"), ElementsAre("write global n ="));
}

TEST_F(ExtractTest, MissingFileFails) {
  facts_ = extractTu(job("absent.cpp"));
  EXPECT_EQ(facts_.status, UnitStatus::Failed);
  EXPECT_THAT(std::string(str(facts_.failure)), HasSubstr("absent.cpp"));
  EXPECT_EQ(validateFacts(facts_), "");
}

TEST_F(ExtractTest, OverlayReplacesFiles) {
  write("h.h", "int before;\n");
  write("a.cpp", "#include \"h.h\"\nint f() { return before; }\n");
  ExtractJob edited = job("a.cpp");
  edited.overlay[(dir_ / "h.h").string()] = "int after;\n";
  EXPECT_THAT(checkParses(edited), StartsWith("a.cpp:2: "));
  edited.overlay[(dir_ / "a.cpp").string()] = "#include \"h.h\"\nint f() { return after; }\n";
  EXPECT_EQ(checkParses(edited), "");
  facts_ = extractTu(edited);
  EXPECT_EQ(facts_.status, UnitStatus::Ok);
  EXPECT_THAT(events("f"), ElementsAre("read global after", "return"));
}

TEST_F(ExtractTest, SameFactsFromTwoRuns) {
  extract(std::string(kGuard) +
          "#include <map>\nMutex mu; std::map<int, int> m;\nint f() { Guard<Mutex> g(mu); return "
          "m[1]; }\n");
  std::string once = writeFacts(facts_);
  facts_ = extractTu(job("a.cpp"));
  EXPECT_EQ(writeFacts(facts_), once);
}

TEST_F(ExtractTest, CommandsOfOtherCompilers) {
  std::vector<std::string> dropped;
  std::vector<std::string> clean = cleanArguments(
      {"ccache", "/usr/bin/g++", "-fno-canonical-system-headers", "-fmade-up-by-gcc", "-MD", "-MF",
       "x.d", "-Iinc", "-DX=1", "-std=c++17", "-include-pch", "x.pch", "-o", "x.o", "-c", "a.cpp"},
      &dropped);
  EXPECT_THAT(clean,
              ElementsAre("/usr/bin/g++", "-I", "inc", "-D", "X=1", "-std=c++17", "-c", "a.cpp"));
  EXPECT_THAT(dropped, Contains("ccache"));
  EXPECT_THAT(dropped, Contains("-fmade-up-by-gcc"));
  EXPECT_THAT(dropped, Contains("-fno-canonical-system-headers"));
}

TEST_F(ExtractTest, KnowsItsOwnVersionAndHeaders) {
  EXPECT_THAT(clangVersion(), StartsWith("22."));
  EXPECT_TRUE(fs::exists(fs::path(findResourceDir()) / "include" / "stddef.h"));
}

}  // namespace
}  // namespace locktidy
