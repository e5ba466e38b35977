// Throughput of the locks and the counter in include/locktidy beside the ones
// they replace.
//
//   <lock>/threads:<n>/section:<s>/writes:<w>
//             section: multiplications inside, one after the other, about a
//             nanosecond each; 0 reads two words and no more (cost class T0).
//             writes: of 1000 acquisitions so many are exclusive.
//   <lock>/threads:1/slots:<s>
//             one thread locks exclusively and unlocks, and nobody else is there;
//             slots of percpu_shared_mutex, 0 for the others.
//   <counter>/threads:<n>
//             each thread counts and does nothing else.
//
// One repetition is one window of 30 ms: threads start together, go on until it
// shuts, and what they did until then counts. Google Benchmark chooses, shuffles
// and prints; its own threads are not used, as they do a fixed number of rounds
// each and their mean time is reported: where threads get the lock one after the
// other that is twice the truth and more.
//
// Closed loop, no time between the acquisitions: the most that a lock can gain
// or lose, not what a program would. docs/locks.md has the command.
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

#include "locktidy/fair_shared_mutex.h"
#include "locktidy/percpu_shared_mutex.h"
#include "locktidy/sharded_counter.h"

#if defined(LOCKTIDY_BENCH_TBB) && __has_include(<oneapi/tbb/rw_mutex.h>)
#include <oneapi/tbb/rw_mutex.h>
#define LOCKTIDY_BENCH_HAS_TBB 1
#endif

namespace {

constexpr auto kWindow = std::chrono::milliseconds(30);

// Round robin over the CPUs. In a window this short the scheduler may leave two
// threads on one CPU, and then no lock is contended.
void pin(unsigned thread) {
#if defined(__linux__)
  const unsigned cpus = std::thread::hardware_concurrency();
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(thread % (cpus ? cpus : 1), &set);
  sched_setaffinity(0, sizeof set, &set);  // better unpinned than not at all
#endif
}

// round(random) is one operation; random differs with every call.
template <class Round>
void window(benchmark::State& state, Round&& round) {
  using Clock = std::chrono::steady_clock;
  struct alignas(128) Done {
    long operations = 0;
  };
  const auto threadCount = static_cast<unsigned>(state.range(0));
  for (auto _ : state) {
    std::vector<Done> done(threadCount);
    std::atomic<unsigned> ready{0};
    alignas(128) std::atomic<bool> start{false};
    alignas(128) std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < threadCount; ++t)
      threads.emplace_back([&, t] {
        pin(t);
        unsigned random = 1u + 7919u * t;
        long operations = 0;
        ++ready;
        while (!start) std::this_thread::yield();
        while (!stop.load(std::memory_order_relaxed)) {
          random = random * 1664525u + 1013904223u;
          round(random >> 8);
          ++operations;
        }
        done[t].operations = operations;
      });
    while (ready != threadCount) std::this_thread::yield();
    const auto from = Clock::now();
    start = true;
    std::this_thread::sleep_for(kWindow);
    stop = true;
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - from).count());
    long operations = 0;
    for (unsigned t = 0; t < threadCount; ++t) {
      threads[t].join();
      operations += done[t].operations;
    }
    state.SetItemsProcessed(operations);
  }
}

long work(long value, long multiplications) {
  auto x = static_cast<unsigned long>(value);
  for (long i = 0; i < multiplications; ++i) {
    x = x * 6364136223846793005ul + 1;
    benchmark::DoNotOptimize(x);
  }
  return static_cast<long>(x);
}

template <class Lock>
void readAndWrite(benchmark::State& state) {
  using Reading = std::conditional_t<std::is_same_v<Lock, std::mutex>, std::unique_lock<Lock>,
                                     std::shared_lock<Lock>>;
  // What the lock guards shares no cache line with it.
  struct Guarded {
    alignas(128) Lock lock;
    alignas(128) long left = 0;
    long right = 0;
  } data;
  const long section = state.range(1), writes = state.range(2);
  window(state, [&, section, writes](unsigned random) {
    // At random: threads that write every so often fall into step.
    if (static_cast<long>(random % 1000) < writes) {
      std::lock_guard writing(data.lock);
      data.left = work(data.left + 1, section);
      data.right = data.left;
    } else {
      Reading reading(data.lock);
      benchmark::DoNotOptimize(work(data.left + data.right, section));
    }
  });
}

template <class Lock, class... Slots>
void writeAlone(benchmark::State& state, Slots... slots) {
  Lock lock(slots...);
  window(state, [&](unsigned) { std::lock_guard writing(lock); });
}

class MutexCounter {
 public:
  void operator++() {
    std::lock_guard counting(mutex_);
    ++value_;
  }

 private:
  std::mutex mutex_;
  long long value_ = 0;
};

template <class Counter>
void count(benchmark::State& state) {
  alignas(128) Counter counter{};
  window(state, [&](unsigned) { ++counter; });
}

void once(benchmark::internal::Benchmark* it) { it->Iterations(1)->UseManualTime(); }

template <class Lock>
void addLock(const char* name) {
  auto* it = benchmark::RegisterBenchmark(name, readAndWrite<Lock>);
  it->Apply(once)->ArgNames({"threads", "section", "writes"});
  for (long section : {0, 200})
    for (long writes : {0, 10})
      for (long threads : {1, 2, 4, 8}) it->Args({threads, section, writes});
}

template <class Lock, class... Slots>
void addWriter(const char* name, Slots... slots) {
  benchmark::RegisterBenchmark(name, writeAlone<Lock, Slots...>, slots...)
      ->Apply(once)
      ->ArgNames({"threads", "slots"})
      ->Args({1, static_cast<long>((slots + ... + 0))});
}

template <class Counter>
void addCounter(const char* name) {
  auto* it = benchmark::RegisterBenchmark(name, count<Counter>);
  it->Apply(once)->ArgName("threads");
  for (long threads : {1, 2, 4, 8}) it->Arg(threads);
}

}  // namespace

int main(int argc, char** argv) {
  addLock<std::mutex>("std::mutex");
  addLock<std::shared_mutex>("std::shared_mutex");
#if defined(LOCKTIDY_BENCH_HAS_TBB)
  addLock<tbb::rw_mutex>("tbb::rw_mutex");
#endif
  addLock<locktidy::fair_shared_mutex>("fair_shared_mutex");
  addLock<locktidy::percpu_shared_mutex>("percpu_shared_mutex");
  addWriter<std::mutex>("std::mutex");
  addWriter<std::shared_mutex>("std::shared_mutex");
#if defined(LOCKTIDY_BENCH_HAS_TBB)
  addWriter<tbb::rw_mutex>("tbb::rw_mutex");
#endif
  addWriter<locktidy::fair_shared_mutex>("fair_shared_mutex");
  for (std::size_t slots : {2, 16, 64})
    addWriter<locktidy::percpu_shared_mutex>("percpu_shared_mutex", slots);
  addCounter<MutexCounter>("std::mutex + long long");
  addCounter<std::atomic<long long>>("std::atomic");
  addCounter<locktidy::sharded_counter<>>("sharded_counter");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
