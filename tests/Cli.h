// A small program in a directory of its own, and locktidy run over it as a user
// would. For tests of the command line.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

struct Outcome {
  int code = -1;  // exit code, or minus the signal that ended it
  std::string out, err;
  // The last line of stderr, and whether `text` is in stderr.
  std::string lastLine() const;
  bool says(const std::string& text) const { return err.find(text) != std::string::npos; }
};

class CliTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Writes a file below the program's directory, and directories on the way.
  std::string write(const std::string& file, const std::string& text);
  std::string read(const std::string& file);
  // A database that compiles these sources, with `flags` for each.
  void database(const std::vector<std::string>& sources, const std::string& flags = "-std=c++17");

  // Runs locktidy in the program's directory. `before`, if any, runs in the
  // child just before it becomes locktidy.
  Outcome locktidy(const std::vector<std::string>& arguments,
               const std::function<void()>& before = nullptr);
  // The same in two steps, to do something while it runs.
  void start(const std::vector<std::string>& arguments,
             const std::function<void()>& before = nullptr);
  Outcome finish();
  int childPid() const { return child_; }

  std::string dir_;

 private:
  int child_ = -1;
};

// A registry whose lookup takes the writer's side, used by several threads:
// LT101 at line 4 of registry.cpp.
inline constexpr char kRegistryHeader[] = R"cpp(#pragma once
#include <map>
#include <mutex>
#include <shared_mutex>

class Registry {
 public:
  int find(int key) const;
  int count() const;
  void insert(int key, int value);

 private:
  mutable std::shared_mutex mu_;
  std::map<int, int> entries_;
};
)cpp";

inline constexpr char kRegistrySource[] = R"cpp(#include "registry.h"

int Registry::find(int key) const {
  std::lock_guard<std::shared_mutex> g(mu_);  // lookup takes the writer's side
  auto it = entries_.find(key);
  return it == entries_.end() ? 0 : it->second;
}

int Registry::count() const {
  std::shared_lock<std::shared_mutex> g(mu_);
  return static_cast<int>(entries_.size());
}

void Registry::insert(int key, int value) {
  std::lock_guard<std::shared_mutex> g(mu_);
  entries_[key] = value;
}
)cpp";

inline constexpr char kMainSource[] = R"cpp(#include <thread>
#include <vector>

#include "registry.h"

Registry registry;

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([i] {
      registry.insert(i, i);
      registry.find(i);
      registry.count();
    });
  for (std::thread& t : threads) t.join();
}
)cpp";

inline std::string Outcome::lastLine() const {
  std::string text = err;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

inline void CliTest::SetUp() {
  std::string name = testing::TempDir() + "locktidy-cli-XXXXXX";
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  dir_ = std::filesystem::canonical(name).string();
  ::chmod(dir_.c_str(), 0755);
}

inline void CliTest::TearDown() {
  std::error_code ignored;
  std::filesystem::permissions(dir_, std::filesystem::perms::owner_all, ignored);
  std::filesystem::remove_all(dir_, ignored);
}

inline std::string CliTest::write(const std::string& file, const std::string& text) {
  std::filesystem::path path = std::filesystem::path(dir_) / file;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
  return path.string();
}

inline std::string CliTest::read(const std::string& file) {
  std::ifstream in(std::filesystem::path(dir_) / file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void CliTest::database(const std::vector<std::string>& sources, const std::string& flags) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::string& source : sources)
    list.push_back({{"directory", dir_},
                    {"file", source},
                    {"command", "clang++ " + flags + " -pthread -c " + source}});
  write("compile_commands.json", list.dump(1));
}

inline void CliTest::start(const std::vector<std::string>& arguments,
                           const std::function<void()>& before) {
  std::vector<std::string> words{LOCKTIDY_BINARY};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  // Files, not pipes: what is written is there to read after any kind of end.
  std::string out = dir_ + "/.stdout", err = dir_ + "/.stderr";
  child_ = ::fork();
  ASSERT_GE(child_, 0);
  if (child_) return;
  int null = ::open("/dev/null", O_RDONLY);
  int o = ::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  int e = ::open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  ::dup2(null, 0);
  ::dup2(o, 1);
  ::dup2(e, 2);
  if (::chdir(dir_.c_str()) != 0) ::_exit(126);
  ::unsetenv("NO_COLOR");
  if (before) before();
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

inline Outcome CliTest::finish() {
  int status = 0;
  ::waitpid(child_, &status, 0);
  Outcome run;
  run.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  run.out = read(".stdout");
  run.err = read(".stderr");
  return run;
}

inline Outcome CliTest::locktidy(const std::vector<std::string>& arguments,
                             const std::function<void()>& before) {
  start(arguments, before);
  return finish();
}
