// Text, concise and JSON output, and reading JSON back.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "checker/report/Report.h"

namespace locktidy {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Tree {  // a directory with sources, gone at the end
 public:
  Tree() {
    std::string name = (fs::temp_directory_path() / "locktidy-report-XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~Tree() { fs::remove_all(root_); }
  void write(const std::string& file, const std::string& text) {
    fs::create_directories((fs::path(root_) / file).parent_path());
    std::ofstream(fs::path(root_) / file, std::ios::binary) << text;
    texts_[file] = text;
  }
  const std::string& root() const { return root_; }

  // The place of the `nth` `what` in `file`.
  Place place(const std::string& file, const std::string& what, int nth = 0) const {
    const std::string& text = texts_.at(file);
    size_t at = text.find(what);
    while (nth-- > 0) at = text.find(what, at + 1);
    EXPECT_NE(at, std::string::npos) << what;
    const size_t before = at ? text.rfind('\n', at - 1) : std::string::npos;
    const size_t start = before == std::string::npos ? 0 : before + 1;
    Place place;
    place.file = file;
    place.line =
        static_cast<uint32_t>(1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n'));
    place.column = static_cast<uint32_t>(at - start + 1);
    place.offset = static_cast<uint32_t>(at);
    place.length = static_cast<uint32_t>(what.size());
    return place;
  }
  Edit edit(const std::string& file, const std::string& what, const std::string& with, int nth = 0) const {
    const Place at = place(file, what, nth);
    return {file, sha256Hex(texts_.at(file)), at.offset, at.length, at.line, at.column, what, with};
  }

 private:
  std::string root_;
  std::map<std::string, std::string> texts_;
};

// Registry of CLI.md section 4, with one reader and one writer.
struct Example {
  Tree tree;
  Result result;

  Example() {
    tree.write("include/cfg/registry.h",
               "#pragma once\n#include <map>\n#include <mutex>\n\nclass Registry {\n public:\n  int find(int "
               "key) const;\n"
               "  void insert(int key);\n\n private:\n  mutable std::mutex mu_;\n  std::map<int, int> "
               "entries_;\n};\n");
    tree.write(
        "src/registry.cpp",
        "#include \"cfg/registry.h\"\n\nint Registry::find(int key) const {\n  std::lock_guard lk(mu_);\n"
        "  auto it = entries_.find(key);\n  return it->second;\n}\n\nvoid Registry::insert(int key) {\n\n"
        "  std::lock_guard lk(mu_);\n  entries_.emplace(key, 1);\n}\n");
    Finding f;
    f.id = "7f3a91c2";
    f.fingerprint = "v1:mutex-could-be-shared:c:@S@Registry@FI@mu_";
    f.rule = "mutex-could-be-shared";
    f.code = "LT102";
    f.safety = Safety::Safe;
    f.at = tree.place("include/cfg/registry.h", "mu_");
    f.label = "guards `entries_` (2 sections in 1 file)";
    f.message = "'Registry::mu_' is held exclusively, but 1 of its 2 critical sections only reads";
    f.lock = {"Registry::mu_", "c:@S@Registry@FI@mu_", "std::mutex", f.at};
    f.sections = {reader(), writer()};
    f.because = {"every access to `entries_` in the section is a read: 1 const call on std::map",
                 "no call in it can reach a write of `entries_` (23 calls, all resolved)"};
    f.assumes = {"const members of std:: types may run concurrently ([res.on.data.races])"};
    f.help = {"libstdc++'s shared_mutex prefers readers"};
    f.cost = "T2";
    f.rank = 92.5;
    f.seenInTus = 37;
    f.reads = 11;
    f.callsResolved = 23;
    f.fix.title = "std::mutex → std::shared_mutex; 1 guard → std::shared_lock";
    f.fix.group = f.id;
    f.fix.edits = {tree.edit("include/cfg/registry.h", "std::mutex", "std::shared_mutex"),
                   tree.edit("src/registry.cpp", "std::lock_guard", "std::shared_lock")};
    f.fix.includes = {{"include/cfg/registry.h", "<shared_mutex>"}};
    result.root = tree.root();
    result.findings = {f};
    result.coverage = {412, 409, 2, 1, 400, 1208, 31, {"build/debug", "build/release"}, {}};
    result.coverage.problems = {{"src/a.cpp", "'gone.h' file not found", false},
                                {"src/b.cpp", "1 error", true}};
    result.exitCode = 3;
    result.exitReasons = {"incomplete", "findings"};
    result.tool = {"0.1.0", "22.1.8", "6c1f"};
  }

  SectionNote reader() const {
    SectionNote section{"Registry::find(int) const",
                        "exclusive",
                        "read-only",
                        "called in the loop at src/server.cpp:210",
                        "T2",
                        1,
                        tree.place("src/registry.cpp", "lk"),
                        {}};
    section.accesses = {
        {"this->entries_", "read", "std::map::find", tree.place("src/registry.cpp", "entries_"), {}}};
    return section;
  }
  SectionNote writer() const {
    SectionNote section{"Registry::insert(int)",
                        "exclusive",
                        "writing",
                        "the only writer",
                        "T1",
                        0,
                        tree.place("src/registry.cpp", "lk", 1),
                        {}};
    section.accesses = {
        {"this->entries_", "write", "std::map::emplace", tree.place("src/registry.cpp", "entries_", 1), {}}};
    return section;
  }
  Finding& finding() { return result.findings[0]; }
  std::string text(int width = 100) {
    TextOptions options;
    options.root = tree.root();
    options.width = width;
    return emitText(result, options);
  }
};

// A finding with nothing but a frame around the first `what` of a file.
std::string frameOf(const std::string& source, const std::string& what, const std::string& label,
                    int width = 100, const std::function<void(Finding&, const Tree&)>& more = {}) {
  Tree tree;
  tree.write("a.cpp", source);
  Finding finding;
  finding.rule = "r";
  finding.message = "m";
  finding.at = tree.place("a.cpp", what);
  finding.label = label;
  if (more) more(finding, tree);
  Result result;
  result.findings = {finding};
  TextOptions options;
  options.root = tree.root();
  options.width = width;
  return emitText(result, options);
}

// ---------------------------------------------------------------------------
// Text
TEST(Text, DrawsAWholeFinding) {
  Example example;
  EXPECT_EQ(
      example.text(),
      R"(warning: 'Registry::mu_' is held exclusively, but 1 of its 2 critical sections only reads  [mutex-could-be-shared LT102]
  --> include/cfg/registry.h:11:22
   |
11 |   mutable std::mutex mu_;
   |                      ^^^ guards `entries_` (2 sections in 1 file)
   |
  ::: src/registry.cpp:4:19
   |
 3 | int Registry::find(int key) const {
 4 |   std::lock_guard lk(mu_);
   |                   ^^ read-only section: called in the loop at src/server.cpp:210
 5 |   auto it = entries_.find(key);
   |             -------- read: std::map::find
   |
  ::: src/registry.cpp:11:19
   |
11 |   std::lock_guard lk(mu_);
   |                   ^^ writing section: the only writer
12 |   entries_.emplace(key, 1);
   |   -------- write: std::map::emplace
   |
   = because: every access to `entries_` in the section is a read: 1 const call on std::map;
              no call in it can reach a write of `entries_` (23 calls, all resolved).
   = assumes: const members of std:: types may run concurrently ([res.on.data.races]).
   = fix (safe, 3 edits in 2 files): std::mutex → std::shared_mutex; 1 guard → std::shared_lock
     | include/cfg/registry.h
     |+#include <shared_mutex>
     |-  mutable std::mutex mu_;
     |+  mutable std::shared_mutex mu_;
     | src/registry.cpp
     |-  std::lock_guard lk(mu_);
     |+  std::shared_lock lk(mu_);
   = help: libstdc++'s shared_mutex prefers readers
   = help: locktidy explain 7f3a91c2  ·  locktidy why Registry::mu_
)");
}

// The finding is at an acquisition, the lock is declared elsewhere, and what is
// assumed is numbered below the fix.
TEST(Text, DrawsALikelyFixAtAnAcquisition) {
  Example example;
  Finding& f = example.finding();
  f.rule = "exclusive-lock-on-read";
  f.code = "LT101";
  f.message = "'Registry::mu_' is held exclusively for reads only";
  f.safety = f.fix.safety = Safety::Likely;
  f.at = example.tree.place("src/registry.cpp", "lk");
  f.label.clear();
  f.sections = {example.reader()};
  f.because = {"it only reads."};
  f.assumes = {"src/registry_win.cpp:17 is inside `#ifdef _WIN32` (never compiled here) and names `entries_`",
               "virtual call Hook::onRead() has 1 unanalysed override (libplugin)"};
  f.help.clear();
  f.fix.title = "std::lock_guard → std::shared_lock";
  f.fix.edits.erase(f.fix.edits.begin());
  f.fix.includes.clear();
  EXPECT_EQ(example.text(80),
            R"(warning: 'Registry::mu_' is held exclusively for reads only  [exclusive-lock-on-read LT101]
  --> src/registry.cpp:4:19
   |
 4 |   std::lock_guard lk(mu_);
   |                   ^^ read-only section: called in the loop at
   |                      src/server.cpp:210
 5 |   auto it = entries_.find(key);
   |             -------- read: std::map::find
   |
  ::: include/cfg/registry.h:11:22
   |
11 |   mutable std::mutex mu_;
   |                      --- `Registry::mu_` declared here
   |
   = because: it only reads.
   = fix (likely, 1 edit in 1 file): std::lock_guard → std::shared_lock; 2
       assumptions
     1. src/registry_win.cpp:17 is inside `#ifdef _WIN32` (never compiled here)
        and names `entries_`
     2. virtual call Hook::onRead() has 1 unanalysed override (libplugin)
     | src/registry.cpp
     |-  std::lock_guard lk(mu_);
     |+  std::shared_lock lk(mu_);
   = help: locktidy explain 7f3a91c2  ·  locktidy why Registry::mu_
)");
}

TEST(Text, ExpandsTabsAndDropsCarriageReturns) {
  EXPECT_EQ(frameOf("\tint\tmu_;\r\nx\r\n", "mu_", "here"), R"(warning: m  [r]
 --> a.cpp:1:6
  |
1 |     int mu_;
  |         ^^^ here
  |
)");
}

TEST(Text, WideAndCombiningCharactersKeepTheCaretInPlace) {
  EXPECT_EQ(frameOf("/* 鍵 e\xCC\x81 */ mu_;\n", "mu_", "here"),
            "warning: m  [r]\n --> a.cpp:1:15\n  |\n"
            "1 | /* 鍵 e\xCC\x81 */ mu_;\n  |            ^^^ here\n  |\n");
}

TEST(Text, LeavesNothingThatSteersTheTerminal) {
  const std::string out = frameOf("/* \x1b[31m \xE2\x80\xAE \xff */ mu_;\n", "mu_", "a\nb\x1b", 100,
                                  [](Finding& f, const Tree&) { f.message = "x\x1b]0;y\x07"; });
  EXPECT_EQ(out,
            "warning: x␛]0;y␇  [r]\n --> a.cpp:1:19\n  |\n1 | /* ␛[31m � � */ mu_;\n  |                 ^^^ "
            "a␊b␛\n  |\n");
}

TEST(Text, CutsLongLinesAroundTheCarets) {
  const std::string line = std::string(60, 'a') + " mu_ " + std::string(60, 'b') + "\n";
  EXPECT_EQ(frameOf(line, "mu_", "here", 40), R"(warning: m  [r]
 --> a.cpp:1:62
  |
1 | …aaaaaaaaaa mu_ bbbbbbbbbbbbbbbbbbb…
  |             ^^^ here
  |
)");
  // Carets near the start: only the end is cut.
  EXPECT_EQ(frameOf("mu_ " + line, "mu_", "here", 40), R"(warning: m  [r]
 --> a.cpp:1:1
  |
1 | mu_ aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…
  | ^^^ here
  |
)");
}

TEST(Text, PutsALabelThatDoesNotFitBelowItsCaret) {
  EXPECT_EQ(frameOf("aaaaaaaaaaaaaaaaaaaaaaaaaaaa mu_;\n", "mu_", "a label that is rather long", 40),
            R"(warning: m  [r]
 --> a.cpp:1:30
  |
1 | aaaaaaaaaaaaaaaaaaaaaaaaaaaa mu_;
  |                              ^^^
  |          a label that is rather long
  |
)");
}

TEST(Text, StacksLabelsOfOneLine) {
  const auto accesses = [](Finding& f, const Tree& tree) {
    SectionNote section;
    section.at = f.at;
    section.accesses = {{"b", "write", "", tree.place("a.cpp", "beta"), {}},
                        {"c", "read", "", tree.place("a.cpp", "gamma"), {}}};
    f.sections = {section};
  };
  EXPECT_EQ(frameOf("alpha(beta, gamma);\n", "alpha", "call", 100, accesses), R"(warning: m  [r]
 --> a.cpp:1:1
  |
1 | alpha(beta, gamma);
  | ^^^^^ ----  ----- read of `c`
  | |     |
  | |     write of `b`
  | call
  |
)");
}

TEST(Text, LeavesOutLinesBetweenMarks) {
  const auto access = [](Finding& f, const Tree& tree) {
    SectionNote section;
    section.at = f.at;
    section.function = "f";
    section.accesses = {{"x", "read", "", tree.place("a.cpp", "two"), {}},
                        {"this->n_",
                         "write",
                         "",
                         {"b.h", 9, 3, 0, 1},
                         {{"f", tree.place("a.cpp", "six")}, {"g", {"b.h", 9, 3, 0, 1}}}}};
    f.sections = {section};
  };
  EXPECT_EQ(frameOf("one\nx\ntwo\n4\n5\nsix\n", "one", "lock", 100, access), R"(warning: m  [r]
 --> a.cpp:1:1
  |
1 | one
  | ^^^ lock
2 | x
3 | two
  | --- read of `x`
...
6 | six
  | --- write of `this->n_` through g (b.h:9)
  |
)");
}

TEST(Text, AMissingFileLeavesTheLocation) {
  Example example;
  fs::remove(fs::path(example.tree.root()) / "include/cfg/registry.h");
  const std::string out = example.text();
  EXPECT_NE(out.find("\n  --> include/cfg/registry.h:11:22  guards `entries_` (2 sections in 1 file)\n  ::: "
                     "src/registry.cpp:4:19\n"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find("\n     |-std::mutex\n     |+std::shared_mutex\n"), std::string::npos) << out;
}

TEST(Text, AShorterFileLeavesTheLocation) {
  Example example;
  example.tree.write("include/cfg/registry.h", "#pragma once\n");
  const std::string out = example.text();
  EXPECT_NE(out.find("registry.h:11:22  guards"), std::string::npos) << out;
}

TEST(Text, AShorterLineKeepsTheCaretInside) {
  Example example;
  example.tree.write("include/cfg/registry.h", std::string(10, '\n') + "ab\n");
  const std::string out = example.text();
  EXPECT_NE(out.find("11 | ab\n   |   ^ guards"), std::string::npos) << out;
}

TEST(Text, APipeIsNotRead) {
  Example example;
  const std::string file = example.tree.root() + "/include/cfg/registry.h";
  fs::remove(file);
  ASSERT_EQ(std::system(("mkfifo '" + file + "'").c_str()), 0);
  EXPECT_NE(example.text().find("registry.h:11:22  guards"), std::string::npos);
}

TEST(Text, CountsTheSectionsThatAreNotDrawn) {
  Example example;
  Finding& f = example.finding();
  f.sections = {example.reader(), example.reader(), example.reader(), example.writer(),
                example.writer(), example.writer(), example.reader()};
  const std::string out = example.text();
  EXPECT_NE(out.find("   = sections: 3 more (2 read-only, 1 writing)\n"), std::string::npos) << out;
}

TEST(Text, ShowsTheFirstChangesOfALongFix) {
  Example example;
  std::string source;
  for (int i = 0; i < 9; ++i) source += "lock_guard g" + std::to_string(i) + ";\n";
  example.tree.write("z.cpp", source);
  Finding& f = example.finding();
  f.fix.edits.clear();
  for (int i = 0; i < 9; ++i)
    f.fix.edits.push_back(example.tree.edit("z.cpp", "lock_guard", "shared_lock", i));
  f.fix.edits.push_back(f.fix.edits[0]);  // twice in the group, once in the file
  f.fix.includes.clear();
  const std::string preview =
      "(safe, 9 edits in 1 file): " + f.fix.title +
      "\n     | z.cpp\n     |-lock_guard g0;\n     |+shared_lock g0;\n     |-lock_guard g1;\n"
      "     |+shared_lock g1;\n     |-lock_guard g2;\n     |+shared_lock g2;\n"
      "     | … 6 more:  locktidy fix --diff --only 7f3a91c2\n";
  EXPECT_NE(example.text().find(preview), std::string::npos) << example.text();

  f.fix.safety = Safety::Likely;
  EXPECT_NE(example.text().find("… 6 more:  locktidy fix --diff --unsafe --only 7f3a91c2\n"),
            std::string::npos);
  f.fix.safety = Safety::Candidate;  // no command applies it
  EXPECT_NE(example.text().find("… 6 more\n"), std::string::npos);

  TextOptions options;
  options.root = example.tree.root();
  options.showFix = false;
  f.fix.safety = Safety::Safe;
  EXPECT_NE(emitText(example.result, options).find("\n     | … 9 edits:  locktidy fix"), std::string::npos);
}

TEST(Text, EditsOfOneLineAreOneChange) {
  Example example;
  example.tree.write("z.cpp", "a(mu); b(mu);\nc(mu);\n");
  Finding& f = example.finding();
  f.fix.includes.clear();
  f.fix.edits = {example.tree.edit("z.cpp", "mu", "nu", 1), example.tree.edit("z.cpp", "mu", "nu"),
                 example.tree.edit("z.cpp", "c(mu);\n", "")};
  EXPECT_NE(example.text().find("     | z.cpp\n     |-a(mu); b(mu);\n     |+a(nu); b(nu);\n     |-c(mu);\n"),
            std::string::npos)
      << example.text();
}

TEST(Text, AnIncludeThatIsThereIsNoEdit) {
  Example example;
  example.finding().fix.includes = {{"include/cfg/registry.h", "<map>"}};
  EXPECT_NE(example.text().find("fix (safe, 2 edits in 2 files)"), std::string::npos) << example.text();
}

TEST(Text, LongPreviewLinesShowTheChange) {
  Example example;
  example.tree.write("z.cpp", std::string(70, 'a') + " lock_guard g;\n");
  Finding& f = example.finding();
  f.fix.includes.clear();
  f.fix.edits = {example.tree.edit("z.cpp", "lock_guard", "shared_lock")};
  const std::string out = example.text(50);
  EXPECT_NE(out.find("     |-…aaaaaaaaaaaa lock_guard g;\n     |+…aaaaaaaaaaaa shared_lock g;\n"),
            std::string::npos)
      << out;
}

TEST(Text, StopsAfterMaxFindings) {
  Example example;
  example.result.findings.push_back(example.finding());
  example.result.findings.push_back(example.finding());
  TextOptions options;
  options.maxFindings = 1;
  const std::string out = emitText(example.result, options);
  EXPECT_EQ(out.find("warning:"), out.rfind("warning:"));
  EXPECT_NE(out.find("\n… 2 more findings: --max-findings 0\n"), std::string::npos);
}

TEST(Text, ColourAddsOnlyEscapes) {
  Example example;
  TextOptions options;
  options.root = example.tree.root();
  options.color = true;
  std::string out = emitText(example.result, options);
  EXPECT_NE(out.find("\033[1;33mwarning\033[0m"), std::string::npos);
  std::string plain;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == '\033') {
      i = out.find('m', i);
    } else {
      plain += out[i];
    }
  }
  EXPECT_EQ(plain, example.text());
}

TEST(Text, StaysWithinTheWidth) {
  for (int width : {50, 60, 80}) {
    Example example;
    example.finding().message = "m";
    std::string out = example.text(width);
    const size_t head = out.find('\n') + 1;  // the header line is never broken
    size_t used = 0;
    for (size_t i = head; i < out.size(); ++i) {
      if ((out[i] & 0xc0) != 0x80) ++used;
      if (out[i] != '\n') continue;
      EXPECT_LE(used - 1, static_cast<size_t>(width)) << out;
      used = 0;
    }
  }
}

TEST(Text, ZeroWidthMeansNoLimit) {
  const std::string line = std::string(500, 'a') + " mu_;";
  EXPECT_NE(frameOf(line + "\n", "mu_", "here", 0).find(line), std::string::npos);
}

TEST(Text, AFindingWithoutAPlaceIsALine) {
  Result result;
  result.findings.emplace_back();
  result.findings[0].rule = "incomplete-analysis";
  result.findings[0].message = "m";
  EXPECT_EQ(emitText(result, {}), "warning: m  [incomplete-analysis]\n");
}

TEST(Text, ARulesOwnCommandsAreNotRepeated) {
  Example example;
  example.finding().help = {"locktidy why Registry::mu_", "no edit: a macro"};
  EXPECT_NE(example.text().find("   = help: no edit: a macro\n   = help: locktidy explain 7f3a91c2  ·  "
                                "locktidy why Registry::mu_\n"),
            std::string::npos)
      << example.text();
}

TEST(Text, QuotesLockNamesForTheShell) {
  Example example;
  example.finding().lock.name = "f(int)::mu";
  EXPECT_NE(example.text().find("locktidy why 'f(int)::mu'\n"), std::string::npos);
}

// ---------------------------------------------------------------------------
// Concise and summary
TEST(Concise, OneLinePerFindingAndSection) {
  Example example;
  EXPECT_EQ(emitConcise(example.result),
            "include/cfg/registry.h:11:22: warning: 'Registry::mu_' is held exclusively, but 1 of its 2 "
            "critical sections only reads "
            "[mutex-could-be-shared] (7f3a91c2, safe fix)\n"
            "src/registry.cpp:4:19: note: read-only section: called in the loop at src/server.cpp:210 "
            "[mutex-could-be-shared]\n"
            "src/registry.cpp:11:19: note: writing section: the only writer [mutex-could-be-shared]\n");
}

TEST(Concise, WithoutAFixNamesTheTierAndKeepsLines) {
  Example example;
  Finding& f = example.finding();
  f.fix = {};
  f.safety = Safety::Candidate;
  f.level = Level::Note;
  f.message = "two\nlines";
  f.sections = {example.reader()};
  f.at = f.sections[0].at;  // its own section is no note
  EXPECT_EQ(emitConcise(example.result),
            "src/registry.cpp:4:19: note: two lines [mutex-could-be-shared] (7f3a91c2, candidate)\n");
}

TEST(Summary, CountsUnitsFindingsAndFixes) {
  Result result;
  result.coverage = {415, 412, 2, 1, 0, 1208, 0, {}, {}};
  Finding safe, likely, none;
  safe.fix.edits.emplace_back();
  likely.fix.edits.emplace_back();
  likely.fix.safety = Safety::Likely;
  result.findings.assign(9, safe);
  result.findings.insert(result.findings.end(), 3, likely);
  result.findings.insert(result.findings.end(), 5, none);
  EXPECT_EQ(summaryLine(result, 3),
            "analysed 412/415 TUs (2 degraded, 1 failed), 1208 locks; 17 findings (9 safe fixes, 3 hidden "
            "unsafe: --unsafe)");
}

TEST(Summary, SaysOnlyWhatIsThere) {
  Result result;
  result.coverage = {1, 1, 0, 0, 0, 1, 0, {}, {}};
  EXPECT_EQ(summaryLine(result, 0), "analysed 1/1 TU, 1 lock; 0 findings");
  EXPECT_EQ(summaryLine(result, 2), "analysed 1/1 TU, 1 lock; 0 findings (2 hidden unsafe: --unsafe)");
  result.coverage.failed = 1;
  result.findings.emplace_back().fix.edits.emplace_back();
  EXPECT_EQ(summaryLine(result, 0), "analysed 1/1 TU (1 failed), 1 lock; 1 finding (1 safe fix)");
}

// ---------------------------------------------------------------------------
// JSON Schema, the part of draft-07 that docs/result.schema.json uses.
class Validator {
 public:
  explicit Validator(json schema) : schema_(std::move(schema)) {}
  std::vector<std::string> check(const json& value) {
    errors_.clear();
    visit(schema_, value, "");
    return errors_;
  }

 private:
  static bool hasType(const json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "boolean") return value.is_boolean();
    if (type == "null") return value.is_null();
    ADD_FAILURE() << "unknown type " << type;
    return false;
  }

  void visit(const json& schema, const json& value, const std::string& path) {
    for (const auto& [key, what] : schema.items()) {
      if (key == "$ref") {
        visit(schema_.at(json::json_pointer(what.get<std::string>().substr(1))), value, path);
      } else if (key == "type") {
        const json types = what.is_array() ? what : json::array({what});
        if (std::none_of(types.begin(), types.end(), [&](const json& t) { return hasType(value, t); }))
          errors_.push_back(path + ": is not " + what.dump());
      } else if (key == "enum") {
        if (std::find(what.begin(), what.end(), value) == what.end())
          errors_.push_back(path + ": not one of " + what.dump());
      } else if (key == "required" && value.is_object()) {
        for (const json& name : what)
          if (!value.contains(name)) errors_.push_back(path + ": no " + name.get<std::string>());
      } else if (key == "properties" && value.is_object()) {
        for (const auto& [name, sub] : what.items())
          if (value.contains(name)) visit(sub, value.at(name), path + "/" + name);
      } else if (key == "additionalProperties" && value.is_object()) {
        EXPECT_EQ(what, false);
        for (const auto& [name, sub] : value.items())
          if (!schema.at("properties").contains(name)) errors_.push_back(path + ": unexpected " + name);
      } else if (key == "items" && value.is_array()) {
        for (size_t i = 0; i < value.size(); ++i) visit(what, value[i], path + "/" + std::to_string(i));
      } else {
        static const std::vector<std::string> kKnown = {
            "$schema", "title", "definitions", "required", "properties", "additionalProperties", "items"};
        EXPECT_NE(std::find(kKnown.begin(), kKnown.end(), key), kKnown.end())
            << "keyword not checked: " << key;
      }
    }
  }

  json schema_;
  std::vector<std::string> errors_;
};

json schemaFile() {
  std::ifstream in(LOCKTIDY_SOURCE_DIR "/docs/result.schema.json");
  return json::parse(in, nullptr, false);
}

// Every optional part is there: chains, candidates without a fix, no place.
Result rich() {
  Example example;
  Finding& f = example.finding();
  f.sections[0].accesses[0].chain = {{"Registry::lookup", {"src/registry.cpp", 5, 3, 90, 6}}};
  Finding likely = f, bare;
  likely.at.line += 1;
  likely.safety = likely.fix.safety = Safety::Likely;
  likely.level = Level::Error;
  bare.safety = Safety::Candidate;
  bare.level = Level::Note;
  bare.evidence = "profile";
  example.result.findings = {bare, f, likely};
  return example.result;
}

TEST(Json, FollowsTheSchema) {
  Validator validator(schemaFile());
  const json document = json::parse(emitJson(rich()));
  EXPECT_EQ(validator.check(document), std::vector<std::string>());
  EXPECT_EQ(validator.check(json::parse(emitJson(Result()))), std::vector<std::string>());

  // The validator itself sees errors of each kind.
  json bad = document;
  bad["extra"] = 1;
  bad["coverage"].erase("tus");
  bad["exit"]["code"] = "3";
  bad["findings"][0]["safety"] = "sure";
  bad["findings"][1]["fix"]["edits"][0]["offset"] = 1.5;
  EXPECT_EQ(validator.check(bad).size(), 5u);
}

TEST(Json, HasTheKeysOfTheDesign) {
  const json document = json::parse(emitJson(rich()));
  const json& f = document["findings"][1];
  EXPECT_EQ(document["schema"], "locktidy-result/1");
  EXPECT_EQ(document["root"], ".");
  EXPECT_EQ(document["tool"]["build_id"], "6c1f");
  EXPECT_EQ(document["exit"], json::parse(R"({"code":3,"reasons":["incomplete","findings"]})"));
  EXPECT_EQ(document["coverage"]["from_cache"], 400);
  EXPECT_EQ(f["location"]["line"], 11);
  EXPECT_EQ(f["sections"][0]["mode"], "read-only");
  EXPECT_EQ(f["sections"][0]["held"], "exclusive");
  EXPECT_EQ(f["proof"]["calls_resolved"], 23);
  EXPECT_EQ(f["fix"]["edits"][0]["old"], "std::mutex");
  EXPECT_EQ(f["fix"]["includes"][0]["add"], "<shared_mutex>");
  EXPECT_EQ(f["fix"]["reasons"], json::array());
  EXPECT_EQ(document["findings"][2]["fix"]["reasons"], f["proof"]["assumptions"]);
  EXPECT_TRUE(document["findings"][0]["fix"].is_null());
  EXPECT_EQ(f["rank"], 92.5);
}

TEST(Json, DoesNotNameTheRoot) {
  Example example;
  EXPECT_EQ(emitJson(example.result).find(example.tree.root()), std::string::npos);
}

TEST(Json, DoesNotDependOnTheOrderOfFindings) {
  Result result = rich();
  const std::string expected = emitJson(result);
  std::sort(result.findings.begin(), result.findings.end(),
            [](auto& a, auto& b) { return a.level > b.level; });
  std::reverse(result.coverage.problems.begin(), result.coverage.problems.end());
  EXPECT_EQ(emitJson(result), expected);
}

TEST(Json, ReplacesOddBytes) {
  Result result = rich();
  result.findings[1].message = "bad \xff\xc3 byte";
  result.findings[1].at.file = "dir/\xe9.h";
  result.findings[1].fix.edits[0].oldText = std::string("a\0b\x80", 4);
  const std::string out = emitJson(result);
  const json document = json::parse(out, nullptr, false);
  ASSERT_FALSE(document.is_discarded());
  Result back;
  std::string error;
  ASSERT_TRUE(parseResult(out, back, error)) << error;
  const auto odd = std::find_if(back.findings.begin(), back.findings.end(),
                                [](auto& f) { return f.at.file == "dir/\xEF\xBF\xBD.h"; });
  ASSERT_NE(odd, back.findings.end());
  EXPECT_EQ(odd->message, "bad \xEF\xBF\xBD\xEF\xBF\xBD byte");
}

TEST(Json, WritesNoInfinity) {
  Result result = rich();
  result.findings[1].rank = std::numeric_limits<double>::infinity();
  result.findings[2].rank = std::nan("");
  Result back;
  std::string error;
  EXPECT_TRUE(parseResult(emitJson(result), back, error)) << error;
}

TEST(Json, RoundTrip) {
  const Result result = rich();
  const std::string out = emitJson(result);
  Result back;
  std::string error = "old";
  ASSERT_TRUE(parseResult(out, back, error)) << error;
  EXPECT_EQ(error, "");
  EXPECT_EQ(emitJson(back), out);
  EXPECT_EQ(emitConcise(back), emitConcise(result));
  EXPECT_EQ(emitText(back, {}), emitText(result, {}));
  EXPECT_EQ(summaryLine(back, 1), summaryLine(result, 1));
  ASSERT_EQ(back.findings.size(), 3u);
  EXPECT_EQ(back.findings[1].sections[0].mode, "exclusive");
  EXPECT_EQ(back.findings[1].sections[0].verdict, "read-only");
  EXPECT_EQ(back.findings[1].sections[0].accesses[0].chain[0].at.offset, 90u);
  EXPECT_EQ(back.findings[1].fix.edits[0].sha256, result.findings[1].fix.edits[0].sha256);
  EXPECT_EQ(back.exitReasons, result.exitReasons);
  EXPECT_EQ(back.coverage.problems.size(), 2u);
}

// ---------------------------------------------------------------------------
// Hostile JSON
std::string errorOf(const std::string& text) {
  Result result;
  result.exitCode = 77;
  std::string error;
  EXPECT_FALSE(parseResult(text, result, error));
  EXPECT_EQ(result.exitCode, 77) << "a failed read changed the result";
  return error;
}

// What becomes of a good result when `change` is done to it.
std::string errorAfter(const std::function<void(json&)>& change) {
  json document = json::parse(emitJson(rich()));
  change(document);
  return errorOf(document.dump());
}

TEST(HostileJson, Empty) { EXPECT_EQ(errorOf(""), "not JSON: the file is empty"); }
TEST(HostileJson, OnlySpace) { EXPECT_EQ(errorOf(" \n"), "not JSON: the file is empty"); }
TEST(HostileJson, NotJson) { EXPECT_EQ(errorOf("{\n\"a\": hello}"), "not JSON: error at byte 8, line 2"); }
TEST(HostileJson, TrailingText) { EXPECT_EQ(errorOf("{} x"), "not JSON: error at byte 4, line 1"); }
TEST(HostileJson, InvalidUtf8) {
  EXPECT_NE(errorOf("{\"a\": \"\xff\"}").find("not JSON: error at byte"), std::string::npos);
}
TEST(HostileJson, NumberTooLarge) {
  EXPECT_NE(errorOf("{\"a\": 1e999}").find("not JSON: error at byte"), std::string::npos);
}
TEST(HostileJson, NotAnObject) { EXPECT_EQ(errorOf("[]"), "result: must be an object"); }
TEST(HostileJson, NoSchema) { EXPECT_EQ(errorOf("{}"), "schema: missing"); }

TEST(HostileJson, OtherSchema) {
  EXPECT_EQ(errorAfter([](json& j) { j["schema"] = "locktidy-result/2"; }),
            "schema: must be locktidy-result/1; another version of locktidy wrote this");
}
TEST(HostileJson, OtherTool) {
  EXPECT_EQ(errorAfter([](json& j) { j["tool"]["name"] = "x"; }), "tool.name: must be locktidy");
}
TEST(HostileJson, StringForNumber) {
  EXPECT_EQ(errorAfter([](json& j) { j["findings"][1]["location"]["line"] = "11"; }),
            "findings[1].location.line: must be an integer from 0 to 4294967295");
}
TEST(HostileJson, NegativeNumber) {
  EXPECT_EQ(errorAfter([](json& j) { j["findings"][1]["fix"]["edits"][1]["offset"] = -1; }),
            "findings[1].fix.edits[1].offset: must be an integer from 0 to 4294967295");
}
TEST(HostileJson, NumberThatDoesNotFit) {
  EXPECT_EQ(errorAfter([](json& j) { j["coverage"]["tus"] = 4294967296; }),
            "coverage.tus: must be an integer from 0 to 4294967295");
}
TEST(HostileJson, Fraction) {
  EXPECT_EQ(errorAfter([](json& j) { j["findings"][1]["sections"][0]["loop_depth"] = 1.5; }),
            "findings[1].sections[0].loop_depth: must be an integer from 0 to 2147483647");
}
TEST(HostileJson, NumberForString) {
  EXPECT_EQ(errorAfter([](json& j) { j["findings"][0]["rule"] = 7; }), "findings[0].rule: must be a string");
}
TEST(HostileJson, StringForRank) {
  EXPECT_EQ(errorAfter([](json& j) { j["findings"][0]["rank"] = "high"; }),
            "findings[0].rank: must be a number");
}
TEST(HostileJson, NumberForBoolean) {
  EXPECT_EQ(errorAfter([](json& j) { j["coverage"]["problems"][0]["degraded"] = 0; }),
            "coverage.problems[0].degraded: must be true or false");
}
TEST(HostileJson, ObjectForArray) {
  EXPECT_EQ(errorAfter([](json& j) { j["findings"] = json::object(); }), "findings: must be an array");
}
TEST(HostileJson, ArrayForObject) {
  EXPECT_EQ(errorAfter([](json& j) { j["findings"][2]["lock"] = json::array(); }),
            "findings[2].lock: must be an object");
}
TEST(HostileJson, UnknownLevel) {
  EXPECT_EQ(errorAfter([](json& j) { j["findings"][1]["level"] = "fatal"; }),
            "findings[1].level: must be one of off, note, warning, error");
}
TEST(HostileJson, UnknownSafety) {
  EXPECT_EQ(errorAfter([](json& j) { j["findings"][1]["fix"]["safety"] = "sure"; }),
            "findings[1].fix.safety: must be one of safe, likely, candidate");
}
TEST(HostileJson, DeepNesting) {
  EXPECT_NE(errorOf(std::string(200000, '[')).find("truncated?"), std::string::npos);
  EXPECT_EQ(errorOf(std::string(200000, '[') + std::string(200000, ']')), "result: must be an object");
}
TEST(HostileJson, UnknownKeysAreIgnored) {
  json document = json::parse(emitJson(rich()));
  document["new"] = 1;
  document["findings"][0]["new"] = json::array();
  Result result;
  std::string error;
  EXPECT_TRUE(parseResult(document.dump(), result, error)) << error;
}

TEST(HostileJson, TruncatedAnywhere) {
  const std::string text = emitJson(rich());
  for (size_t length = 1; length + 2 < text.size(); length += 7) {
    const std::string error = errorOf(text.substr(0, length));
    EXPECT_NE(error.find("not JSON: "), std::string::npos) << error;
    EXPECT_NE(error.find("truncated?"), std::string::npos) << length << ' ' << error;
  }
}

// Whatever single value is missing or of another type is named in the error.
TEST(HostileJson, EveryKeyIsNeededAndTyped) {
  static const std::vector<std::string> kNotRead = {"state", "suppressed", "cause"};
  const json good = json::parse(emitJson(rich()));
  size_t tried = 0;
  const std::function<void(const json&, const json::json_pointer&, const std::string&)> visit =
      [&](const json& value, const json::json_pointer& at, const std::string& name) {
        if (!value.is_structured()) return;
        for (const auto& [key, sub] : value.items()) {
          if (std::find(kNotRead.begin(), kNotRead.end(), key) != kNotRead.end()) continue;
          const std::string path = value.is_array() ? name + "[" + key + "]"
                                   : name.empty()   ? key
                                                    : name + "." + key;
          const auto place = value.is_array() ? at / std::stoul(key) : at / key;
          ++tried;
          json wrong = good;
          wrong[place] = sub.is_number() || sub.is_null() ? json("x") : json(7);
          const std::string error = errorOf(wrong.dump());
          EXPECT_EQ(error.rfind(path, 0), 0u) << path << " -> " << error;
          if (value.is_object()) {
            json missing = good;
            missing[at].erase(key);
            EXPECT_EQ(errorOf(missing.dump()), path + ": missing");
          }
          visit(sub, place, path);
        }
      };
  visit(good, json::json_pointer(), "");
  EXPECT_GT(tried, 200u);
}

}  // namespace
}  // namespace locktidy
