// include/locktidy/fair_shared_mutex.h: the SharedMutex interface, and that
// writers get through.
#include "locktidy/fair_shared_mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace {

TEST(FairSharedMutex, ReadersShareAndWritersExclude) {
  locktidy::fair_shared_mutex mutex;
  // Of another thread: what the owner itself may try is not defined.
  auto tried = [&](bool shared) {
    bool got = false;
    std::thread([&] {
      got = shared ? mutex.try_lock_shared() : mutex.try_lock();
      if (got && shared) mutex.unlock_shared();
      else if (got) mutex.unlock();
    }).join();
    return got;
  };
  {
    std::shared_lock reading(mutex);
    EXPECT_TRUE(tried(true));
    EXPECT_FALSE(tried(false));
  }
  {
    std::lock_guard writing(mutex);
    EXPECT_FALSE(tried(true));
    EXPECT_FALSE(tried(false));
  }
  EXPECT_TRUE(tried(false));
}

// The readers overlap and go on until the writer was there: under a lock that
// prefers readers this need not end.
TEST(FairSharedMutex, AWriterGetsThroughOverlappingReaders) {
  locktidy::fair_shared_mutex mutex;
  std::atomic<bool> written{false};
  long value = 0, seen = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i)
    readers.emplace_back([&] {
      while (!written) {
        std::shared_lock reading(mutex);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  std::thread writer([&] {
    std::lock_guard writing(mutex);
    value = 1;
    written = true;
  });
  writer.join();
  for (std::thread& reader : readers) reader.join();
  {
    std::shared_lock reading(mutex);
    seen = value;
  }
  EXPECT_EQ(seen, 1);
}

}  // namespace
