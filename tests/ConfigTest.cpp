// .locktidy.json: which file counts for a lock, what it changes, and what is
// said of one that cannot be used.
#include <gmock/gmock.h>

#include "Cli.h"

using testing::HasSubstr;
using testing::Not;

namespace {

constexpr char kRosterHeader[] = R"cpp(#pragma once
#include <mutex>
#include <string>
#include <vector>
class Roster {
 public:
  void add(const std::string& name) {
    std::lock_guard<std::mutex> lock(mutex_);
    names_.push_back(name);
  }
  size_t letters() const {
    std::lock_guard<std::mutex> lock(mutex_);
    size_t n = 0;
    for (const std::string& name : names_) n += name.size();
    return n;
  }
  size_t size() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return names_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> names_;
};
)cpp";

class Config : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    write("lib/roster.h", kRosterHeader);
    write("app/main.cpp", "#include \"../lib/roster.h\"\nRoster r;\nint use() { r.add(\"x\"); return r.letters() + r.size(); }\n");
    database({"app/main.cpp"});
  }
  void expectError(const std::string& config, const std::string& message) {
    write("lib/.locktidy.json", config);
    Outcome run = locktidy({"check"});
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.err, HasSubstr(".locktidy.json: " + message));
    EXPECT_EQ(run.out, "");
  }
};

TEST_F(Config, TheFileNearestToTheLockChoosesTheReplacement) {
  write(".locktidy.json", R"({"version": 1, "fix": {"shared-mutex": "std::shared_timed_mutex"}})");
  write("lib/.locktidy.json", R"({"version": 1, "fix": {"shared-mutex": "locktidy::fair_shared_mutex"}})");
  // Beside the user, not the lock.
  write("app/.locktidy.json", R"({"version": 1, "fix": {"shared-mutex": "boost::shared_mutex"}})");
  Outcome run = locktidy({"fix", "--diff", "--verify", "none"});
  EXPECT_THAT(run.out, HasSubstr("+    std::shared_lock<locktidy::fair_shared_mutex> lock(mutex_);"));
  EXPECT_THAT(run.out, HasSubstr("+    std::lock_guard<locktidy::fair_shared_mutex> lock(mutex_);"));
  EXPECT_THAT(run.out, HasSubstr("+#include <locktidy/fair_shared_mutex.h>"));
  EXPECT_THAT(run.out, HasSubstr("+#include <shared_mutex>"));
}

TEST_F(Config, AFileAboveCountsUpToARoot) {
  write(".locktidy.json", R"({"version": 1, "fix": {"shared-mutex": "std::shared_timed_mutex"}})");
  EXPECT_THAT(locktidy({"fix", "--diff"}).out, HasSubstr("std::shared_timed_mutex"));
  write("lib/.locktidy.json", R"({"version": 1, "root": true})");
  std::string diff = locktidy({"fix", "--diff"}).out;
  EXPECT_THAT(diff, Not(HasSubstr("std::shared_timed_mutex")));
  EXPECT_THAT(diff, HasSubstr("+  mutable std::shared_mutex mutex_;"));
}

TEST_F(Config, ATypeOfTheProgramNamesItsHeader) {
  write(".locktidy.json", R"({"version": 1, "fix": {"shared-mutex": {"type": "acme::RwLock", "header": "\"acme/lock.h\""}}})");
  Outcome run = locktidy({"fix", "--diff", "--verify", "none", "--unsafe"});
  EXPECT_THAT(run.out, HasSubstr("acme::RwLock mutex_;"));
  EXPECT_THAT(run.out, HasSubstr("#include \"acme/lock.h\""));
}

TEST_F(Config, SomeLocksAreLeftAlone) {
  write(".locktidy.json", R"({"version": 1, "locks": {"never-suggest": ["Ros*::mutex_"]}})");
  Outcome run = locktidy({"check"});
  EXPECT_EQ(run.code, 0) << run.out;
}

TEST_F(Config, ShortReadersAreReportedWhereTheProjectAsks) {
  write("lib/short.h", R"cpp(#pragma once
#include <map>
#include <mutex>
class Short {
 public:
  void put(int k, int v) { std::lock_guard<std::mutex> lock(mutex_); map_[k] = v; }
  int get(int k) { std::lock_guard<std::mutex> lock(mutex_); auto it = map_.find(k); return it == map_.end() ? 0 : it->second; }

 private:
  std::mutex mutex_;
  std::map<int, int> map_;
};
)cpp");
  write("app/main.cpp", "#include \"../lib/short.h\"\nShort s;\nint use() { s.put(1, 2); return s.get(1); }\n");
  EXPECT_EQ(locktidy({"check"}).code, 0);
  write(".locktidy.json", R"({"version": 1, "ranking": {"include-t1": true}})");
  Outcome run = locktidy({"check", "-o", "concise"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.out, HasSubstr("lib/short.h:10:14: warning: `Short::mutex_` is exclusive only"));
  EXPECT_THAT(run.out, HasSubstr("candidate"));
}

TEST_F(Config, WhatCannotBeUsedIsNamed) {
  expectError("{", "not valid JSON: ");
  expectError("[]", "must be an object like {\"version\": 1}");
  expectError("{}", "has no \"version\"; add \"version\": 1");
  expectError(R"({"version": 2})", "\"version\" must be 1");
  expectError(R"({"version": 1, "fixx": {}})", "unknown key \"fixx\"; did you mean \"fix\"?");
  expectError(R"({"version": 1, "fix": {"shared-mutexes": "x"}})", "unknown key \"fix.shared-mutexes\"; did you mean \"shared-mutex\"?");
  expectError(R"({"version": 1, "fix": {"unsafe": true}})", "\"fix.unsafe\" does nothing in this version; take it out");
  expectError(R"({"version": 1, "fix": {"shared-mutex": "acme::RwLock"}})",
              "\"fix.shared-mutex\": the header of \"acme::RwLock\" is not known");
  expectError(R"({"version": 1, "ranking": {"include-t1": 1}})", "\"ranking.include-t1\" must be true or false");
}

}  // namespace
