// Commands, options, outputs and exit codes of the built binary. What is bad
// input is in BadInputTest.cpp.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "Cli.h"

using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

class Commands : public CliTest {
 protected:
  void registry() {
    write("registry.h", kRegistryHeader);
    write("registry.cpp", kRegistrySource);
    write("main.cpp", kMainSource);
    database({"registry.cpp", "main.cpp"});
  }
  // The same as one unit, where nothing depends on there being several: most of
  // a run is Clang reading headers.
  void oneUnit() {
    write("registry.h", kRegistryHeader);
    write("registry.cpp", std::string(kRegistrySource) + kMainSource);
    database({"registry.cpp"});
  }
};

// --- which command, which option -------------------------------------------

TEST_F(Commands, HelpAndVersion) {
  Outcome run = locktidy({"--help"});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, HasSubstr("doctor"));
  EXPECT_EQ(run.err, "");
  run = locktidy({"fix", "--help"});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, HasSubstr("--unsafe"));
  EXPECT_THAT(run.out, HasSubstr("Usage: locktidy fix [OPTIONS]"));
  run = locktidy({"version"});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, StartsWith("locktidy "));
  EXPECT_EQ(locktidy({"--version"}).out, run.out);
  run = locktidy({"version", "--json"});
  EXPECT_EQ(json::parse(run.out, nullptr, false)["name"], "locktidy");
}

TEST_F(Commands, CheckIsTheDefault) {
  oneUnit();
  Outcome full = locktidy({"check", "-p", ".", "-o", "concise"});
  EXPECT_EQ(full.code, 1) << full.err;
  for (std::vector<std::string> arguments :
       std::initializer_list<std::vector<std::string>>{{"-p", ".", "-o", "concise"},
                                                       {"-p=.", "-o=concise"},
                                                       {"--build=.", "-output=concise"},
                                                       {"registry.cpp", "-o", "concise"},
                                                       {"-o", "concise"}}) {
    Outcome run = locktidy(arguments);
    EXPECT_EQ(run.code, 1) << run.err;
    EXPECT_EQ(run.out, full.out);
  }
}

TEST_F(Commands, DatabaseFromStdin) {
  oneUnit();
  std::string file = dir_ + "/compile_commands.json";
  auto fromFile = [&] { ::dup2(::open(file.c_str(), O_RDONLY), 0); };
  Outcome run = locktidy({"check", "-p", "-", "-o", "concise"}, fromFile);
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_THAT(run.out, StartsWith("registry.cpp:4:38: warning: "));
  run = locktidy({"check", "-p", "-"});  // nothing comes
  EXPECT_EQ(run.code, 2);
  EXPECT_TRUE(run.says("/<stdin>:1:1: not JSON: ")) << run.err;
}

TEST_F(Commands, RulesAndExplain) {
  Outcome run = locktidy({"rules"});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, HasSubstr("LT101  exclusive-lock-on-read"));
  EXPECT_THAT(locktidy({"rules", "-o", "markdown"}).out,
              HasSubstr("| LT401 | `write-under-shared-lock` | error |"));
  json list = json::parse(locktidy({"rules", "-o", "json"}).out, nullptr, false);
  ASSERT_TRUE(list.is_array());
  EXPECT_EQ(list[0]["code"], "LT101");
  run = locktidy({"explain", "LT101"});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, HasSubstr("exclusive-lock-on-read"));
  EXPECT_EQ(locktidy({"explain", "exclusive-lock-on-read"}).out, run.out);
}

TEST_F(Commands, DoctorSaysWhatItFinds) {
  registry();
  write(
      "compile_commands.json",
      R"([{"directory": ".", "file": "registry.cpp", "command": "g++ -fno-such-gcc-flag -c registry.cpp"},
            {"directory": "gone", "file": "x.cpp", "command": "g++ -c x.cpp"},
            {"directory": ".", "file": "boot.S", "command": "gcc -c boot.S"}])");
  Outcome run = locktidy({"doctor", "-p", "."});
  EXPECT_EQ(run.code, 0) << run.out;
  EXPECT_THAT(run.out, HasSubstr("stddef.h is there"));
  EXPECT_THAT(run.out, HasSubstr("rules/models"));
  EXPECT_THAT(run.out, HasSubstr("3 entries, 0 duplicates, 1 not C or C++: 2 units"));
  EXPECT_THAT(run.out, HasSubstr("/gone does not exist"));
  EXPECT_THAT(run.out, HasSubstr("-fno-such-gcc-flag (1 units)"));
  EXPECT_THAT(run.out, HasSubstr("registry.cpp: no errors"));
}

TEST_F(Commands, FactsDump) {
  registry();
  Outcome run = locktidy({"facts", "dump", "registry.cpp"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("unit registry.cpp  c++17  ok"));
  EXPECT_THAT(run.out, HasSubstr("func Registry::find(int) const"));
  EXPECT_EQ(locktidy({"facts", "dump", "registry.h"}).code, 2);
  EXPECT_EQ(locktidy({"facts"}).code, 2);
}

// --- output -----------------------------------------------------------------

TEST_F(Commands, JsonAloneOnStdoutAndSummaryLast) {
  registry();
  write("broken.cpp", "int f( {\n");
  database({"registry.cpp", "broken.cpp", "main.cpp"});
  Outcome run = locktidy(
      {"check", "-o", "json", "-o", "text=report.txt", "--statistics", "--explain-unknown"});
  EXPECT_EQ(run.code, 3);
  json result = json::parse(run.out, nullptr, false);
  ASSERT_TRUE(result.is_object()) << run.out;
  EXPECT_EQ(result["coverage"]["tus"], 3);
  EXPECT_EQ(result["coverage"]["ok"], 2);
  EXPECT_EQ(result["coverage"]["degraded"], 1);
  EXPECT_EQ(result["exit"]["code"], 3);
  EXPECT_EQ(result["exit"]["reasons"], json({"incomplete", "findings"}));
  EXPECT_THAT(run.lastLine(), StartsWith("analysed 2/3 TUs (1 degraded), "));
  EXPECT_THAT(read("report.txt"), HasSubstr("exclusive-lock-on-read"));
  EXPECT_TRUE(run.says("exclusive sections"));
}

TEST_F(Commands, SavedResultIsPrintedAgain) {
  oneUnit();
  Outcome check = locktidy({"check", "--save-result", "r.json", "-o", "concise"});
  EXPECT_EQ(check.code, 1);
  Outcome report = locktidy({"report", "r.json", "-o", "concise"});
  EXPECT_EQ(report.code, 1) << report.err;
  EXPECT_EQ(report.out, check.out);
  EXPECT_EQ(report.lastLine(), check.lastLine());
  EXPECT_EQ(locktidy({"report", "r.json", "--exit-zero"}).code, 0);
}

TEST_F(Commands, SameBytesForAnyJobsAndAnyOrder) {
  registry();
  std::string first;
  for (const char* jobs : {"1", "2", "5"}) {
    for (bool turned : {false, true}) {
      database(turned ? std::vector<std::string>{"main.cpp", "registry.cpp"}
                      : std::vector<std::string>{"registry.cpp", "main.cpp"});
      Outcome run = locktidy({"check", "-j", jobs, "-o", "json", "-p", "."});
      EXPECT_EQ(run.code, 1);
      if (first.empty()) first = run.out;
      EXPECT_EQ(run.out, first) << jobs;
    }
  }
}

TEST_F(Commands, Colours) {
  oneUnit();
  EXPECT_THAT(locktidy({"check"}).out, testing::Not(HasSubstr("\x1b[")));
  EXPECT_THAT(locktidy({"check", "--color", "always"}).out, HasSubstr("\x1b["));
}

TEST_F(Commands, QuietKeepsTheSummaryUntilTwice) {
  oneUnit();
  EXPECT_THAT(locktidy({"check", "-q"}).err, StartsWith("analysed 1/1 TU"));
  EXPECT_EQ(locktidy({"check", "-qq"}).err, "");
}

// --- exit codes, CLI.md 2 ---------------------------------------------------

TEST_F(Commands, FindingsByLevel) {
  oneUnit();
  EXPECT_EQ(locktidy({"check"}).code, 1);
  EXPECT_EQ(locktidy({"check", "--fail-on", "error"}).code, 0);
  EXPECT_EQ(locktidy({"check", "--fail-on", "note"}).code, 1);
  EXPECT_EQ(locktidy({"check", "--fail-on", "never"}).code, 0);
  EXPECT_EQ(locktidy({"check", "--exit-zero"}).code, 0);
  EXPECT_EQ(locktidy({"check", "--ignore", "LT101"}).code, 0);
  EXPECT_EQ(locktidy({"check", "--select", "write-*"}).code, 0);
  EXPECT_EQ(locktidy({"check", "--select", "candidate"}).code, 0);
  EXPECT_EQ(locktidy({"check", "--select", "exclusive-lock-on-read,safe,likely"}).code, 1);
}

TEST_F(Commands, PathsChooseWhatIsReported) {
  oneUnit();
  write("other.cpp", "int other;\n");
  database({"registry.cpp", "other.cpp"});
  EXPECT_EQ(locktidy({"check", "registry.cpp"}).code, 1);
  EXPECT_EQ(locktidy({"check", "registry.h"}).code, 1);  // the lock is there
  EXPECT_EQ(locktidy({"check", "."}).code, 1);
  EXPECT_EQ(locktidy({"check", "other.cpp"}).code, 0);
}

TEST_F(Commands, IncompleteByPolicy) {
  oneUnit();
  write("broken.cpp", "int f( {\n");
  database({"registry.cpp", "broken.cpp", "gone.cpp"});
  Outcome run = locktidy({"check"});
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.lastLine(), StartsWith("analysed 1/3 TUs (1 degraded, 1 failed), "));
  EXPECT_THAT(run.out, HasSubstr("exclusive-lock-on-read"));  // findings all the same
  EXPECT_EQ(locktidy({"check", "--exit-zero"}).code, 3);
  EXPECT_EQ(locktidy({"check", "--max-failed-tus", "1"}).code, 3);
  EXPECT_EQ(locktidy({"check", "--max-failed-tus", "2"}).code, 1);
  EXPECT_EQ(locktidy({"check", "--max-failed-tus", "67%"}).code, 1);
  EXPECT_EQ(locktidy({"check", "--max-failed-tus", "66%"}).code, 3);
  EXPECT_EQ(locktidy({"check", "--incomplete", "ignore"}).code, 1);
  run = locktidy({"check", "--incomplete", "warn", "--exit-zero"});
  EXPECT_EQ(run.code, 0);
  EXPECT_TRUE(run.says("warning: the analysis is incomplete: 1 unit failed, 1 degraded"));
}

// --- fix --------------------------------------------------------------------

TEST_F(Commands, FixTwiceIsFixOnce) {
  oneUnit();
  Outcome run = locktidy({"fix"});
  EXPECT_EQ(run.code, 0) << run.err << run.out;
  EXPECT_TRUE(run.says("applied 1 of 1 fix in 1 file")) << run.err;
  std::string fixed = read("registry.cpp");
  EXPECT_THAT(fixed, HasSubstr("std::shared_lock<std::shared_mutex> g(mu_);  // lookup takes"));
  EXPECT_EQ(locktidy({"check"}).code, 0);
  run = locktidy({"fix"});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(read("registry.cpp"), fixed);
  EXPECT_EQ(read("registry.h"), kRegistryHeader);
}

TEST_F(Commands, FixDiffPrintsAndWritesNothing) {
  oneUnit();
  Outcome run = locktidy({"fix", "--diff"});
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_THAT(run.out, StartsWith("diff --git a/registry.cpp b/registry.cpp\n"));
  EXPECT_THAT(run.out, HasSubstr("\n-  std::lock_guard<std::shared_mutex> g(mu_);  // lookup"));
  EXPECT_THAT(run.out, HasSubstr("\n+  std::shared_lock<std::shared_mutex> g(mu_);  // lookup"));
  EXPECT_THAT(read("registry.cpp"), StartsWith(kRegistrySource));
  write("the.patch", run.out);
  EXPECT_EQ(std::system(("cd " + dir_ + " && patch -p1 -s --dry-run < the.patch").c_str()), 0);
  run = locktidy({"fix", "--check"});
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(locktidy({"fix"}).code, 0);
  run = locktidy({"fix", "--diff"});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out, "");
}

TEST_F(Commands, LlvmSpellingOfFix) {
  oneUnit();
  EXPECT_EQ(locktidy({"-p=.", "-fix"}).code, 0);
  EXPECT_THAT(read("registry.cpp"),
              HasSubstr("std::shared_lock<std::shared_mutex> g(mu_);  // lookup"));
}

TEST_F(Commands, FixOnlyWhatIsAskedFor) {
  oneUnit();
  EXPECT_EQ(locktidy({"fix", "--only", "LT401"}).code, 1);
  EXPECT_THAT(read("registry.cpp"), StartsWith(kRegistrySource));
  EXPECT_EQ(locktidy({"fix", "--only", "Registry::mu_"}).code, 0);
  EXPECT_THAT(read("registry.cpp"), testing::Not(StartsWith(kRegistrySource)));
}

TEST_F(Commands, FixThatDoesNotCompileIsDropped) {
  registry();
  std::string source = kRegistrySource;
  size_t at = source.find("  auto it =");
  source.insert(
      at, "  static_assert(std::is_same_v<decltype(g), std::lock_guard<std::shared_mutex>>);\n");
  write("registry.cpp", source);
  Outcome run = locktidy({"fix"});
  EXPECT_EQ(run.code, 4) << run.err;
  EXPECT_TRUE(run.says("registry.cpp:4: fix ")) << run.err;
  EXPECT_TRUE(run.says("not applied: does not compile with it: registry.cpp:5: ")) << run.err;
  EXPECT_EQ(read("registry.cpp"), source);
  // Not verified, it is applied: the user asked for it.
  EXPECT_EQ(locktidy({"fix", "--verify", "none"}).code, 0);
  EXPECT_NE(read("registry.cpp"), source);
}

TEST_F(Commands, GroupsThatCompileLandWithoutTheOther) {
  registry();
  std::string header = kRegistryHeader, source = kRegistrySource;
  header.insert(header.find("  void insert"), "  int first() const;\n");
  source += R"cpp(
int Registry::first() const {
  std::lock_guard<std::shared_mutex> g(mu_);
  static_assert(std::is_same_v<decltype(g), std::lock_guard<std::shared_mutex>>);
  return entries_.empty() ? 0 : entries_.begin()->first;
}
)cpp";
  std::string main = kMainSource;
  main.insert(main.find("      registry.count"), "      registry.first();\n");
  write("registry.h", header);
  write("registry.cpp", source);
  write("main.cpp", main);
  Outcome run = locktidy({"fix"});
  EXPECT_EQ(run.code, 4) << run.err;
  EXPECT_TRUE(run.says("applied 1 of 2 fixes in 1 file")) << run.err;
  std::string fixed = read("registry.cpp");
  EXPECT_THAT(fixed, HasSubstr("std::shared_lock<std::shared_mutex> g(mu_);  // lookup"));
  EXPECT_THAT(fixed, HasSubstr("std::lock_guard<std::shared_mutex> g(mu_);\n  static_assert"));
}

// --- why, explain -----------------------------------------------------------

TEST_F(Commands, WhyNamesWhatBlocks) {
  registry();
  Outcome run = locktidy({"why", "Registry::mu_"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("registry.cpp:15"));
  run = locktidy({"why", "registry.cpp:15"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("Registry::mu_"));
  run = locktidy({"why", "Registry::nothing_"});
  EXPECT_EQ(run.code, 2);
  EXPECT_TRUE(run.says("Registry::nothing_: no lock of that name"));
}

TEST_F(Commands, LocksListsEverySection) {
  registry();
  Outcome run = locktidy({"locks"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("Registry::mu_"));
  EXPECT_THAT(run.out, HasSubstr("registry.cpp:4  exclusive  read-only  Registry::find"));
  run = locktidy({"locks", "-o", "json"});
  auto locks = nlohmann::json::parse(run.out)["locks"];
  ASSERT_EQ(locks.size(), 1u);
  EXPECT_EQ(locks[0]["name"], "Registry::mu_");
  EXPECT_EQ(locks[0]["sections"].size(), 3u);
  EXPECT_EQ(locks[0]["sections"][0]["verdict"], "read-only");
}

// A kept unit is not parsed again; a change in a header it reads is noticed.
TEST_F(Commands, CacheDirKeepsUnchangedUnits) {
  registry();
  std::vector<std::string> check{"check", "--cache-dir", "kept", "-o", "json"};
  auto cached = [&](const Outcome& run) { return nlohmann::json::parse(run.out)["coverage"]["from_cache"].get<int>(); };
  Outcome cold = locktidy(check), warm = locktidy(check);
  EXPECT_EQ(cached(cold), 0) << cold.err;
  int units = nlohmann::json::parse(cold.out)["coverage"]["tus"].get<int>();
  EXPECT_EQ(cached(warm), units) << warm.err;
  auto findings = [](const Outcome& run) { return nlohmann::json::parse(run.out)["findings"]; };
  EXPECT_EQ(findings(cold), findings(warm));
  write("registry.h", read("registry.h") + "// changed\n");
  EXPECT_EQ(cached(locktidy(check)), 0);
  EXPECT_EQ(cached(locktidy({"check", "--cache-dir", "kept", "--no-cache", "-o", "json"})), 0);
  // What is damaged is no entry.
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_ + "/kept"))
    if (entry.is_regular_file()) std::filesystem::resize_file(entry.path(), entry.file_size() / 2);
  Outcome again = locktidy(check);
  EXPECT_EQ(cached(again), 0) << again.err;
  EXPECT_EQ(findings(cold).size(), findings(again).size());
  Outcome bad = locktidy({"check", "--cache-dir", "registry.h/kept"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_TRUE(bad.says("registry.h/kept: cannot be made a directory")) << bad.err;
}

TEST_F(Commands, ExplainFinding) {
  oneUnit();
  json result = json::parse(locktidy({"check", "-o", "json"}).out, nullptr, false);
  ASSERT_EQ(result["findings"].size(), 1u);
  std::string id = result["findings"][0]["id"];
  Outcome run = locktidy({"explain", id});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("exclusive-lock-on-read"));
  run = locktidy({"explain", "00000000"});
  EXPECT_EQ(run.code, 2);
  EXPECT_TRUE(run.says("no finding 00000000 in this program"));
}

}  // namespace
