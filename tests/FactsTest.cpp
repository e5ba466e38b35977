// The facts' text form: what is written is read back, and nothing else is read.
#include <gtest/gtest.h>

#include <chrono>

#include "checker/model/FactsIo.h"
#include "checker/model/Interner.h"

using namespace locktidy;

namespace {

// A unit in which every record and every optional field occurs.
TuFacts sample() {
  Interner names;
  TuFacts u;
  Loc at{0, 3, 5, 40};
  Anchor text{at, 4, names.intern("mu_\\\n")};
  Str s = names.intern("c:@S@Cache");
  Str type = names.intern("std::map<int, Foo>");
  u.mainFile = names.intern("src/a.cpp");
  u.language = names.intern("c++17");
  u.threadSafetyWarnings = true;
  u.status = UnitStatus::Degraded;
  u.failure = names.intern("src/a.cpp:3: no such thing");
  u.errors = 2;
  u.files = {{u.mainFile, names.intern("ab12"), false}, {names.intern("/usr/x.h"), 0, true}};
  u.types = {{type, TypeKind::Class, true, s, true, s, s, {type, s}, 48}};

  AttrFact attr{names.intern("guarded_by"),
                {{Root::This, 0, 0, {{Sel::Field, s, 0}}}, {Root::Unknown, 0, 0, {}}},
                names.intern("true"),
                text};
  FieldFact field;
  field.usr = names.intern("c:@S@Cache@FI@mu_");
  field.name = names.intern("mu_");
  field.type = type;
  field.isMutable = field.isBitField = true;
  field.attrs = {attr};
  field.loc = at;
  field.typeText = text;
  ClassFact c;
  c.usr = c.name = c.type = c.copyCtor = c.moveCtor = c.copyAssign = c.moveAssign = c.dtor = s;
  c.bases = c.methods = c.friends = c.captures = {s, type};
  c.fields = {field, FieldFact()};
  c.isAbstract = c.internal = true;
  c.attrs = {attr};
  c.loc = at;
  u.classes = {c};
  u.globals = {{s, s, type, true, false, true, false, true, s, {attr}, at, text, {text, text}}, GlobalFact()};

  FunctionFacts f;
  f.usr = s;
  f.name = names.intern("Cache::get");
  f.display = names.intern("Cache::get(int) const");
  f.owner = f.ownerType = f.signature = f.returnType = f.opaqueReason = f.parent = s;
  f.hasBody = f.isConst = f.returnsClass = true;
  f.overrides = {s};
  f.params = {{names.intern("k"), type, true, false, true, false, text, text, true}, ParamInfo()};
  f.attrs = {attr};
  f.attrs[0].args[0].root = Root::Param;
  f.attrs[0].args[0].index = 1;
  LocalInfo local;
  local.name = names.intern("it");
  local.type = type;
  local.isAuto = true;
  local.writes = 7;
  local.loc = at;
  local.typeText = local.initTypeText = local.declText = local.macroName = local.macroCall = text;
  local.macro = s;
  f.locals = {local, LocalInfo()};
  Path deep{Root::Local, 1, 0, {{Sel::Deref, 0, 0}, {Sel::Elem, 0, s}, {Sel::Field, s, 0}}};
  Call call;
  call.kind = CallKind::Indirect;
  call.callee = call.name = call.signature = call.resultType = call.selfType = call.macro = s;
  call.hasSelf = call.implicit = true;
  call.self = deep;
  call.args = {{{ValueKind::Bind, deep}, type, true, false, true, false, s, text}, Arg()};
  call.target = {ValueKind::Copy, {Root::Global, 0, s, {}}};
  call.local = 1;
  call.loc = call.nameLoc = at;
  call.calleeName = call.whole = text;
  f.calls = {call, Call()};
  Event write;
  write.kind = EventKind::Write;
  write.place = deep;
  write.value = {ValueKind::Copy, {Root::Result, 1, 0, {}}};
  write.type = type;
  write.isVolatile = write.rmw = write.rmwUsed = true;
  write.op = write.note = s;
  write.loc = at;
  Event made;
  made.kind = EventKind::Call;
  made.call = 1;
  Event fresh;
  fresh.kind = EventKind::Bind;
  fresh.place = {Root::Ret, 0, 0, {}};
  fresh.value = {ValueKind::Bind, {Root::Fresh, 9, 0, {}}};
  f.blocks = {{{write, made, fresh}, {1, 0}, {1, true}, LoopKind::Open, true}, Block()};
  f.entry = 1;
  f.loc = f.bodyBegin = f.bodyEnd = at;
  u.functions = {f, FunctionFacts()};

  u.aliases = {{s, type, type, text, at}, AliasFact()};
  u.initMacros = {{s, text}};
  u.addressTaken = {{s, type, at}};
  u.inactive = {{at, 9, true, {s, type}}};
  u.macros = {{s, type, true, {s}, at}};
  u.comments = {{at, names.intern("// NOLINT\n// \\n")}};
  u.strings.clear();
  for (uint32_t id = 0; id < names.size(); ++id) u.strings.push_back(names.text(id));
  return u;
}

std::string readError(const std::string& text) {
  TuFacts facts;
  std::string error;
  EXPECT_FALSE(readFacts(text, facts, error)) << text;
  return error;
}

// `text` with the first `from` replaced.
std::string with(std::string text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << "\nnot in\n" << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// A unit with two strings and one function; records are edited in the tests.
const char kSmall[] =
    "locktidy-facts 2\n"
    "strings 3\n"
    "src/a.cpp\n"
    "c:@F@f\n"
    "u 0 1 0 0 0 0 1 0 0 0 1 0 0 0 0 0 0\n"
    "F 0 1 0\n"
    "f 1 2 2 2 0 0 0 0 0 - 0 0 1 1 0 0 1 1 6 - 0 1 0 1 1 1 0\n"
    "p 0 2 0\n"
    "l 32 2 0 0 -\n"
    "c 0 0 2 2 0 0 - 0\n"
    "b 2 0 0 1 0 2\n"
    "e 0 8 0 2 0 0 2 -\n"
    "e 4 64 0 -\n"
    "end\n";

TEST(FactsTest, EveryFieldComesBack) {
  TuFacts facts = sample();
  EXPECT_EQ(validateFacts(facts), "");
  std::string text = writeFacts(facts);
  TuFacts again;
  std::string error;
  ASSERT_TRUE(readFacts(text, again, error)) << error;
  EXPECT_EQ(writeFacts(again), text);
  EXPECT_EQ(dumpFacts(again), dumpFacts(facts));

  // The writer and the reader share one list of fields, so a field forgotten
  // there would pass the comparison above. Look at some by hand.
  EXPECT_EQ(again.strings, facts.strings);
  EXPECT_EQ(again.errors, 2u);
  EXPECT_TRUE(again.threadSafetyWarnings);
  const FunctionFacts& f = again.functions.at(0);
  EXPECT_EQ(f.calls.at(0).self, facts.functions[0].calls[0].self);
  EXPECT_EQ(f.calls[0].local, 1u);
  EXPECT_EQ(f.calls[0].args.at(0).value.path, facts.functions[0].calls[0].args[0].value.path);
  EXPECT_TRUE(f.calls[0].args[0].literalTrue);
  EXPECT_EQ(f.blocks.at(0).succs, (std::vector<uint32_t>{1, 0}));
  EXPECT_TRUE(f.blocks[0].handler && f.blocks[0].branch.negated);
  EXPECT_EQ(f.blocks[0].branch.call, 1u);
  EXPECT_EQ(f.blocks[0].events.at(0).value.path.root, Root::Result);
  EXPECT_TRUE(f.blocks[0].events[0].rmwUsed);
  EXPECT_EQ(f.locals.at(0).writes, 7u);
  EXPECT_EQ(f.locals[0].macroCall.length, 4u);
  EXPECT_EQ(f.entry, 1u);
  EXPECT_EQ(again.globals.at(0).typeText.begin.offset, 40u);
  EXPECT_EQ(again.globals[0].otherTypeTexts.size(), 2u);
  EXPECT_EQ(f.params.at(0).otherTypeText.length, 4u);
  EXPECT_TRUE(f.params[0].moreDeclared);
  EXPECT_EQ(f.attrs.at(0).written.length, 4u);
  EXPECT_EQ(f.blocks[0].loop, LoopKind::Open);
  EXPECT_EQ(again.aliases.at(0).type, facts.aliases[0].type);
  EXPECT_EQ(again.initMacros.at(0).name.length, 4u);
  EXPECT_EQ(again.inactive.at(0).names.size(), 2u);
}

TEST(FactsTest, EmptyUnitIsShort) {
  TuFacts facts, again;
  std::string error, text = writeFacts(facts);
  EXPECT_EQ(text, "locktidy-facts 2\nstrings 1\nu 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\nend\n");
  EXPECT_TRUE(readFacts(text, again, error)) << error;
}

TEST(FactsTest, SmallUnitReads) {
  TuFacts facts;
  std::string error;
  ASSERT_TRUE(readFacts(kSmall, facts, error)) << error;
  EXPECT_EQ(writeFacts(facts), kSmall);
}

TEST(FactsTest, OtherVersionIsRejected) {
  EXPECT_EQ(
      readError(with(kSmall, "facts 2", "facts 1")),
      "line 1: expected facts version 2, found 1: written by another locktidy, extract again");
}

struct Malformed {
  const char *from, *to, *error;
};
class MalformedFacts : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedFacts, IsRejected) {
  EXPECT_EQ(readError(with(kSmall, GetParam().from, GetParam().to)), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    EachBranch, MalformedFacts,
    testing::Values(
        // The frame.
        Malformed{"locktidy-facts 2", "{}", "line 1: expected `locktidy-facts N`, found `{}`"},
        Malformed{"facts 2\n", "facts one\n",
                  "line 1: expected version: a number from 0 to 4294967295, found `one`"},
        Malformed{"facts 2\n", "facts 2 \n",
                  "line 1: expected the end of the line, found the end of the field"},
        Malformed{"strings 3", "string 3", "line 2: expected `strings N`, found `string`"},
        Malformed{"strings 3", "strings 0", "line 2: expected at least 1 string"},
        Malformed{"strings 3", "strings 4000000000",
                  "line 2: expected number of strings that fits the text, found `4000000000`"},
        Malformed{"src/a.cpp", "src\\a.cpp", "line 3: expected `\\n` or `\\\\`, found `\\a.cpp`"},
        Malformed{"end\n", "", "line 14: expected `end`, found the end of the text"},
        Malformed{"end\n", "end", "line 14: expected `end`, found `end`"},
        Malformed{"end\n", "end\nmore\n", "line 14: expected nothing after `end`, found `more`"},
        // Numbers.
        Malformed{"F 0 1 0", "F  1 0",
                  "line 6: expected file flags: a number from 0 to 4294967295, found the end of "
                  "the field"},
        Malformed{"l 32 2 0", "l 32 2 00",
                  "line 9: expected type: a number from 0 to 4294967295, found `00`"},
        Malformed{"l 32 2 0 0", "l 32 2 0 4294967296",
                  "line 9: expected writes: a number from 0 to 4294967295, found `4294967296`"},
        Malformed{"l 32 2 0 0", "l 32 2 0 -1",
                  "line 9: expected writes: a number from 0 to 4294967295, found `-1`"},
        Malformed{"F 0 1 0", "F 0 1",
                  "line 6: expected a space, then sha256, found the end of the field"},
        Malformed{"F 0 1 0", "F 0 1 0 0",
                  "line 6: expected the end of the line, found the end of the field"},
        // Records.
        Malformed{"F 0 1 0\n", "", "line 6: expected a record `F`, found `f`"},
        Malformed{"p 0 2 0", "q 0 2 0", "line 8: expected a record `p`, found `q`"},
        Malformed{"e 4 64 0 -\n", "", "line 13: expected a space, then event, found `nd`"},
        Malformed{"0 0 0 1 0 0 0 0 0 0\n", "0 0 0 9 0 0 0 0 0 0\n",
                  "line 5: expected number of functions that fits the text, found `9`"},
        // Ids and indices.
        Malformed{"F 0 1 0", "F 0 3 0", "line 6: expected path: string id below 3, found `3`"},
        Malformed{"F 0 1 0", "F 2 1 0", "line 6: expected file flags: flags below 2, found `2`"},
        Malformed{"u 0 1 0 0", "u 0 1 0 3", "line 5: expected status: kind below 3, found `3`"},
        Malformed{"l 32 2 0 0 -", "l 32 2 0 0 1 1 1 1",
                  "line 9: expected file: index below 1, found `1`"},
        Malformed{"e 0 8 0 2", "e 8 8 0 2", "line 12: expected event: kind below 8, found `8`"},
        Malformed{"e 0 8 0 2", "e 0 8 8 2", "line 12: expected root: kind below 8, found `8`"},
        Malformed{"b 2 0 0 1 0 2", "b 2 0 0 1 1 2",
                  "line 11: expected successor: index below 1, found `1`"},
        Malformed{"b 2 0 0 1 0 2", "b 2 0 0 1 - 2",
                  "line 11: expected successor: a number from 0 to 4294967295, found `-`"},
        Malformed{"b 2 0 0 1 0 2", "b 2 0 1 1 0 2",
                  "line 11: expected branch call: index below 1, found `1`"},
        Malformed{"e 4 64 0 -", "e 4 64 1 -", "line 13: expected call: index below 1, found `1`"},
        Malformed{"- 0 1 0 1", "- 0 99 0 1",
                  "line 7: expected number of parameters that fits the text, found `99`"},
        // One spelling only: what a flag announces must be there.
        Malformed{"e 4 64 0 -", "e 4 0 -",
                  "line 13: expected call present, as the flags say, found the end of the field"},
        Malformed{
            "e 0 8 0 2 0 0 2 -", "e 0 8 7 0 -",
            "line 12: expected place present, as the flags say, found the end of the field"}));

TEST(FactsTest, TextCutAnywhereIsRejected) {
  std::string text = writeFacts(sample());
  for (size_t size = 0; size < text.size(); ++size) {
    TuFacts facts;
    std::string error;
    EXPECT_FALSE(readFacts(std::string_view(text).substr(0, size), facts, error)) << size;
    EXPECT_FALSE(error.empty()) << size;
  }
}

// No edit of one byte makes the reader crash, and what it accepts it would
// have written itself.
TEST(FactsTest, ChangedBytesAreRejectedOrMeanSomething) {
  const std::string text = writeFacts(sample());
  for (size_t at = 0; at < text.size(); ++at) {
    for (char c : {'0', '7', '-', ' ', '\n', 'x'}) {
      std::string changed = text;
      changed[at] = c;
      TuFacts facts;
      std::string error;
      if (!readFacts(changed, facts, error)) continue;
      EXPECT_EQ(writeFacts(facts), changed) << "byte " << at;
      EXPECT_EQ(validateFacts(facts), "") << "byte " << at;
    }
  }
}

TEST(FactsTest, ValidateNamesTheRecord) {
  auto broken = [](auto change) {
    TuFacts facts = sample();
    change(facts);
    return validateFacts(facts);
  };
  EXPECT_EQ(broken([](TuFacts& u) { u.version = 9; }), "version 9 is not 2");
  EXPECT_EQ(broken([](TuFacts& u) { u.strings.clear(); }), "string 0 is not the empty string");
  EXPECT_EQ(broken([](TuFacts& u) { u.language = 999; }).substr(0, 37),
            "unit 0: language string id 999 is not");
  EXPECT_EQ(broken([](TuFacts& u) { u.globals[0].loc.file = 2; }),
            "global 0: file index 2 is not below 2");
  EXPECT_EQ(broken([](TuFacts& u) { u.functions[0].blocks[0].succs[0] = 2; }),
            "function 0: successor index 2 is not below 2");
  EXPECT_EQ(broken([](TuFacts& u) { u.functions[0].blocks[0].events[1].call = kNone; }),
            "function 0: call is missing");
  EXPECT_EQ(broken([](TuFacts& u) { u.functions[0].calls[0].local = 2; }),
            "function 0: local index 2 is not below 2");
  EXPECT_EQ(broken([](TuFacts& u) { u.functions[1].entry = 1; }),
            "function 1: entry index 1 is not below 1");
  EXPECT_EQ(broken([](TuFacts& u) { u.types[0].kind = static_cast<TypeKind>(77); }),
            "type 0: type kind 77 is not below 11");
  // Roots of attributes on a field: no parameters there.
  EXPECT_EQ(broken([](TuFacts& u) { u.classes[0].fields[0].attrs[0].args[0].root = Root::Param; }),
            "class 0: parameter index 0 is not below 0");
}

TEST(FactsTest, DumpSpellsPlaces) {
  std::string dump = dumpFacts(sample());
  EXPECT_NE(dump.find("unit src/a.cpp  c++17  degraded  errors 2  thread-safety\n"),
            std::string::npos)
      << dump;
  EXPECT_NE(dump.find("func Cache::get(int) const  method c:@S@Cache  @src/a.cpp:3:5\n"),
            std::string::npos)
      << dump;
  EXPECT_NE(dump.find("write local #1.*[c:@S@Cache].Cache <- result c1"), std::string::npos)
      << dump;
  EXPECT_NE(dump.find("    -> b1 b0 if !c1\n"), std::string::npos) << dump;
  EXPECT_NE(dump.find("field mu_: std::map<int, Foo> mutable bit-field  @3:5  type=3:5+4\n"),
            std::string::npos)
      << dump;
}

// Reading must not be what a run waits for; the bound is loose enough for a
// busy machine and an unoptimised build.
TEST(FactsTest, ReadsFast) {
  TuFacts facts = sample();
  facts.functions.resize(20000, facts.functions[0]);
  std::string text = writeFacts(facts), error;
  auto start = std::chrono::steady_clock::now();
  TuFacts again;
  ASSERT_TRUE(readFacts(text, again, error)) << error;
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  RecordProperty("megabytes-per-second", std::to_string(text.size() / seconds / 1e6));
  EXPECT_GT(text.size() / seconds, 2e6);
}

}  // namespace
