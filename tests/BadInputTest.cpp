// Whatever is wrong with the input: one clear message with the file and the way
// out, the documented exit code, nothing half written. docs/bad-input.md has a
// row for each of these tests.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "Cli.h"

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

// Clang evaluates this for hours if -fconstexpr-steps lets it.
constexpr char kEndlessSource[] =
    "constexpr int spin(int n) { while (true) n ^= 1; return n; }\n"
    "static_assert(spin(0) == 0);\n";

class BadInput : public CliTest {
 protected:
  void registry(std::vector<std::string> others = {}) {
    write("registry.h", kRegistryHeader);
    write("registry.cpp", kRegistrySource);
    write("main.cpp", kMainSource);
    others.insert(others.begin(), {"registry.cpp", "main.cpp"});
    database(others);
  }
  // The run ended with `code`, and stderr has a line that starts so.
  void expect(const Outcome& run, int code, const std::string& line) {
    EXPECT_EQ(run.code, code) << run.err;
    EXPECT_THAT("\n" + run.err, HasSubstr("\nlocktidy: " + line));
  }
  // No temporary file is left anywhere.
  void expectClean() {
    for (const auto& entry : fs::recursive_directory_iterator(dir_)) {
      std::string name = entry.path().filename();
      bool known = name == ".stdout" || name == ".stderr" || name[0] != '.';
      EXPECT_TRUE(known && name.find("tmp") == std::string::npos) << entry.path();
    }
  }
};

// --- sources ----------------------------------------------------------------

TEST_F(BadInput, BrokenSource) {
  write("broken.cpp", "int f( {\n");
  registry({"broken.cpp"});
  Outcome run = locktidy({"check"});
  expect(run, 3, "warning: broken.cpp: parsed with errors, first: broken.cpp:1: ");
  EXPECT_THAT(run.out, HasSubstr("exclusive-lock-on-read"));
}

TEST_F(BadInput, MissingHeader) {
  write("lost.cpp", "#include \"generated.h\"\nint x;\n");
  registry({"lost.cpp"});
  Outcome run = locktidy({"check"});
  expect(run, 3,
         "warning: lost.cpp: parsed with errors, first: lost.cpp:1: 'generated.h' file not found");
}

TEST_F(BadInput, MissingSource) {
  registry({"gone.cpp"});
  expect(locktidy({"check"}), 3,
         "warning: gone.cpp: not analysed: the source file does not exist (generated? build the "
         "project first)");
}

TEST_F(BadInput, MissingDirectory) {
  registry();
  write("compile_commands.json",
        R"([{"directory": "gone", "file": "x.cpp", "command": "g++ -c x.cpp"},
            {"directory": ".", "file": "registry.cpp", "command": "g++ -c registry.cpp"}])");
  expect(locktidy({"check"}), 3,
         "warning: gone/x.cpp: not analysed: its directory " + dir_ + "/gone does not exist");
}

TEST_F(BadInput, NothingAnalysed) {
  database({"gone.cpp"});
  expect(locktidy({"check"}), 2,
         "error: nothing was analysed: the only unit of . failed: gone.cpp: ");
  database({"gone.cpp", "lost.cpp"});
  expect(locktidy({"check", "-p", "."}), 2,
         "error: nothing was analysed: all 2 units of . failed; the first: gone.cpp: ");
}

TEST_F(BadInput, UnitThatCrashesTheParser) {
  write("crash.cpp", "int x;\n#pragma clang __debug parser_crash\n");
  registry({"crash.cpp"});
  for (const char* jobs : {"1", "3"}) {
    Outcome run = locktidy({"check", "-j", jobs});
    expect(run, 3, "warning: crash.cpp: not analysed: crashed (signal ");
    EXPECT_THAT(run.out, HasSubstr("exclusive-lock-on-read"));
    EXPECT_FALSE(run.says("PLEASE submit a bug report")) << run.err;
    EXPECT_FALSE(run.says("Stack dump")) << run.err;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 2) << run.err;
  }
}

TEST_F(BadInput, UnitThatNeverEnds) {
  write("endless.cpp", kEndlessSource);
  registry({"endless.cpp"});
  database({"endless.cpp", "registry.cpp", "main.cpp"}, "-std=c++17 -fconstexpr-steps=4294967295");
  auto start = std::chrono::steady_clock::now();
  Outcome run = locktidy({"check", "--tu-timeout", "8s", "-j2"});
  expect(run, 3, "warning: endless.cpp: not analysed: no result after 8 s (--tu-timeout)");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(120));
  EXPECT_THAT(run.out, HasSubstr("exclusive-lock-on-read"));
}

TEST_F(BadInput, UnitThatNeedsTooMuchMemory) {
  // A list of a million numbers.
  std::string big = "#define D0 1,\n";
  for (char n : std::string("12345")) {
    std::string below = std::string("D") + static_cast<char>(n - 1), all;
    for (int i = 0; i < 16; ++i) all += " " + below;
    big += std::string("#define D") + n + all + "\n";
  }
  write("big.cpp", big + "int numbers[] = {D5 0};\n");
  write("small.cpp", "int x;\n");
  database({"small.cpp", "big.cpp"});
  Outcome run = locktidy({"check", "--tu-memory", "64M"});
  expect(run, 3, "warning: big.cpp: not analysed: needs more memory than 64 MiB (--tu-memory)");
}

// --- compilation databases --------------------------------------------------

TEST_F(BadInput, NoDatabase) {
  expect(locktidy({"check"}), 2,
         "error: no compilation database: no compile_commands.json here, in build/, or above; ");
  expect(locktidy({"check", "-p", "nowhere"}), 2,
         "error: nowhere: no such file or directory; give -p the build directory");
  fs::create_directory(dir_ + "/build");
  expect(locktidy({"check", "-p", "build"}), 2,
         "error: build: no compile_commands.json in this directory; configure with ");
}

TEST_F(BadInput, EmptyDatabase) {
  write("compile_commands.json", "[]");
  expect(locktidy({"check"}), 2,
         "error: " + dir_ + "/compile_commands.json: the compilation database is empty; ");
}

TEST_F(BadInput, MalformedDatabase) {
  write("compile_commands.json", "[\n  {\"file\" \"x.cpp\"}\n]");
  expect(locktidy({"check"}), 2, "error: " + dir_ + "/compile_commands.json:2:");
  write("compile_commands.json", R"([{"file": "x.cpp", "directory": "."}])");
  expect(locktidy({"check"}), 2,
         "error: " + dir_ +
             "/compile_commands.json: entry 1 (x.cpp) has neither \"command\" nor \"arguments\"; ");
}

TEST_F(BadInput, DatabaseWithoutCOrCpp) {
  write("compile_commands.json", R"([{"file": "x.S", "directory": ".", "command": "gcc x.S"}])");
  expect(locktidy({"check"}), 2,
         "error: " + dir_ + "/compile_commands.json: no C or C++ source among its 1 entries");
}

TEST_F(BadInput, PathThatMatchesNothing) {
  registry();
  expect(locktidy({"check", "src/nothing.cpp"}), 2,
         "error: src/nothing.cpp: no analysed file is here; ");
}

// --- the command line -------------------------------------------------------

TEST_F(BadInput, UnknownFlag) {
  expect(locktidy({"check", "--statistic"}), 2,
         "error: unknown option \"--statistic\"; did you mean \"--statistics\"?");
  expect(locktidy({"fix", "--dif=x"}), 2,
         "error: unknown option \"--dif\"; did you mean \"--diff\"?");
  expect(locktidy({"check", "--new-since", "HEAD"}), 2, "error: unknown option \"--new-since\"");
  expect(locktidy({"--xyzzyplugh"}), 2,
         "error: unknown option \"--xyzzyplugh\"; see locktidy check --help");
}

TEST_F(BadInput, UnknownCommand) {
  expect(locktidy({"chek"}), 2, "error: unknown command \"chek\"; did you mean \"check\"?");
  expect(locktidy({"frobnicate"}), 2, "error: unknown command \"frobnicate\"; see locktidy --help");
}

TEST_F(BadInput, UnknownRule) {
  expect(locktidy({"check", "--select", "exclusive-lock-on-reads"}), 2,
         "error: --select: unknown rule \"exclusive-lock-on-reads\"; did you mean "
         "\"exclusive-lock-on-read\"?");
  expect(locktidy({"check", "--ignore", "LT999zzz"}), 2,
         "error: --ignore: unknown rule \"LT999zzz\"");
  expect(locktidy({"explain", "write-under-shared"}), 2,
         "error: unknown rule \"write-under-shared\"; did you mean \"write-under-shared-lock\"?");
}

TEST_F(BadInput, UnknownValue) {
  expect(locktidy({"check", "-o", "jsn"}), 2,
         "error: --output: unknown value \"jsn\"; did you mean \"json\"?");
  expect(locktidy({"check", "-o", "zzzzzz"}), 2,
         "error: --output: unknown value \"zzzzzz\"; it takes text, concise, json");
  expect(locktidy({"check", "-o", "json", "-o", "text"}), 2,
         "error: --output: two outputs to stdout; give one a file: -o text=FILE");
  expect(locktidy({"check", "--fail-on", "warnings"}), 2,
         "error: --fail-on: unknown value \"warnings\"; did you mean \"warning\"?");
  expect(locktidy({"check", "-j", "many"}), 2,
         "error: --jobs: \"many\" is no number from 1 to 4096, nor auto");
  expect(locktidy({"check", "--tu-timeout", "soon"}), 2,
         "error: --tu-timeout: \"soon\" is no time; write 300s, 5m or 500ms");
  expect(locktidy({"check", "--tu-memory", "big"}), 2,
         "error: --tu-memory: \"big\" is no size; write 4G or 500M");
  expect(locktidy({"check", "--max-failed-tus", "101%"}), 2,
         "error: --max-failed-tus: \"101%\" is neither a number nor ");
}

// --- files of locktidy's own ------------------------------------------------

TEST_F(BadInput, UnreadableModelFile) {
  registry();
  expect(locktidy({"check", "--models", "none.json"}), 2,
         "error: none.json: no such model file or directory (--models)");
  write("bad.json", "{ \"schema\": 1, ");
  expect(locktidy({"check", "--models", "bad.json"}), 2, "error: bad.json: ");
  write("models/typo.json", R"({"schema": 1, "mutexs": {}})");
  expect(locktidy({"check", "--models", "models"}), 2, "error: models/typo.json: ");
}

TEST_F(BadInput, BinaryWithoutItsModels) {
  registry();
  fs::create_directory(dir_ + "/bin");
  fs::copy_file(LOCKTIDY_BINARY, dir_ + "/bin/locktidy");
  auto lonely = [&] { ::execl((dir_ + "/bin/locktidy").c_str(), "locktidy", "check", nullptr); };
  expect(locktidy({}, lonely), 2,
         "error: " + dir_ + "/share/locktidy/models: no models there; install locktidy as a whole");
  // What the build tree names, and then is gone.
  write("bin/locktidy.models-dir", dir_ + "/gone\n");
  expect(locktidy({}, lonely), 2, "error: " + dir_ + "/gone: the models that ");
}

TEST_F(BadInput, UnreadableResult) {
  expect(
      locktidy({"report", "none.json"}), 2,
      "error: none.json: No such file or directory; locktidy check --save-result FILE makes one");
  write("bad.json", "{}");
  expect(locktidy({"report", "bad.json"}), 2, "error: bad.json: not a result of locktidy: ");
}

TEST_F(BadInput, UnreadableFacts) {
  write("old.facts", "locktidy-facts 999\n");
  expect(locktidy({"facts", "dump", "old.facts"}), 2,
         "error: old.facts: line 1: expected facts version 2, found 999: written by another "
         "locktidy, extract again");
}

TEST_F(BadInput, OutputThatCannotBeWritten) {
  registry();
  expect(locktidy({"check", "-o", "json=none/r.json"}), 2,
         "error: none/r.json: there is no directory ");
  expect(locktidy({"check", "--save-result", "."}), 2, "error: .: is a directory; name a file");
  // A disk that is full when the report is written.
  expect(locktidy({"check", "-o", "json=/dev/full"}), 2,
         "error: /dev/full: cannot be written: No space left on device");
}

// --- fix --------------------------------------------------------------------

TEST_F(BadInput, FileChangedBetweenCheckAndFix) {
  // The last unit waits for its header, which is a pipe: when somebody reads
  // from it, the units before it have been analysed.
  write("wait.cpp", "#include \"pipe.h\"\n");
  registry({"wait.cpp"});
  std::string pipe = dir_ + "/pipe.h";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  start({"fix", "-j1"});
  int fd = ::open(pipe.c_str(), O_WRONLY);
  std::string changed = std::string("// a new first line\n") + kRegistrySource;
  write("registry.cpp", changed);
  EXPECT_EQ(::write(fd, "int x;\n", 7), 7);
  ::close(fd);
  Outcome run = finish();
  EXPECT_EQ(run.code, 4) << run.err;
  EXPECT_TRUE(run.says("warning: registry.cpp:4: fix ")) << run.err;
  EXPECT_TRUE(run.says(" not applied: registry.cpp changed since it was analysed\n")) << run.err;
  EXPECT_TRUE(run.says("1 fix was left out whole; settle the reason and run locktidy fix again"));
  EXPECT_EQ(read("registry.cpp"), changed);
  expectClean();
}

TEST_F(BadInput, NoWritePermission) {
  registry();
  std::function<void()> before;
  if (::geteuid() == 0) {
    // Root may write anywhere, so be somebody else.
    before = [] {
      if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(125);
    };
  } else {
    fs::permissions(dir_, fs::perms::owner_read | fs::perms::owner_exec);
  }
  if (before && locktidy({"version"}, before).code != 0)
    GTEST_SKIP() << "another user cannot run the binary where it is";
  Outcome run = locktidy({"fix"}, before);
  expect(run, 4, "error: registry.cpp: ");
  EXPECT_TRUE(run.says("; no file was changed")) << run.err;
  EXPECT_EQ(read("registry.cpp"), kRegistrySource);
  expectClean();
}

TEST_F(BadInput, ReadOnlyFile) {
  registry();
  ::chmod((dir_ + "/registry.cpp").c_str(), 0444);
  expect(locktidy({"fix"}), 4, "error: registry.cpp: file is read-only; no file was changed");
  EXPECT_EQ(read("registry.cpp"), kRegistrySource);
}

TEST_F(BadInput, FileTooLarge) {
  registry();
  std::string source = kRegistrySource + std::string(20000, '/') + "\n";
  write("registry.cpp", source);
  Outcome run = locktidy({"fix"}, [] {
    rlimit limit{16384, 16384};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, SIG_IGN);
  });
  expect(run, 4, "error: registry.cpp: ");
  EXPECT_TRUE(run.says("File too large; no file was changed")) << run.err;
  EXPECT_EQ(read("registry.cpp"), source);
  expectClean();
}

TEST_F(BadInput, FullDisk) {
  std::string disk = dir_ + "/disk";
  fs::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=32k") != 0)
    GTEST_SKIP() << "may not mount a small file system here; FileTooLarge stands in";
  struct Unmount {
    const std::string& at;
    ~Unmount() { ::umount2(at.c_str(), MNT_DETACH); }
  } unmount{disk};
  write("disk/registry.h", kRegistryHeader);
  std::string source = kRegistrySource + std::string(20000, '/') + "\n";
  write("disk/registry.cpp", source);
  write("disk/main.cpp", kMainSource);
  ASSERT_EQ(read("disk/registry.cpp"), source);
  database({"disk/registry.cpp", "disk/main.cpp"});
  Outcome run = locktidy({"fix"});
  expect(run, 4, "error: registry.cpp: ");
  EXPECT_TRUE(run.says("No space left on device; no file was changed")) << run.err;
  EXPECT_EQ(read("disk/registry.cpp"), source);
  EXPECT_EQ(std::distance(fs::directory_iterator(disk), {}), 3);
}

// Ctrl-C while units are extracted: no worker outlives the run.
TEST_F(BadInput, Interrupted) {
  write("endless.cpp", kEndlessSource);
  registry();
  database({"endless.cpp", "registry.cpp"}, "-std=c++17 -fconstexpr-steps=4294967295");
  start({"fix", "-j2"});
  std::this_thread::sleep_for(std::chrono::seconds(3));
  ::kill(childPid(), SIGINT);
  Outcome run = finish();
  EXPECT_EQ(run.code, -SIGINT);  // 130 in a shell
  EXPECT_EQ(read("registry.cpp"), kRegistrySource);
  expectClean();
}

// A crash of locktidy itself is exit code 2, never a signal or a green run.
TEST_F(BadInput, InternalError) {
  write("endless.cpp", kEndlessSource);
  database({"endless.cpp"}, "-std=c++17 -fconstexpr-steps=4294967295");
  start({"check"});
  std::this_thread::sleep_for(std::chrono::seconds(3));
  ::kill(childPid(), SIGSEGV);
  expect(finish(), 2,
         "internal error: Segmentation fault; this is a bug in locktidy, please report it ");
}

}  // namespace
