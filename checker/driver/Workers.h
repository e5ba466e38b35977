// Jobs in forked worker processes. A job that crashes, hangs or needs too much
// memory is a recorded failure of that job and of nothing else.
//
// Invariants
//  * The parent has no threads while workers are forked: a worker is a copy of
//    the parent at that moment, and gets only indices of jobs afterwards.
//  * Outcomes do not depend on the number of workers: a job that dies in a
//    worker that has run others before is tried once more in a fresh one, and
//    its first failure does not count.
//  * Workers end with the parent, whatever ends it, and write nothing to its
//    terminal: their stderr goes to memory, and is quoted where it explains a
//    death.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace locktidy {

struct WorkerLimits {
  unsigned jobs = 1;
  std::chrono::milliseconds timeout{300000};  // of one job; 0: none
  uint64_t memory = 0;                        // bytes one worker may add; 0: no limit
};

struct JobOutcome {
  std::string bytes;    // what the job returned
  std::string failure;  // not empty: it returned nothing, and why
};

// Calls `work(i)` in a worker process for each i below `count`, and `done(i,
// outcome)` in this process, in the order they end. `idle`, if any, is called
// at least every second while jobs run.
void runInWorkers(size_t count, const std::function<std::string(size_t)>& work,
                  const WorkerLimits& limits, const std::function<void(size_t, JobOutcome)>& done,
                  const std::function<void()>& idle = nullptr);

// What `-j auto` means: processors this process may use (affinity, cgroup), but
// no more than have `perJob` bytes of free memory each, at least 1.
unsigned automaticJobs(uint64_t perJob = uint64_t{1} << 30);

// "300 s", "4 GiB": as messages spell them.
std::string spellDuration(std::chrono::milliseconds time);
std::string spellSize(uint64_t bytes);

}  // namespace locktidy
