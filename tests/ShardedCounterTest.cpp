// include/locktidy/sharded_counter.h: nothing is lost or counted twice, and what
// load() and exchange_zero() promise while others count.
//
// Compiled three times, as PercpuSharedMutexTest.cpp.
#if defined(LOCKTIDY_TEST_WANDER)
inline unsigned wanderingCpu();
#define LOCKTIDY_CURRENT_CPU wanderingCpu
#endif
#include "locktidy/sharded_counter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

#if defined(LOCKTIDY_TEST_WANDER)
inline unsigned wanderingCpu() {
  static std::atomic<unsigned> seeds{1};
  thread_local unsigned state = seeds.fetch_add(1) * 2654435761u;
  state = state * 1664525u + 1013904223u;
  return state >> 16;
}
#endif

namespace {

using locktidy::sharded_counter;

static_assert(std::is_same_v<sharded_counter<>::value_type, long long>);
static_assert(!std::is_copy_constructible_v<sharded_counter<>>);
static_assert(!std::is_convertible_v<int, sharded_counter<>>);
static_assert(sizeof(sharded_counter<>) == 128, "the header says 128 bytes");

TEST(ShardedCounter, CountsLikeAnInteger) {
  sharded_counter<> counter;
  EXPECT_EQ(counter.load(), 0);
  ++counter;
  counter++;
  counter += 5;
  counter.add(10);
  EXPECT_EQ(counter.load(), 17);
  --counter;
  counter--;
  counter -= 20;
  counter.sub(2);
  EXPECT_EQ(counter.load(), -7);
  EXPECT_EQ(sharded_counter<>(42).load(), 42);
}

TEST(ShardedCounter, ExchangeZeroTakesWhatIsThere) {
  sharded_counter<int> counter(5);
  counter += 3;
  EXPECT_EQ(counter.exchange_zero(), 8);
  EXPECT_EQ(counter.load(), 0);
  EXPECT_EQ(counter.exchange_zero(), 0);
}

TEST(ShardedCounter, WrapsAroundLikeAnAtomic) {
  sharded_counter<int> big(INT_MAX, 8);
  ++big;
  EXPECT_EQ(big.load(), INT_MIN);
  sharded_counter<std::uint8_t> small(250, 8);
  for (int i = 0; i < 10; ++i) ++small;
  EXPECT_EQ(small.load(), 4);
  sharded_counter<unsigned long long> below(0, 8);
  --below;
  EXPECT_EQ(below.load(), ULLONG_MAX);
}

TEST(ShardedCounter, NothingIsLost) {
  for (std::size_t slots : {1, 2, 64}) {
    sharded_counter<> counter(100, slots);
    constexpr int kThreads = 8, kRounds = 20000;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < kRounds; ++i) {
          if (t % 4 == 3)
            counter -= 2;
          else
            ++counter;
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(counter.load(), 100 + 6 * kRounds - 2 * 2 * kRounds) << slots << " slots";
  }
}

// Increments only: it never falls, holds what was counted before it was asked
// and never more than there ever will be.
TEST(ShardedCounter, NeverFallsWhileOthersCount) {
  sharded_counter<> counter;
  constexpr int kThreads = 3, kRounds = 50000;
  std::atomic<int> counting{kThreads};
  std::atomic<long long> surely{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        ++counter;
        ++surely;
      }
      --counting;
    });
  long long last = 0;
  bool more = true;
  while (more) {
    more = counting != 0;
    long long atLeast = surely;
    long long now = counter.load();
    ASSERT_GE(now, last);
    ASSERT_GE(now, atLeast);
    ASSERT_LE(now, static_cast<long long>(kThreads) * kRounds);
    last = now;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(last, static_cast<long long>(kThreads) * kRounds);
}

// Two that take at once: every increment is taken by one of them or left.
TEST(ShardedCounter, EveryIncrementIsTakenOnce) {
  sharded_counter<> counter;
  constexpr int kThreads = 3, kRounds = 50000;
  std::atomic<int> counting{kThreads};
  std::atomic<long long> taken{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) ++counter;
      --counting;
    });
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      while (counting != 0) {
        taken += counter.exchange_zero();
        std::this_thread::yield();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken + counter.load(), static_cast<long long>(kThreads) * kRounds);
}

TEST(ShardedCounter, TheNumberOfSlotsIsAPowerOfTwoWithinBounds) {
  EXPECT_EQ(sharded_counter<>(0, 0).slots(), 1u);
  EXPECT_EQ(sharded_counter<>(0, 5).slots(), 8u);
  EXPECT_EQ(sharded_counter<>(0, 100000).slots(), sharded_counter<>::max_slots);
  std::size_t slots = sharded_counter<>().slots();
  EXPECT_GE(slots, 1u);
  EXPECT_EQ(slots & (slots - 1), 0u);
}

}  // namespace
