// include/locktidy/percpu_shared_mutex.h: the SharedMutex interface, that only
// the sum over the slots counts, that nobody is kept out for ever, and stress.
//
// Compiled three times: as it is; with LOCKTIDY_NO_SCHED_GETCPU (slots by thread
// number); and with LOCKTIDY_TEST_WANDER, where the test says which slot a
// thread is on, and says another at every call unless one is asked for. That is
// a thread which migrates at every step, and needs no machine with many CPUs.
#if defined(LOCKTIDY_TEST_WANDER)
inline unsigned wanderingCpu();
#define LOCKTIDY_CURRENT_CPU wanderingCpu
#endif
#include "locktidy/percpu_shared_mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <type_traits>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

#if defined(LOCKTIDY_TEST_WANDER)
thread_local int cpuAskedFor = -1;
inline unsigned wanderingCpu() {
  static std::atomic<unsigned> seeds{1};
  thread_local unsigned state = seeds.fetch_add(1) * 2654435761u;
  if (cpuAskedFor >= 0) return static_cast<unsigned>(cpuAskedFor);
  state = state * 1664525u + 1013904223u;
  return state >> 16;
}
#endif

namespace {

using locktidy::percpu_shared_mutex;

static_assert(std::is_default_constructible_v<percpu_shared_mutex>);
static_assert(!std::is_copy_constructible_v<percpu_shared_mutex>);
static_assert(!std::is_move_constructible_v<percpu_shared_mutex>);
static_assert(!std::is_convertible_v<int, percpu_shared_mutex>);
#if defined(__GLIBCXX__) && defined(__x86_64__)
static_assert(sizeof(percpu_shared_mutex) == 384, "the header says 384 bytes");
#endif

// From here on the calling thread is on this CPU; false if that cannot be had.
bool moveTo(int cpu) {
#if defined(LOCKTIDY_TEST_WANDER)
  cpuAskedFor = cpu;
  return true;
#elif defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
#else
  return false;
#endif
}

bool canMove() {
  bool can = false;
  std::thread([&] { can = moveTo(1) && moveTo(0); }).join();
  return can;
}

template <class Do>
void inAnotherThread(Do&& act) {
  std::thread(std::forward<Do>(act)).join();
}

// Of another thread: what the owner itself may try is not defined.
bool canWrite(percpu_shared_mutex& mutex) {
  bool got = false;
  inAnotherThread([&] {
    got = mutex.try_lock();
    if (got) mutex.unlock();
  });
  return got;
}
bool canRead(percpu_shared_mutex& mutex) {
  bool got = false;
  inAnotherThread([&] {
    got = mutex.try_lock_shared();
    if (got) mutex.unlock_shared();
  });
  return got;
}

void waitUntil(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

TEST(PercpuSharedMutex, TheStandardsGuardsWork) {
  percpu_shared_mutex a, b;
  {
    std::shared_lock reading(a);
    EXPECT_TRUE(reading.owns_lock());
    std::shared_lock moved = std::move(reading);
    EXPECT_FALSE(canWrite(a));
  }
  {
    std::unique_lock writing(a, std::defer_lock);
    EXPECT_TRUE(canRead(a));
    writing.lock();
    EXPECT_FALSE(canRead(a));
    writing.unlock();
    EXPECT_TRUE(writing.try_lock());
  }
  {
    std::shared_lock reading(a, std::try_to_lock);
    EXPECT_TRUE(reading.owns_lock());
  }
  {
    std::scoped_lock both(a, b);
    EXPECT_FALSE(canRead(a));
    EXPECT_FALSE(canRead(b));
  }
  { std::lock_guard writing(b); }
  EXPECT_TRUE(canWrite(a));
  EXPECT_TRUE(canWrite(b));
}

TEST(PercpuSharedMutex, ReadersShareAndWritersExclude) {
  percpu_shared_mutex mutex;
  {
    std::shared_lock reading(mutex);
    EXPECT_TRUE(canRead(mutex));
    EXPECT_FALSE(canWrite(mutex));
  }
  {
    std::lock_guard writing(mutex);
    EXPECT_FALSE(canRead(mutex));
    EXPECT_FALSE(canWrite(mutex));
  }
  EXPECT_TRUE(canRead(mutex));
  EXPECT_TRUE(canWrite(mutex));
}

// Nobody leaves before all are inside: ends only if they can be.
TEST(PercpuSharedMutex, AllReadersAreInsideAtOnce) {
  percpu_shared_mutex mutex;
  constexpr int kReaders = 8;
  std::atomic<int> inside{0};
  std::atomic<bool> leave{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < kReaders; ++i)
    readers.emplace_back([&] {
      std::shared_lock reading(mutex);
      ++inside;
      waitUntil(leave);
    });
  while (inside != kReaders) std::this_thread::yield();
  EXPECT_FALSE(canWrite(mutex));
  EXPECT_TRUE(canRead(mutex));
  leave = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_TRUE(canWrite(mutex));
}

// Whatever slots there are, the last reader that leaves frees it, not the first.
TEST(PercpuSharedMutex, AWriterWaitsForTheLastReader) {
  percpu_shared_mutex mutex;
  constexpr int kReaders = 5;
  std::atomic<int> turn{0}, gone{0};
  std::vector<std::thread> readers;
  std::atomic<int> inside{0};
  for (int i = 0; i < kReaders; ++i)
    readers.emplace_back([&, i] {
      mutex.lock_shared();
      ++inside;
      while (turn <= i) std::this_thread::yield();
      mutex.unlock_shared();
      ++gone;
    });
  while (inside != kReaders) std::this_thread::yield();
  for (int left = kReaders; left > 0; --left) {
    EXPECT_FALSE(canWrite(mutex)) << left << " readers inside";
    ++turn;
    while (gone != kReaders - left + 1) std::this_thread::yield();
  }
  EXPECT_TRUE(canWrite(mutex));
  for (std::thread& reader : readers) reader.join();
}

TEST(PercpuSharedMutex, AThreadMayMigrateBetweenLockAndUnlock) {
  if (!canMove()) GTEST_SKIP() << "needs CPUs 0 and 1";
  percpu_shared_mutex mutex(4);
  inAnotherThread([&] {
    for (int round = 0; round < 100; ++round) {
      ASSERT_TRUE(moveTo(round % 2));
      std::shared_lock reading(mutex);
      ASSERT_TRUE(moveTo(1 - round % 2));
      ASSERT_FALSE(canWrite(mutex));
      reading.unlock();
      ASSERT_TRUE(canWrite(mutex));
    }
  });
}

// Two readers, and the one leaves by the slot the other came by: each slot by
// itself then says something else than the truth.
TEST(PercpuSharedMutex, SlotsThatCancelOutDoNotHideAReader) {
  if (!canMove()) GTEST_SKIP() << "needs CPUs 0 and 1";
  percpu_shared_mutex mutex(2);
  std::atomic<bool> second{false}, firstLeaves{false}, firstLeft{false};
  std::thread first([&] {
    moveTo(0);
    mutex.lock_shared();
    waitUntil(firstLeaves);
    moveTo(1);
    mutex.unlock_shared();
    firstLeft = true;
  });
  inAnotherThread([&] {
    moveTo(1);
    mutex.lock_shared();
    second = true;
    firstLeaves = true;
    waitUntil(firstLeft);
    EXPECT_FALSE(canWrite(mutex));
    moveTo(0);
    mutex.unlock_shared();
    EXPECT_TRUE(canWrite(mutex));
  });
  first.join();
}

// Waits in lock() until it shows: from then on nobody else gets in.
std::thread writerThatWaits(percpu_shared_mutex& mutex, std::atomic<bool>& written) {
  std::thread writer([&] {
    std::lock_guard writing(mutex);
    written = true;
  });
  while (canRead(mutex)) std::this_thread::yield();
  return writer;
}

TEST(PercpuSharedMutex, AReaderMayMigrateWhileAWriterWaits) {
  if (!canMove()) GTEST_SKIP() << "needs CPUs 0 and 1";
  percpu_shared_mutex mutex(2);
  for (int round = 0; round < 20; ++round)
    inAnotherThread([&] {
      std::atomic<bool> written{false};
      ASSERT_TRUE(moveTo(0));
      mutex.lock_shared();
      std::thread writer = writerThatWaits(mutex, written);
      ASSERT_TRUE(moveTo(1));
      EXPECT_FALSE(written);
      mutex.unlock_shared();
      writer.join();
      EXPECT_TRUE(written);
    });
}

TEST(PercpuSharedMutex, NobodyOvertakesAWriterThatWaits) {
  percpu_shared_mutex mutex;
  std::atomic<bool> written{false};
  mutex.lock_shared();
  std::thread writer = writerThatWaits(mutex, written);
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(canRead(mutex));
    EXPECT_FALSE(canWrite(mutex));
  }
  EXPECT_FALSE(written);
  std::thread late([&] {
    std::shared_lock reading(mutex);
    EXPECT_TRUE(written);
  });
  mutex.unlock_shared();
  writer.join();
  late.join();
  EXPECT_TRUE(canRead(mutex));
}

// A try_lock that fails leaves everything as it was, also the slots it took.
TEST(PercpuSharedMutex, ATryThatFailsLeavesNoTrace) {
  percpu_shared_mutex mutex;
  {
    std::shared_lock reading(mutex);
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(canWrite(mutex));
    EXPECT_TRUE(canRead(mutex));
  }
  {
    std::lock_guard writing(mutex);
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(canRead(mutex));
  }
  EXPECT_TRUE(canWrite(mutex));
}

// The readers overlap and go on until the writer has been there.
TEST(PercpuSharedMutex, AWriterGetsThroughOverlappingReaders) {
  percpu_shared_mutex mutex;
  constexpr int kWrites = 20;
  std::atomic<bool> done{false};
  int value = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i)
    readers.emplace_back([&] {
      while (!done) {
        std::shared_lock reading(mutex);
        for (int spin = 0; spin < 20; ++spin) std::this_thread::yield();
      }
    });
  std::thread writer([&] {
    for (int i = 0; i < kWrites; ++i) {
      std::lock_guard writing(mutex);
      ++value;
    }
    done = true;
  });
  writer.join();
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(value, kWrites);
}

// The writers leave no gap and go on until every reader has been there.
TEST(PercpuSharedMutex, ReadersGetThroughWritersWithoutAGap) {
  percpu_shared_mutex mutex;
  constexpr int kReaders = 3, kReads = 20;
  std::atomic<int> readersLeft{kReaders};
  long value = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (readersLeft != 0) {
        std::lock_guard writing(mutex);
        ++value;
        for (int spin = 0; spin < 5; ++spin) std::this_thread::yield();
      }
    });
  for (int i = 0; i < kReaders; ++i)
    threads.emplace_back([&] {
      long last = 0;
      for (int read = 0; read < kReads; ++read) {
        std::shared_lock reading(mutex);
        EXPECT_GE(value, last);
        last = value;
      }
      --readersLeft;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(readersLeft, 0);
}

// Two ints that are always equal under the lock, all forms of taking it, and
// counts of who is inside. Those are relaxed: stronger ones would order what the
// lock fails to order, and ThreadSanitizer would see nothing.
void stress(percpu_shared_mutex& mutex, int threadCount, int rounds) {
  constexpr auto relaxed = std::memory_order_relaxed;
  int left = 0, right = 0;
  std::atomic<int> readersInside{0}, writersInside{0}, wrong{0};
  std::atomic<long> writes{0};
  auto read = [&] {
    readersInside.fetch_add(1, relaxed);
    if (left != right || writersInside.load(relaxed) != 0) wrong.fetch_add(1, relaxed);
    readersInside.fetch_sub(1, relaxed);
  };
  auto write = [&] {
    if (writersInside.fetch_add(1, relaxed) != 0 || readersInside.load(relaxed) != 0)
      wrong.fetch_add(1, relaxed);
    ++left;
    ++right;
    writes.fetch_add(1, relaxed);
    writersInside.fetch_sub(1, relaxed);
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < threadCount; ++t)
    threads.emplace_back([&, t] {
      unsigned state = 12345u + 7919u * static_cast<unsigned>(t);
      for (int i = 0; i < rounds; ++i) {
        state = state * 1664525u + 1013904223u;
        switch ((state >> 16) % 16) {
        case 0: {
          std::lock_guard writing(mutex);
          write();
          break;
        }
        case 1:
          if (std::unique_lock writing(mutex, std::try_to_lock); writing) write();
          break;
        case 2: {
          std::shared_lock reading(mutex);
          std::this_thread::yield();
          read();
          break;
        }
        case 3:
        case 4:
        case 5:
          if (mutex.try_lock_shared()) {
            read();
            mutex.unlock_shared();
          }
          break;
        default: {
          std::shared_lock reading(mutex);
          read();
        }
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(left, right);
  EXPECT_EQ(left, writes);
  EXPECT_GT(writes, 0);
  EXPECT_TRUE(canWrite(mutex));
}

TEST(PercpuSharedMutex, StressTwoThreads) {
  percpu_shared_mutex mutex;
  stress(mutex, 2, 20000);
}

TEST(PercpuSharedMutex, StressMoreThreadsThanCpus) {
  percpu_shared_mutex mutex;
  stress(mutex, 12, 3000);
}

TEST(PercpuSharedMutex, StressOneSlot) {
  percpu_shared_mutex mutex(1);
  stress(mutex, 4, 5000);
}

TEST(PercpuSharedMutex, StressManySlots) {
  percpu_shared_mutex mutex(percpu_shared_mutex::max_slots);
  stress(mutex, 4, 5000);
}

TEST(PercpuSharedMutex, ManyLocks) {
  struct Account {
    percpu_shared_mutex mutex{2};
    int left = 0, right = 0;
  };
  std::deque<Account> accounts(100);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 4000; ++i) {
        Account& one = accounts[(i * 7 + t) % 99];
        Account& other = accounts[99];
        if (i % 4 == t) {
          std::lock_guard writing(one.mutex);
          ++one.left;
          ++one.right;
        } else if (i % 101 == t) {
          std::lock_guard writing(other.mutex);
          ++other.left;
          ++other.right;
        } else {
          std::shared_lock first(one.mutex), second(other.mutex);
          if (one.left != one.right || other.left != other.right) ++wrong;
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  for (Account& account : accounts) EXPECT_TRUE(canWrite(account.mutex));
}

// Take it once more exclusively, then destroy: the sanitizers see a reader that
// still touches it on its way out.
TEST(PercpuSharedMutex, MayBeDestroyedAfterOneLastLock) {
  constexpr int kRounds = 2000;
  std::atomic<percpu_shared_mutex*> offered{nullptr};
  std::atomic<bool> inside{false};
  std::thread reader([&] {
    for (int i = 0; i < kRounds; ++i) {
      percpu_shared_mutex* mutex;
      while (!(mutex = offered.exchange(nullptr))) std::this_thread::yield();
      mutex->lock_shared();
      inside = true;
      if (i % 2) std::this_thread::yield();
      mutex->unlock_shared();
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    auto mutex = std::make_unique<percpu_shared_mutex>();
    offered = mutex.get();
    waitUntil(inside);
    inside = false;
    mutex->lock();
    mutex->unlock();
  }
  reader.join();
}

TEST(PercpuSharedMutex, TheNumberOfSlotsIsAPowerOfTwoWithinBounds) {
  EXPECT_EQ(percpu_shared_mutex(0).slots(), 1u);
  EXPECT_EQ(percpu_shared_mutex(1).slots(), 1u);
  EXPECT_EQ(percpu_shared_mutex(5).slots(), 8u);
  EXPECT_EQ(percpu_shared_mutex(100000).slots(), percpu_shared_mutex::max_slots);
  std::size_t slots = percpu_shared_mutex().slots();
  EXPECT_GE(slots, 1u);
  EXPECT_LE(slots, percpu_shared_mutex::max_slots);
  EXPECT_EQ(slots & (slots - 1), 0u);
}

}  // namespace
