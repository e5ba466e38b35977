// Compilation databases as they are in the wild.
#include "checker/driver/CompileDb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;
using namespace locktidy;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class CompileDbTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "locktidy-db-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    dir_ = fs::canonical(name).string();
    fs::create_directories(dir_ + "/build");
    fs::create_directories(dir_ + "/src");
    for (const char* file : {"/src/a.cpp", "/src/b.cpp", "/src/c.c"})
      std::ofstream(dir_ + file) << "int x;\n";
  }
  void TearDown() override { fs::remove_all(dir_); }

  std::string write(const std::string& file, const std::string& text) {
    std::ofstream(dir_ + "/" + file) << text;
    return dir_ + "/" + file;
  }
  // The database `text` in build/.
  bool load(const std::string& text) {
    write("build/compile_commands.json", text);
    db_ = CompileDb();
    return loadCompileDb({dir_ + "/build"}, changes_, db_, error_);
  }
  std::string loadError(const std::string& text) {
    error_.clear();
    EXPECT_FALSE(load(text)) << text;
    // Messages start with the database's path; the tests look at what follows.
    std::string path = dir_ + "/build/compile_commands.json";
    EXPECT_EQ(error_.compare(0, path.size(), path), 0) << error_;
    return error_.substr(std::min(path.size(), error_.size()));
  }
  std::string entry(const std::string& file, const std::string& rest) {
    return R"({"directory": ")" + dir_ + R"(/build", "file": ")" + file + "\", " + rest + "}";
  }

  std::string dir_, error_;
  CompileDb db_;
  CommandChanges changes_;
};

TEST(SplitCommand, QuotesAndBackslashes) {
  EXPECT_THAT(splitCommand(R"(g++ -DNAME="a b" '-DX="y"' -D\"q\" a\ b.cpp)"),
              ElementsAre("g++", "-DNAME=a b", R"(-DX="y")", R"(-D"q")", "a b.cpp"));
  EXPECT_THAT(splitCommand(R"(cc "a\"b" 'c\d' "")"), ElementsAre("cc", "a\"b", "c\\d", ""));
  EXPECT_THAT(splitCommand("  cc\t-c\n x.c  "), ElementsAre("cc", "-c", "x.c"));
  EXPECT_THAT(splitCommand(""), ElementsAre());
}

TEST_F(CompileDbTest, CommandAndArgumentsRelativeAndAbsolute) {
  ASSERT_TRUE(
      load("[" + entry("../src/a.cpp", R"("command": "g++ -DA -c ../src/a.cpp")") + "," +
           entry(dir_ + "/src/./b.cpp", R"("arguments": ["clang++", "-c", "../src/b.cpp"])") + "]"))
      << error_;
  ASSERT_EQ(db_.units.size(), 2u);
  EXPECT_EQ(db_.units[0].file, dir_ + "/src/a.cpp");
  EXPECT_EQ(db_.units[0].directory, dir_ + "/build");
  EXPECT_THAT(db_.units[0].arguments, ElementsAre("g++", "-DA", "-c", "../src/a.cpp"));
  EXPECT_EQ(db_.units[1].file, dir_ + "/src/b.cpp");
}

TEST_F(CompileDbTest, RelativeDirectoryIsBelowTheDatabase) {
  ASSERT_TRUE(
      load(R"([{"directory": ".", "file": "../src/a.cpp", "command": "g++ -c ../src/a.cpp"}])"));
  EXPECT_EQ(db_.units[0].directory, dir_ + "/build");
  EXPECT_EQ(db_.units[0].file, dir_ + "/src/a.cpp");
}

TEST_F(CompileDbTest, ArgumentsWinOverCommand) {
  ASSERT_TRUE(load(
      "[" + entry("../src/a.cpp", R"("command": "false", "arguments": ["g++", "../src/a.cpp"])") +
      "]"));
  EXPECT_EQ(db_.units[0].arguments[0], "g++");
}

TEST_F(CompileDbTest, SameCommandOnceButConfigurationsKept) {
  ASSERT_TRUE(load(
      "[" + entry("../src/a.cpp", R"("command": "g++ -O2 -c ../src/a.cpp -o one.o")") + "," +
      entry("../src/a.cpp", R"("command": "g++ -O2 -c ../src/a.cpp -o two.o")") + "," +
      entry("../src/a.cpp", R"("command": "g++ -O2 -DDEBUG -c ../src/a.cpp -o one.o")") + "]"));
  EXPECT_EQ(db_.entries, 3u);
  EXPECT_EQ(db_.duplicates, 1u);
  ASSERT_EQ(db_.units.size(), 2u);
  EXPECT_EQ(db_.units[1].arguments[2], "-DDEBUG");
}

TEST_F(CompileDbTest, SeveralDatabasesAreOneProgram) {
  std::string one =
      write("one.json", "[" + entry("../src/a.cpp", R"("command": "g++ -c ../src/a.cpp")") + "]");
  std::string two =
      write("two.json", "[" + entry("../src/a.cpp", R"("command": "g++ -c ../src/a.cpp")") + "," +
                            entry("../src/b.cpp", R"("command": "g++ -c ../src/b.cpp")") + "]");
  ASSERT_TRUE(loadCompileDb({one, two}, changes_, db_, error_)) << error_;
  EXPECT_EQ(db_.units.size(), 2u);
  EXPECT_EQ(db_.duplicates, 1u);
  EXPECT_THAT(db_.names, ElementsAre(one, two));
}

TEST_F(CompileDbTest, ResponseFilesAreExpanded) {
  write("build/flags.rsp", "-DA='x y'\n-I inc @more.rsp");
  write("build/more.rsp", "-DB");
  ASSERT_TRUE(
      load("[" + entry("../src/a.cpp", R"("command": "g++ @flags.rsp -c ../src/a.cpp")") + "]"));
  EXPECT_THAT(db_.units[0].arguments,
              ElementsAre("g++", "-DA=x y", "-I", "inc", "-DB", "-c", "../src/a.cpp"));
}

TEST_F(CompileDbTest, ResponseFileThatIncludesItselfEnds) {
  write("build/flags.rsp", "-DA @flags.rsp");
  ASSERT_TRUE(
      load("[" + entry("../src/a.cpp", R"("command": "g++ @flags.rsp @gone.rsp -c ../src/a.cpp")") +
           "]"));
  EXPECT_LT(db_.units[0].arguments.size(), 40u);
  EXPECT_THAT(db_.units[0].arguments, testing::Contains("@gone.rsp"));
}

TEST_F(CompileDbTest, ExtraAndRemovedArguments) {
  changes_ = {{"-DFIRST"}, {"-DLAST"}, {"-Wall"}};
  ASSERT_TRUE(
      load("[" + entry("../src/a.cpp", R"("command": "g++ -Wall -c -- ../src/a.cpp")") + "]"));
  EXPECT_THAT(db_.units[0].arguments,
              ElementsAre("g++", "-DFIRST", "-c", "-DLAST", "--", "../src/a.cpp"));
}

TEST_F(CompileDbTest, OtherLanguagesAreLeftOut) {
  ASSERT_TRUE(load("[" + entry("boot.S", R"("command": "gcc -c boot.S")") + "," +
                   entry("k.cu", R"("command": "nvcc -c k.cu")") + "," +
                   entry("../src/c.c", R"("command": "gcc -x assembler-with-cpp -c ../src/c.c")") +
                   "," + entry("../src/b.cpp", R"("command": "g++ -xHost -c ../src/b.cpp")") + "," +
                   entry("../src/a.cpp", R"("command": "g++ -xc++ -c ../src/a.cpp")") + "]"));
  EXPECT_THAT(db_.skipped,
              ElementsAre(dir_ + "/build/boot.S", dir_ + "/build/k.cu", dir_ + "/src/c.c"));
  EXPECT_EQ(db_.units.size(), 2u);
}

TEST_F(CompileDbTest, HeaderEntriesAreUnits) {
  write("src/a.h", "int f();\n");
  ASSERT_TRUE(load("[" + entry("../src/a.h", R"("command": "g++ -x c++-header -c ../src/a.h")") +
                   "," + entry("../src/a.h", R"("command": "g++ -c ../src/a.h -DX")") + "]"));
  EXPECT_EQ(db_.units.size(), 2u);
}

TEST_F(CompileDbTest, MissingDirectoryAndSourceAreRecorded) {
  ASSERT_TRUE(load(R"([{"directory": ")" + dir_ +
                   R"(/gone", "file": "a.cpp", "command": "g++ a.cpp"},)" +
                   entry("generated.cpp", R"("command": "g++ -c generated.cpp")") + "]"));
  ASSERT_EQ(db_.units.size(), 2u);
  EXPECT_EQ(db_.units[0].problem, "its directory " + dir_ + "/gone does not exist");
  EXPECT_EQ(db_.units[1].problem,
            "the source file does not exist (generated? build the project first)");
}

TEST_F(CompileDbTest, MalformedDatabases) {
  EXPECT_THAT(loadError("[\n  {\"file\": \"a.cpp\",]\n"),
              testing::StartsWith(":2:20: not JSON: syntax error"));
  EXPECT_THAT(loadError(""), testing::StartsWith(":1:1: not JSON: "));
  EXPECT_THAT(loadError("[]"), testing::StartsWith(": the compilation database is empty; "));
  EXPECT_THAT(loadError("{}"),
              testing::StartsWith(": not a compilation database: expected a list"));
  EXPECT_EQ(loadError("[1]"), ": entry 1 is not an object; make the database again");
  EXPECT_EQ(loadError(R"([{"directory": "/"}])"),
            ": entry 1 has no \"file\"; make the database again");
  EXPECT_EQ(loadError(R"([{"file": "a.c"}])"),
            ": entry 1 (a.c) has no \"directory\"; make the database again");
  EXPECT_EQ(loadError(R"([{"file": 7, "directory": "/"}])"),
            ": entry 1 has a \"file\" that is not a string");
  EXPECT_EQ(loadError("[" + entry("a.c", R"("output": "x")") + "]"),
            ": entry 1 (a.c) has neither \"command\" nor \"arguments\"; make the database again");
  EXPECT_EQ(loadError("[" + entry("a.c", R"("arguments": "cc")") + "]"),
            ": entry 1 (a.c) has \"arguments\" that are not a list");
  EXPECT_EQ(loadError("[" + entry("a.c", R"("arguments": [1])") + "]"),
            ": entry 1 (a.c) has an argument that is not a string");
  EXPECT_EQ(loadError("[" + entry("a.c", R"("command": " ")") + "]"),
            ": entry 1 (a.c) has an empty command");
  EXPECT_EQ(loadError("[" + entry("boot.S", R"("command": "gcc boot.S")") + "]"),
            ": no C or C++ source among its 1 entries");
}

TEST_F(CompileDbTest, MissingDatabaseNamesTheWayOut) {
  EXPECT_FALSE(loadCompileDb({dir_ + "/build"}, changes_, db_, error_));
  EXPECT_THAT(
      error_,
      HasSubstr("/build: no compile_commands.json in this directory; configure with `cmake"));
  EXPECT_FALSE(loadCompileDb({dir_ + "/nowhere"}, changes_, db_, error_));
  EXPECT_THAT(error_,
              HasSubstr("/nowhere: no such file or directory; give -p the build directory"));
}

TEST_F(CompileDbTest, FoundHereInBuildAndAbove) {
  write("build/compile_commands.json",
        "[" + entry("../src/a.cpp", R"("command": "g++ -c ../src/a.cpp")") + "]");
  fs::path before = fs::current_path();
  for (const auto& [from, name] : {std::pair("/build", "."), {"", "build"}, {"/src", "../build"}}) {
    fs::current_path(dir_ + from);
    db_ = CompileDb();
    EXPECT_TRUE(loadCompileDb({}, changes_, db_, error_)) << error_;
    EXPECT_THAT(db_.names, ElementsAre(name));
    EXPECT_THAT(db_.files, ElementsAre(dir_ + "/build/compile_commands.json"));
  }
  fs::current_path(before);
}

TEST_F(CompileDbTest, RootIsTheCheckoutElseWhatHoldsAllSources) {
  std::string text = "[" + entry("../src/a.cpp", R"("command": "g++ -c ../src/a.cpp")") + "," +
                     entry("../src/b.cpp", R"("command": "g++ -c ../src/b.cpp")") + "]";
  ASSERT_TRUE(load(text));
  EXPECT_EQ(programRoot(db_), dir_ + "/src");
  fs::create_directories(dir_ + "/.git");
  EXPECT_EQ(programRoot(db_), dir_);
  // A checkout that holds the database but none of the sources is not theirs.
  fs::remove(dir_ + "/.git");
  fs::create_directories(dir_ + "/build/.git");
  EXPECT_EQ(programRoot(db_), dir_ + "/src");
}

}  // namespace
