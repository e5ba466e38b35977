// Planning, diffs, writing, and where includes go.
#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <sstream>

#include "checker/report/Report.h"

// Failures of the system, on demand. These stand before the C library's own.
namespace {
int renamesUntilFailure = -1;  // -1: never
int renamesFailing = 0;        // how many fail then
int syncsUntilFailure = -1;
bool linksFail = false;
std::function<void()> beforeRename;

bool due(int& counter) { return counter >= 0 && counter-- == 0; }
}  // namespace

extern "C" int rename(const char* from, const char* to) noexcept {
  if (beforeRename) beforeRename();
  if (renamesUntilFailure == 0 && renamesFailing > 0) {
    --renamesFailing;
    errno = EIO;
    return -1;
  }
  if (renamesUntilFailure > 0) --renamesUntilFailure;
  return renameat(AT_FDCWD, from, AT_FDCWD, to);
}
extern "C" int fsync(int fd) {
  if (due(syncsUntilFailure)) {
    errno = ENOSPC;
    return -1;
  }
  return fdatasync(fd);
}
extern "C" int link(const char* from, const char* to) noexcept {
  if (linksFail) {
    errno = EPERM;
    return -1;
  }
  return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

namespace locktidy {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::string slurp(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Edits : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "locktidy-edits-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = fs::canonical(name).string();
  }
  void TearDown() override {
    renamesUntilFailure = syncsUntilFailure = -1;
    renamesFailing = 0;
    linksFail = false;
    beforeRename = {};
    fs::remove_all(root_);
  }

  fs::path path(const std::string& file) const { return fs::path(root_) / file; }
  std::string read(const std::string& file) const { return slurp(path(file)); }
  void write(const std::string& file, const std::string& text) {
    fs::create_directories(path(file).parent_path());
    std::ofstream(path(file), std::ios::binary) << text;
  }

  // Replaces the `nth` `from` in `file`.
  Edit edit(const std::string& file, const std::string& from, const std::string& to, int nth = 0) const {
    const std::string text = read(file);
    size_t at = text.find(from);
    while (nth-- > 0) at = text.find(from, at + 1);
    EXPECT_NE(at, std::string::npos) << from;
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n');
    return {file,
            sha256Hex(text),
            static_cast<uint32_t>(at),
            static_cast<uint32_t>(from.size()),
            static_cast<uint32_t>(line),
            1,
            from,
            to};
  }
  static Fix fix(const std::string& group, std::vector<Edit> edits, std::vector<IncludeEdit> includes = {}) {
    return {"title of " + group, Safety::Safe, group, std::move(edits), std::move(includes)};
  }
  std::string after(const EditPlan& plan, const std::string& file) {
    for (const FileEdit& edit : plan.files)
      if (edit.file == file) return edit.after;
    return "not planned";
  }

  std::vector<std::string> names() const {  // every file, to see what is left behind
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(root_))
      if (!entry.is_directory()) out.push_back(entry.path().lexically_relative(root_).string());
    std::sort(out.begin(), out.end());
    return out;
  }

  // `git apply` of the plan's diff must give exactly what the plan says.
  void expectGitApplies(const EditPlan& plan) {
    const std::string diff = unifiedDiff(plan);
    std::ofstream(path("x.patch"), std::ios::binary) << diff;
    const std::string command = "cd '" + root_ + "' && GIT_CEILING_DIRECTORIES='" +
                                fs::path(root_).parent_path().string() + "' GIT_CONFIG_NOSYSTEM=1 HOME='" +
                                root_ + "' git apply --whitespace=nowarn x.patch 2>git.log";
    EXPECT_EQ(std::system(command.c_str()), 0) << slurp(path("git.log")) << diff;
    for (const FileEdit& file : plan.files)
      EXPECT_EQ(read(file.patchName.empty() ? file.file : file.patchName), file.after) << diff;
  }

  std::string root_;
};

TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// ---------------------------------------------------------------------------
// Planning
TEST_F(Edits, GroupsAreTakenInOrder) {
  write("b.cpp", "int a; int b;\n");
  write("a.cpp", "int c;\n");
  const EditPlan plan = planEdits(
      {fix("one", {edit("b.cpp", "a", "x")}), fix("two", {edit("b.cpp", "b", "yy"), edit("a.cpp", "c", "")})},
      root_);
  EXPECT_THAT(plan.applied, ElementsAre("one", "two"));
  EXPECT_THAT(plan.refused, IsEmpty());
  ASSERT_EQ(plan.files.size(), 2u);
  EXPECT_EQ(plan.files[0].file, "a.cpp");
  EXPECT_EQ(plan.files[0].after, "int ;\n");
  EXPECT_EQ(plan.files[1].before, "int a; int b;\n");
  EXPECT_EQ(plan.files[1].after, "int x; int yy;\n");
}

TEST_F(Edits, OverlapIsRefusedAsAWhole) {
  write("a.cpp", "std::lock_guard g(mu);\nint b;\n");
  const EditPlan plan =
      planEdits({fix("one", {edit("a.cpp", "lock_guard", "shared_lock")}),
                 fix("two", {edit("a.cpp", "b", "c"), edit("a.cpp", "std::lock_guard", "std::unique_lock")}),
                 fix("three", {edit("a.cpp", "int", "long")})},
                root_);
  EXPECT_THAT(plan.applied, ElementsAre("one", "three"));
  EXPECT_THAT(plan.refused, ElementsAre(Pair("two", "overlaps an edit of one at a.cpp:1")));
  EXPECT_EQ(after(plan, "a.cpp"), "std::shared_lock g(mu);\nlong b;\n");
}

TEST_F(Edits, AGroupThatOverlapsItselfIsRefused) {
  write("a.cpp", "abc\n");
  const EditPlan plan =
      planEdits({fix("one", {edit("a.cpp", "ab", "x")}), fix("one", {edit("a.cpp", "bc", "y")})}, root_);
  EXPECT_THAT(plan.refused, ElementsAre(Pair("one", "overlaps itself at a.cpp:1")));
  EXPECT_THAT(plan.files, IsEmpty());
}

TEST_F(Edits, EqualRangeWithOtherTextIsAnOverlap) {
  write("a.cpp", "abc\n");
  const EditPlan plan =
      planEdits({fix("one", {edit("a.cpp", "b", "x")}), fix("two", {edit("a.cpp", "b", "y")})}, root_);
  EXPECT_THAT(plan.refused, ElementsAre(Pair("two", "overlaps an edit of one at a.cpp:1")));
}

TEST_F(Edits, EqualEditsOfSeveralGroupsAreTakenOnce) {
  write("a.cpp", "std::mutex mu; int a; int b;\n");
  const Edit shared = edit("a.cpp", "std::mutex", "std::shared_mutex");
  const EditPlan plan =
      planEdits({fix("one", {shared, edit("a.cpp", "a;", "x;")}, {{"a.cpp", "<shared_mutex>"}}),
                 fix("two", {shared, edit("a.cpp", "b;", "y;")}, {{"a.cpp", "<shared_mutex>"}})},
                root_);
  EXPECT_THAT(plan.applied, ElementsAre("one", "two"));
  EXPECT_EQ(after(plan, "a.cpp"), "#include <shared_mutex>\n\nstd::shared_mutex mu; int x; int y;\n");
}

TEST_F(Edits, FixesOfAGroupStandOrFallTogether) {
  write("a.cpp", "a\n");
  write("b.cpp", "b\n");
  Fix stale = fix("one", {edit("b.cpp", "b", "y")});
  stale.edits[0].oldText = "q";
  const EditPlan plan = planEdits({fix("one", {edit("a.cpp", "a", "x")}), fix("two", {}), stale}, root_);
  EXPECT_THAT(plan.applied, IsEmpty());
  EXPECT_THAT(plan.refused, ElementsAre(Pair("one", "b.cpp:1 does not read `q` any more")));
  EXPECT_THAT(plan.files, IsEmpty());
}

TEST_F(Edits, FixesWithoutAGroupStandAlone) {
  write("a.cpp", "ab\n");
  Fix one = fix("", {edit("a.cpp", "a", "x")}), two = fix("", {edit("a.cpp", "ab", "y")});
  one.title = "first";
  two.title = "second";
  const EditPlan plan = planEdits({one, two}, root_);
  EXPECT_THAT(plan.applied, ElementsAre("first"));
  EXPECT_EQ(plan.refused.at(0).first, "second");
}

TEST_F(Edits, StaleHash) {
  write("a.cpp", "int a;\n");
  const Fix old = fix("one", {edit("a.cpp", "a", "b")});
  write("a.cpp", "int a; // new\n");  // the edited text is still there
  EXPECT_THAT(planEdits({old}, root_).refused,
              ElementsAre(Pair("one", "a.cpp changed since it was analysed")));
}

TEST_F(Edits, StaleOldText) {
  write("a.cpp", "int a;\n");
  Fix old = fix("one", {edit("a.cpp", "int a", "b")});
  old.edits[0].sha256.clear();
  write("a.cpp", "int b;\n");
  EXPECT_THAT(planEdits({old}, root_).refused,
              ElementsAre(Pair("one", "a.cpp:1 does not read `int a` any more")));
  write("a.cpp", "i");  // shrunk
  EXPECT_EQ(planEdits({old}, root_).refused.size(), 1u);
  old.edits[0].offset = 4000000000u;
  old.edits[0].length = 4000000000u;
  EXPECT_EQ(planEdits({old}, root_).refused.size(), 1u);
}

TEST_F(Edits, MissingFile) {
  write("a.cpp", "a\n");
  const Fix gone = fix("one", {edit("a.cpp", "a", "b")});
  fs::remove(path("a.cpp"));
  EXPECT_THAT(planEdits({gone}, root_).refused,
              ElementsAre(Pair("one", "cannot read a.cpp: No such file or directory")));
  fs::create_directory(path("a.cpp"));
  EXPECT_THAT(planEdits({gone}, root_).refused,
              ElementsAre(Pair("one", "cannot read a.cpp: not a regular file")));
}

TEST_F(Edits, BadHeaderName) {
  write("a.cpp", "a\n");
  for (const char* header : {"shared_mutex", "<>", "<a", "<a>\n#error>", ""}) {
    const EditPlan plan = planEdits({fix("one", {}, {{"a.cpp", header}})}, root_);
    EXPECT_THAT(plan.refused, ElementsAre(Pair("one", std::string("bad header name ") + header)));
  }
}

TEST_F(Edits, InsertionsBesideAReplacement) {
  write("a.cpp", "foo();\n");
  Edit before = edit("a.cpp", "foo", "");
  Edit behind = before, replace = before;
  before.length = behind.length = 0;
  before.oldText = behind.oldText = "";
  behind.offset += 3;
  before.newText = "<";
  behind.newText = ">";
  replace.newText = "bar";
  EXPECT_EQ(after(planEdits({fix("one", {behind, replace, before})}, root_), "a.cpp"), "<bar>();\n");
  Edit again = before;
  again.newText = "?";
  EXPECT_EQ(planEdits({fix("one", {before}), fix("two", {again})}, root_).refused.size(), 1u);
  Edit inside = before;
  inside.offset += 1;
  EXPECT_EQ(planEdits({fix("one", {replace}), fix("two", {inside})}, root_).refused.size(), 1u);
}

TEST_F(Edits, CrlfAndBomAreKept) {
  write("a.h", "\xEF\xBB\xBF#pragma once\r\n#include <mutex>\r\n\r\nstd::mutex mu;\r\n");
  const EditPlan plan = planEdits(
      {fix("one", {edit("a.h", "std::mutex", "std::shared_mutex")}, {{"a.h", "<shared_mutex>"}})}, root_);
  EXPECT_EQ(after(plan, "a.h"),
            "\xEF\xBB\xBF#pragma once\r\n#include <mutex>\r\n#include "
            "<shared_mutex>\r\n\r\nstd::shared_mutex mu;\r\n");
  std::string error;
  expectGitApplies(plan);
}

TEST_F(Edits, BomWithoutIncludes) {
  write("a.cpp", "\xEF\xBB\xBFstd::mutex mu;\r\n");
  const EditPlan plan = planEdits(
      {fix("one", {edit("a.cpp", "std::mutex", "std::shared_mutex")}, {{"a.cpp", "<shared_mutex>"}})}, root_);
  EXPECT_EQ(after(plan, "a.cpp"), "\xEF\xBB\xBF#include <shared_mutex>\r\n\r\nstd::shared_mutex mu;\r\n");
}

TEST_F(Edits, ASymbolicLinkIsTheSameFile) {
  write("src/a.h", "std::mutex mu; int b;\n");
  fs::create_directory(path("include"));
  fs::create_symlink("../src/a.h", path("include/a.h"));
  const EditPlan plan =
      planEdits({fix("one", {edit("include/a.h", "std::mutex", "std::shared_mutex")}),
                 fix("two", {edit("src/a.h", "std::mutex", "std::shared_mutex"), edit("src/a.h", "b", "c")})},
                root_);
  ASSERT_EQ(plan.files.size(), 1u);
  EXPECT_EQ(plan.files[0].file, "include/a.h");
  EXPECT_EQ(plan.files[0].patchName, "src/a.h");
  EXPECT_EQ(plan.files[0].after, "std::shared_mutex mu; int c;\n");
  expectGitApplies(plan);
}

TEST_F(Edits, AbsoluteNamesBelowTheRoot) {
  write("a.cpp", "a\n");
  const EditPlan plan = planEdits({fix("one", {edit(root_ + "/a.cpp", "a", "b")})}, root_);
  ASSERT_EQ(plan.files.size(), 1u);
  EXPECT_EQ(plan.files[0].patchName, "a.cpp");
  expectGitApplies(plan);
}

TEST_F(Edits, PlanningTwiceIsANoOp) {
  write("a.cpp", "#include <map>\nstd::map<int, int> m;\n");
  const Fix include = fix("one", {}, {{"a.cpp", "<shared_mutex>"}, {"a.cpp", "<atomic>"}});
  const EditPlan plan = planEdits({include}, root_);
  EXPECT_EQ(after(plan, "a.cpp"),
            "#include <atomic>\n#include <map>\n#include <shared_mutex>\nstd::map<int, int> m;\n");
  std::string error;
  ASSERT_TRUE(writePlan(plan, root_, error)) << error;
  const EditPlan again = planEdits({include}, root_);
  EXPECT_THAT(again.files, IsEmpty());
  EXPECT_THAT(again.applied, ElementsAre("one"));
}

// ---------------------------------------------------------------------------
// Includes
std::string included(std::string text, const std::string& header, size_t limit = std::string::npos) {
  const IncludePlace place = placeInclude(text, header, limit);
  if (place.present) return "present";
  return text.insert(place.offset, place.text);
}

TEST(Include, SortedBlock) {
  EXPECT_EQ(included("#include <map>\n#include <vector>\n\nint a;\n", "<shared_mutex>"),
            "#include <map>\n#include <shared_mutex>\n#include <vector>\n\nint a;\n");
  EXPECT_EQ(included("#include <map>\n#include <vector>\n", "<atomic>"),
            "#include <atomic>\n#include <map>\n#include <vector>\n");
  EXPECT_EQ(included("#include <map>\n", "<shared_mutex>"), "#include <map>\n#include <shared_mutex>\n");
}

TEST(Include, BlockSortedWithoutCase) {
  EXPECT_EQ(included("#include <QMap>\n#include <qmutex>\n#include <QVector>\n", "<QReadLocker>"),
            "#include <QMap>\n#include <qmutex>\n#include <QReadLocker>\n#include <QVector>\n");
}

TEST(Include, UnsortedBlockGetsItLast) {
  EXPECT_EQ(included("#include <vector>\n#include <map>\n\nint a;\n", "<shared_mutex>"),
            "#include <vector>\n#include <map>\n#include <shared_mutex>\n\nint a;\n");
}

TEST(Include, LastBlockOfItsKind) {
  EXPECT_EQ(included("#include \"a.h\"\n\n#include <map>\n\n#include \"b.h\"\n#include \"d.h\"\n\nint a;\n",
                     "\"c.h\""),
            "#include \"a.h\"\n\n#include <map>\n\n#include \"b.h\"\n#include \"c.h\"\n#include "
            "\"d.h\"\n\nint a;\n");
  EXPECT_EQ(included("#include \"a.h\"\n\n#include <map>\n\n#include \"b.h\"\n", "<shared_mutex>"),
            "#include \"a.h\"\n\n#include <map>\n#include <shared_mutex>\n\n#include \"b.h\"\n");
}

TEST(Include, BlockWithHeadersThatLookAlike) {
  EXPECT_EQ(
      included("#include <pthread.h>\n\n#include <map>\n\n#include <boost/thread.hpp>\n", "<shared_mutex>"),
      "#include <pthread.h>\n\n#include <map>\n#include <shared_mutex>\n\n#include <boost/thread.hpp>\n");
}

TEST(Include, OwnHeaderStaysFirst) {
  EXPECT_EQ(included("#include \"z.h\"\n#include \"b.h\"\n#include \"d.h\"\n", "\"a.h\""),
            "#include \"z.h\"\n#include \"a.h\"\n#include \"b.h\"\n#include \"d.h\"\n");
  EXPECT_EQ(included("#include \"z.h\"\n\n#include <map>\n\nint a;\n", "\"a.h\""),
            "#include \"z.h\"\n\n#include <map>\n\n#include \"a.h\"\n\nint a;\n");
}

TEST(Include, OnlyTheOtherKind) {
  EXPECT_EQ(included("#pragma once\n#include \"a.h\"\nint a;\n", "<shared_mutex>"),
            "#pragma once\n#include \"a.h\"\n\n#include <shared_mutex>\n\nint a;\n");
  EXPECT_EQ(included("#include <map>\n\nint a;\n", "\"acme/lock.h\""),
            "#include <map>\n\n#include \"acme/lock.h\"\n\nint a;\n");
}

TEST(Include, SpacingIsImitated) {
  EXPECT_EQ(included("#  include<map>\n", "<shared_mutex>"), "#  include<map>\n#  include<shared_mutex>\n");
  EXPECT_EQ(included("#ifndef A\n# define A\n# include <map>\nint a;\n#endif\n", "<shared_mutex>"),
            "#ifndef A\n# define A\n# include <map>\n# include <shared_mutex>\nint a;\n#endif\n");
}

TEST(Include, Present) {
  EXPECT_EQ(included("#include <map>\n#  include  <shared_mutex>  // locks\n", "<shared_mutex>"), "present");
  EXPECT_EQ(included("#ifndef A\n#define A\n#include <shared_mutex>\n#endif  // A\n", "<shared_mutex>"),
            "present");
  EXPECT_EQ(included("#include <acme/lock.h>\n", "\"acme/lock.h\""), "present");
  EXPECT_EQ(included("using namespace std;\n#include <shared_mutex>\n", "<shared_mutex>"), "present");
}

TEST(Include, NotPresentInCommentsConditionsAndLiterals) {
  EXPECT_EQ(included("// #include <shared_mutex>\n#include <map>\n", "<shared_mutex>"),
            "// #include <shared_mutex>\n#include <map>\n#include <shared_mutex>\n");
  EXPECT_EQ(included("/*\n#include <shared_mutex>\n*/\n#include <map>\n", "<shared_mutex>"),
            "/*\n#include <shared_mutex>\n*/\n#include <map>\n#include <shared_mutex>\n");
  EXPECT_EQ(included("#include <map>\n#if 0\n#include <shared_mutex>\n#endif\n", "<shared_mutex>"),
            "#include <map>\n#include <shared_mutex>\n#if 0\n#include <shared_mutex>\n#endif\n");
  EXPECT_EQ(included("#include <map>\nauto s = R\"x(\n#include <shared_mutex>\n)x\";\n", "<shared_mutex>"),
            "#include <map>\n#include <shared_mutex>\nauto s = R\"x(\n#include <shared_mutex>\n)x\";\n");
  EXPECT_EQ(included("#include <map>\n#define A \\\n#include <shared_mutex>\nint a = 1'000; // '\n",
                     "<shared_mutex>"),
            "#include <map>\n#include <shared_mutex>\n#define A \\\n#include <shared_mutex>\nint a = 1'000; "
            "// '\n");
  EXPECT_EQ(included("#include \"shared_mutex\"\n", "<shared_mutex>"),
            "#include \"shared_mutex\"\n\n#include <shared_mutex>\n");
}

// What stands at the end of a header comes too late for what is declared above.
TEST(Include, BehindCodeOrTheFirstUseDoesNotCount) {
  EXPECT_EQ(included("#include <map>\nclass A {\n};\n#include <shared_mutex>\n#include \"a-inl.h\"\n",
                     "<shared_mutex>"),
            "#include <map>\n#include <shared_mutex>\nclass A {\n};\n#include <shared_mutex>\n#include "
            "\"a-inl.h\"\n");
  const std::string text = "#include <map>\nstd::shared_mutex mu;\n#include <shared_mutex>\n";
  EXPECT_EQ(included(text, "<shared_mutex>", text.find("std::")),
            "#include <map>\n#include <shared_mutex>\nstd::shared_mutex mu;\n#include <shared_mutex>\n");
}

TEST(Include, NoneYet) {
  EXPECT_EQ(included("", "<a>"), "#include <a>\n");
  EXPECT_EQ(included("int a;\n", "<a>"), "#include <a>\n\nint a;\n");
  EXPECT_EQ(included("\nint a;\n", "<a>"), "#include <a>\n\nint a;\n");
  EXPECT_EQ(included("#pragma once\n\nint a;\n", "<a>"), "#pragma once\n\n#include <a>\n\nint a;\n");
  EXPECT_EQ(included("#pragma once\nint a;\n", "<a>"), "#pragma once\n\n#include <a>\n\nint a;\n");
  EXPECT_EQ(included("// License\n\n#pragma once\n\nint a;\n", "<a>"),
            "// License\n\n#pragma once\n\n#include <a>\n\nint a;\n");
}

TEST(Include, AfterTheGuard) {
  EXPECT_EQ(included("/* c */\n#ifndef A_H\n#define A_H\n\nclass A {};\n\n#endif\n", "<a>"),
            "/* c */\n#ifndef A_H\n#define A_H\n\n#include <a>\n\nclass A {};\n\n#endif\n");
  EXPECT_EQ(included("#if !defined(A_H)\n#define A_H 1\nclass A {};\n#endif // A_H\n", "<a>"),
            "#if !defined(A_H)\n#define A_H 1\n\n#include <a>\n\nclass A {};\n#endif // A_H\n");
  // A default for a macro is no guard.
  EXPECT_EQ(included("#ifndef N\n#define N 4\n#endif\n\nint a;\n", "<a>"),
            "#include <a>\n\n#ifndef N\n#define N 4\n#endif\n\nint a;\n");
  EXPECT_EQ(included("#ifndef N\n#define N 4\n#endif\n#include <b>\n", "<c>"),
            "#ifndef N\n#define N 4\n#endif\n#include <b>\n#include <c>\n");
}

TEST(Include, AfterTheLeadingComment) {
  EXPECT_EQ(included("// One.\n// Two.\n\nint a;\n", "<a>"), "// One.\n// Two.\n\n#include <a>\n\nint a;\n");
  EXPECT_EQ(included("/* Copyright\n   me */\nint a;\n", "<a>"),
            "/* Copyright\n   me */\n\n#include <a>\n\nint a;\n");
  // A comment that explains the code below stays with it.
  EXPECT_EQ(included("// The answer.\nint a;\n", "<a>"), "#include <a>\n\n// The answer.\nint a;\n");
}

TEST(Include, AfterWhatMustComeFirst) {
  EXPECT_EQ(included("#define _GNU_SOURCE\nint a;\n", "<pthread.h>"),
            "#define _GNU_SOURCE\n\n#include <pthread.h>\n\nint a;\n");
  EXPECT_EQ(included("#ifdef HAVE_CONFIG_H\n#include \"config.h\"\n#endif\n\nint a;\n", "<pthread.h>"),
            "#ifdef HAVE_CONFIG_H\n#include \"config.h\"\n#endif\n\n#include <pthread.h>\n\nint a;\n");
  EXPECT_EQ(included("module;\nexport module m;\n", "<a>"), "module;\n\n#include <a>\n\nexport module m;\n");
}

TEST(Include, NoLastLineEnd) {
  EXPECT_EQ(included("#include <a>", "<b>"), "#include <a>\n#include <b>");
  EXPECT_EQ(included("#pragma once", "<b>"), "#pragma once\n\n#include <b>");
  EXPECT_EQ(included("#include <a>\r\n#include <c>", "<d>"), "#include <a>\r\n#include <c>\r\n#include <d>");
}

TEST(Include, CrlfOfTheNeighbour) {
  EXPECT_EQ(included("#include <a>\r\n#include <c>\r\n", "<b>"),
            "#include <a>\r\n#include <b>\r\n#include <c>\r\n");
  EXPECT_EQ(included("#pragma once\r\nint a;\r\n", "<b>"),
            "#pragma once\r\n\r\n#include <b>\r\n\r\nint a;\r\n");
}

// ---------------------------------------------------------------------------
// Diffs
EditPlan planOf(std::vector<FileEdit> files) {
  EditPlan plan;
  plan.files = std::move(files);
  return plan;
}

TEST_F(Edits, DiffOfNothingIsEmpty) {
  EXPECT_EQ(unifiedDiff(EditPlan()), "");
  EXPECT_EQ(unifiedDiff(planOf({{"a.cpp", "a\n", "a\n"}})), "");
}

TEST_F(Edits, DiffHasThreeLinesOfContext) {
  EXPECT_EQ(
      unifiedDiff(planOf({{"src/a.cpp", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n"}})),
      "diff --git a/src/a.cpp b/src/a.cpp\n--- a/src/a.cpp\n+++ b/src/a.cpp\n@@ -2,7 +2,7 @@\n 2\n 3\n "
      "4\n-5\n+x\n 6\n 7\n 8\n");
}

std::string numbered(int n, const std::string& marks) {  // marks: "3a 9b": line 3 is "a"
  std::string out;
  std::istringstream in(marks);
  std::map<int, std::string> changed;
  int line;
  std::string text;
  while (in >> line >> text) changed[line] = text;
  for (int i = 1; i <= n; ++i) out += (changed.count(i) ? changed[i] : std::to_string(i)) + "\n";
  return out;
}

TEST_F(Edits, HunksMergeWhenTheirContextTouches) {
  const auto hunks = [&](const std::string& marks) {
    const std::string diff = unifiedDiff(planOf({{"a", numbered(30, ""), numbered(30, marks)}}));
    size_t n = 0;
    for (size_t at = 0; (at = diff.find("\n@@ ", at)) != std::string::npos; ++at) ++n;
    return n;
  };
  EXPECT_EQ(hunks("10 x 17 y"), 1u);  // six lines between
  EXPECT_EQ(hunks("10 x 18 y"), 2u);
  EXPECT_EQ(hunks("1 x 30 y"), 2u);
}

TEST_F(Edits, DiffMarksAMissingLastLineEnd) {
  EXPECT_EQ(unifiedDiff(planOf({{"a", "x\ny", "x\nz"}})),
            "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n x\n-y\n\\ No newline at end of "
            "file\n+z\n\\ No newline at end of file\n");
}

TEST_F(Edits, GitAppliesDiffs) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {numbered(30, ""), numbered(30, "1 a 9 b 17 c 30 d")},
      {"a\nb", "a\nb\n"},
      {"a\nb\n", "a\nb"},
      {"a", "b"},
      {"x\n", ""},
      {"a\r\nb\r\nc\r\n", "a\r\nB\r\nc\r\n"},
      {"a\nb\nc\n", "b\nc\nd\n"},
      {"a\na\na\n", "a\na\na\na\n"},
      {"\n\n\n", "\n\nx\n\n"},
      {"a\tb \n", "a\tb  \n"},
      {"\xff\xfe\n", "\xff\n"},
  };
  int n = 0;
  std::vector<FileEdit> files;
  for (const auto& [before, after] : cases) {
    const std::string name = "dir/f" + std::to_string(++n) + ".cpp";
    write(name, before);
    files.push_back({name, before, after});
  }
  expectGitApplies(planOf(files));
}

TEST_F(Edits, GitAppliesOddNames) {
  std::vector<FileEdit> files;
  for (const char* name :
       {"with space.cpp", "\xC3\xBC.cpp", "quote\".cpp", "back\\slash.cpp", "tab\t.cpp", "-dash.cpp"}) {
    write(name, "a\n");
    files.push_back({name, "a\n", "b\n"});
  }
  expectGitApplies(planOf(files));
}

TEST_F(Edits, GitAppliesRandomEdits) {
  std::mt19937 random(1);
  std::vector<FileEdit> files;
  for (int round = 0; round < 60; ++round) {
    std::string before, after;
    const int lines = static_cast<int>(random() % 40);
    for (int i = 0; i < lines; ++i) {
      const std::string line = std::string(1, static_cast<char>('a' + random() % 4)) + "\n";
      before += line;
      if (random() % 5 != 0) after += line;
      if (random() % 5 == 0) after += std::string(1, static_cast<char>('a' + random() % 4)) + "\n";
    }
    if (random() % 3 == 0 && !after.empty()) after.pop_back();
    if (before == after || before.empty()) continue;
    const std::string name = "r" + std::to_string(round);
    write(name, before);
    files.push_back({name, before, after});
  }
  expectGitApplies(planOf(files));
}

TEST_F(Edits, DiffOfUnlikeFilesIsOneReplacement) {
  std::string before, after;
  for (int i = 0; i < 5000; ++i) {
    before += "a" + std::to_string(i) + "\n";
    after += "b" + std::to_string(i) + "\n";
  }
  write("a.cpp", before);
  expectGitApplies(planOf({{"a.cpp", before, after}}));
}

// ---------------------------------------------------------------------------
// Writing
TEST_F(Edits, WritesAndKeepsModeBits) {
  write("a.cpp", "a\n");
  write("b.sh", "b\n");
  ASSERT_EQ(chmod(path("a.cpp").c_str(), 0640), 0);
  ASSERT_EQ(chmod(path("b.sh").c_str(), 04751), 0);
  std::string error;
  EXPECT_TRUE(writePlan(planOf({{"a.cpp", "a\n", "x\n"}, {"b.sh", "b\n", ""}}), root_, error)) << error;
  EXPECT_EQ(read("a.cpp"), "x\n");
  EXPECT_EQ(read("b.sh"), "");
  struct stat status;
  ASSERT_EQ(stat(path("a.cpp").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
  ASSERT_EQ(stat(path("b.sh").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 04751u);
  EXPECT_THAT(names(), ElementsAre("a.cpp", "b.sh"));
}

TEST_F(Edits, WritesThroughSymbolicLinks) {
  write("real/a.cpp", "a\n");
  fs::create_directory(path("links"));
  fs::create_symlink("../real/a.cpp", path("links/one.cpp"));
  fs::create_symlink("one.cpp", path("links/two.cpp"));
  std::string error;
  EXPECT_TRUE(writePlan(planOf({{"links/two.cpp", "a\n", "x\n"}}), root_, error)) << error;
  EXPECT_EQ(read("real/a.cpp"), "x\n");
  EXPECT_TRUE(fs::is_symlink(path("links/one.cpp")));
  EXPECT_TRUE(fs::is_symlink(path("links/two.cpp")));
  EXPECT_THAT(names(), ElementsAre("links/one.cpp", "links/two.cpp", "real/a.cpp"));
}

class TwoFiles : public Edits {
 protected:
  void SetUp() override {
    Edits::SetUp();
    write("a.cpp", "a\n");
    write("b.cpp", "b\n");
    plan_ = planOf({{"a.cpp", "a\n", "new a\n"}, {"b.cpp", "b\n", "new b\n"}});
  }
  void expectFailure(const std::string& message) {
    std::string error;
    EXPECT_FALSE(writePlan(plan_, root_, error));
    EXPECT_THAT(error, HasSubstr(message));
    EXPECT_EQ(read("a.cpp"), "a\n");
    EXPECT_EQ(read("b.cpp"), "b\n");
    EXPECT_THAT(names(), ElementsAre("a.cpp", "b.cpp")) << "something is left behind";
  }
  EditPlan plan_;
};

TEST_F(TwoFiles, FirstRenameFails) {
  renamesUntilFailure = 0;
  renamesFailing = 1;
  expectFailure("a.cpp: cannot replace: Input/output error");
}

TEST_F(TwoFiles, SecondRenameFailsAndTheFirstIsPutBack) {
  struct stat before, after;
  ASSERT_EQ(stat(path("a.cpp").c_str(), &before), 0);
  renamesUntilFailure = 1;
  renamesFailing = 1;
  expectFailure("b.cpp: cannot replace: Input/output error");
  ASSERT_EQ(stat(path("a.cpp").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino) << "put back as a copy";
}

TEST_F(TwoFiles, PutsBackACopyWhereThereAreNoLinks) {
  linksFail = true;
  renamesUntilFailure = 1;
  renamesFailing = 1;
  expectFailure("b.cpp: cannot replace: Input/output error");
  renamesUntilFailure = -1;
  std::string error;
  EXPECT_TRUE(writePlan(plan_, root_, error)) << error;
  EXPECT_THAT(names(), ElementsAre("a.cpp", "b.cpp"));
}

TEST_F(TwoFiles, SaysWhereTheOldTextIsIfItCannotBePutBack) {
  renamesUntilFailure = 1;
  renamesFailing = 2;
  std::string error;
  EXPECT_FALSE(writePlan(plan_, root_, error));
  EXPECT_THAT(error, HasSubstr("a.cpp could not be put back"));
  const std::string kept = error.substr(error.find("its old text is in ") + 19);
  EXPECT_EQ(slurp(kept), "a\n");
}

TEST_F(TwoFiles, NothingIsRenamedBeforeAllIsWritten) {
  int seen = 0;
  beforeRename = [&] {
    if (seen++) return;
    std::vector<std::string> contents;
    for (const std::string& name : names()) contents.push_back(read(name));
    EXPECT_THAT(contents, testing::UnorderedElementsAre("a\n", "b\n", "new a\n", "new b\n", "a\n", "b\n"));
  };
  std::string error;
  EXPECT_TRUE(writePlan(plan_, root_, error)) << error;
  EXPECT_EQ(seen, 2);
}

TEST_F(TwoFiles, FullDisk) {
  syncsUntilFailure = 1;  // shows when the second file is flushed
  expectFailure("b.cpp: cannot write: No space left on device");
}

TEST_F(TwoFiles, FileTooLarge) {
  plan_.files[1].after = std::string(100000, 'x');
  struct rlimit old, small;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  small = old;
  small.rlim_cur = 50000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string error;
  const bool good = writePlan(plan_, root_, error);  // and the process lives
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_FALSE(good);
  EXPECT_THAT(error, HasSubstr("b.cpp: cannot write: File too large"));
  EXPECT_EQ(read("a.cpp"), "a\n");
  EXPECT_EQ(read("b.cpp"), "b\n");
  EXPECT_THAT(names(), ElementsAre("a.cpp", "b.cpp"));
  EXPECT_TRUE(writePlan(plan_, root_, error)) << error;  // the limit is gone
}

TEST_F(TwoFiles, NoPermissionInTheDirectory) {
  write("dir/c.cpp", "c\n");
  plan_.files.push_back({"dir/c.cpp", "c\n", "new c\n"});
  ASSERT_EQ(chmod(path("dir/c.cpp").c_str(), 0666), 0);
  ASSERT_EQ(chmod(path("dir").c_str(), 0555), 0);
  const bool root = geteuid() == 0;
  if (root) {  // root may write anywhere
    for (const char* file : {"", "a.cpp", "b.cpp"}) ASSERT_EQ(chown(path(file).c_str(), 65534, 65534), 0);
    ASSERT_EQ(setegid(65534), 0);
    ASSERT_EQ(seteuid(65534), 0);
  }
  std::string error;
  const bool good = writePlan(plan_, root_, error);
  if (root) {
    ASSERT_EQ(seteuid(0), 0);
    ASSERT_EQ(setegid(0), 0);
  }
  ASSERT_EQ(chmod(path("dir").c_str(), 0755), 0);
  EXPECT_FALSE(good);
  EXPECT_THAT(error, HasSubstr("dir/c.cpp: cannot write: Permission denied"));
  EXPECT_EQ(read("a.cpp"), "a\n");
  EXPECT_EQ(read("dir/c.cpp"), "c\n");
  EXPECT_THAT(names(), ElementsAre("a.cpp", "b.cpp", "dir/c.cpp"));
}

TEST_F(TwoFiles, ReadOnlyFile) {
  ASSERT_EQ(chmod(path("b.cpp").c_str(), 0444), 0);
  expectFailure("b.cpp: file is read-only");
}

TEST_F(TwoFiles, ChangedMeanwhile) {
  plan_.files[1].before = "other\n";
  expectFailure("b.cpp: changed since the fix was planned");
}

TEST_F(TwoFiles, GoneMeanwhile) {
  plan_.files.push_back({"c.cpp", "c\n", "d\n"});
  expectFailure("c.cpp: No such file or directory");
}

TEST_F(TwoFiles, OneFileUnderTwoNames) {
  plan_.files.push_back({"./a.cpp", "a\n", "other\n"});
  expectFailure("./a.cpp: planned twice");
}

}  // namespace
}  // namespace locktidy
