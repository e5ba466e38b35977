// Jobs in worker processes: results, and every way to die.
#include "checker/driver/Workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <new>

using namespace locktidy;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

std::vector<JobOutcome> run(size_t count, const std::function<std::string(size_t)>& work,
                            WorkerLimits limits = {}) {
  std::vector<JobOutcome> outcomes(count);
  std::vector<int> times(count);
  runInWorkers(count, work, limits, [&](size_t i, JobOutcome outcome) {
    ++times[i];
    outcomes[i] = std::move(outcome);
  });
  for (size_t i = 0; i < count; ++i) EXPECT_EQ(times[i], 1) << i;
  return outcomes;
}

TEST(WorkersTest, ResultsByIndexForAnyNumberOfWorkers) {
  for (unsigned jobs : {0u, 1u, 3u, 50u}) {
    WorkerLimits limits;
    limits.jobs = jobs;
    auto outcomes = run(
        20, [](size_t i) { return std::string(i * 100000, 'a'); }, limits);
    for (size_t i = 0; i < outcomes.size(); ++i) {
      EXPECT_EQ(outcomes[i].failure, "");
      EXPECT_EQ(outcomes[i].bytes.size(), i * 100000);
    }
  }
}

TEST(WorkersTest, NoJobs) {
  EXPECT_TRUE(run(0, [](size_t) { return ""; }).empty());
}

TEST(WorkersTest, WorkIsDoneElsewhere) {
  pid_t here = ::getpid();
  auto outcomes = run(3, [](size_t) { return std::to_string(::getpid()); });
  EXPECT_NE(outcomes[0].bytes, std::to_string(here));
  EXPECT_EQ(outcomes[0].bytes, outcomes[2].bytes);  // one worker serves many
}

TEST(WorkersTest, DeathsAreFailuresOfTheirJobs) {
  auto outcomes = run(5, [](size_t i) -> std::string {
    if (i == 1) ::raise(SIGSEGV);
    if (i == 2) ::_exit(3);
    if (i == 3) {
      (void)!::write(STDERR_FILENO, "noise\nLLVM ERROR: no such thing\n", 31);
      std::abort();
    }
    return "ok";
  });
  EXPECT_EQ(outcomes[0].bytes, "ok");
  EXPECT_EQ(outcomes[1].failure, "crashed (signal 11: Segmentation fault)");
  EXPECT_EQ(outcomes[2].failure, "ended with code 3");
  EXPECT_EQ(outcomes[3].failure, "crashed (signal 6: Aborted; LLVM ERROR: no such thing)");
  EXPECT_EQ(outcomes[4].bytes, "ok");
}

// A crash that only happens after other jobs says nothing of this job.
TEST(WorkersTest, SecondTryInAFreshWorker) {
  static int served = 0;
  auto outcomes = run(3, [](size_t i) -> std::string {
    if (i == 2 && served > 0) ::raise(SIGSEGV);
    ++served;
    return "ok";
  });
  EXPECT_EQ(outcomes[2].bytes, "ok") << outcomes[2].failure;
}

TEST(WorkersTest, Timeout) {
  WorkerLimits limits;
  limits.jobs = 2;
  limits.timeout = std::chrono::milliseconds(300);
  auto outcomes = run(
      4,
      [](size_t i) -> std::string {
        while (i == 1) ::usleep(1000);
        return "ok";
      },
      limits);
  EXPECT_EQ(outcomes[1].failure, "no result after 300 ms (--tu-timeout)");
  EXPECT_EQ(outcomes[0].bytes + outcomes[2].bytes + outcomes[3].bytes, "okokok");
}

TEST(WorkersTest, Memory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers reserve address space of their own";
#endif
  WorkerLimits limits;
  limits.memory = uint64_t{64} << 20;
  auto outcomes = run(
      3,
      [](size_t i) {
        // Through a volatile pointer, or the compiler leaves the string out.
        std::string text(i == 1 ? 100 << 20 : 1 << 20, 'x');
        const char* volatile kept = text.data();
        return std::to_string(text.size() + (kept == nullptr));
      },
      limits);
  EXPECT_EQ(outcomes[1].failure, "needs more memory than 64 MiB (--tu-memory)");
  EXPECT_EQ(outcomes[0].bytes + outcomes[2].bytes, "10485761048576");
}

TEST(WorkersTest, NothingReachesTheTerminal) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  run(1, [](size_t) -> std::string {
    (void)!::write(STDOUT_FILENO, "out", 3);
    (void)!::write(STDERR_FILENO, "err", 3);
    return "";
  });
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(WorkersTest, Spelling) {
  EXPECT_EQ(spellDuration(std::chrono::milliseconds(300000)), "300 s");
  EXPECT_EQ(spellDuration(std::chrono::milliseconds(1500)), "1500 ms");
  EXPECT_EQ(spellSize(uint64_t{4} << 30), "4 GiB");
  EXPECT_EQ(spellSize(1000), "1000 bytes");
  EXPECT_GE(automaticJobs(), 1u);
}

}  // namespace
