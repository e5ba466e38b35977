// A reader-writer lock whose readers do not meet.
//
// A reader of an ordinary shared mutex writes to the lock to say that it is
// there. All readers write to that one cache line, and for short sections the
// line is what they wait for. Here every CPU has a slot on a line of its own:
// a reader counts itself in the slot of the CPU it runs on. A writer pays for
// it, it visits every slot.
//
// Use it for a lock that is read in hot paths and written at start-up,
// registration or configuration; what it costs where is in docs/locks.md.
// Interface: SharedMutex of the standard, without the timed operations; use it
// with std::lock_guard, std::unique_lock, std::scoped_lock and std::shared_lock.
//
// How it works
//
//   slot      bit 0: closed, a writer is here or comes. The rest: readers that
//             came by this slot less readers that left by it.
//   gate_     the mutex of everything that is not the fast path. With it held,
//             closed_ tells the bit 0 of every slot: all are the same.
//   pending_  readers that hold the lock and are counted in no slot. Changed
//             with gate_ held.
//
//   Invariant: pending_ + the counts of all slots = readers that hold the lock.
//   A thread may migrate between lock_shared and unlock_shared and leave by
//   another slot than it came; that slot then goes below zero. Only the sum
//   means something, and as all of it is unsigned, it is right modulo 2^N.
//
//   lock_shared    open slot: count + 1, by compare-exchange. Closed: below.
//   unlock_shared  open slot: count - 1. Closed: pending_ - 1, with gate_ held,
//                  and the last one wakes the writer.
//   lock           one writer at a time (writers_); with gate_ held it takes
//                  each slot's count away into pending_ and leaves the slot
//                  closed, by one exchange. Then it waits for pending_ == 0.
//   unlock         with gate_ held opens every slot.
//
// Why a writer is alone. A closed slot's word does not change: readers change
// only a word they saw open, in the same atomic step. So when the writer has
// exchanged the last slot, no slot has a count, and by the invariant pending_ is
// the number of readers, whichever slots they came by and however many came and
// left while the writer went from slot to slot. It only falls from here on.
//
// Why acquire and release are enough. Were the flag of the writer a variable
// apart from the counts (a global flag, as in brlock, BRAVO and Linux's
// percpu_rw_semaphore), reader and writer would each store to one place and then
// load the other, store buffering, and both sides would need sequential
// consistency or a fence. Here flag and count are one word, and one word has one
// order of modifications: the reader's step comes before the writer's exchange
// or after it. Before: the exchange sees it counted. After: it sees the slot
// closed. What the sections wrote is passed on thus:
//   reader to writer  the release of unlock_shared in a slot is read by the
//                     writer's acquire-exchange of that slot, directly or through
//                     other readers' steps, which continue the release sequence
//                     (all of them are read-modify-writes); else through gate_.
//   writer to reader  the release-store that opens a slot is read by the acquire
//                     of lock_shared in the same way; else through gate_.
//   writer to writer  writers_.
//
// Who waits for whom. A writer waits for the readers that were inside when it
// came; later ones wait. Waiting is a short spin, then sleep; it has no limit in
// time. A reader that sleeps is let in by the very unlock() it sleeps for: that
// counts all sleepers into pending_, and so the next writer waits for them.
// Neither a stream of readers nor one of writers keeps the others out: phase-fair,
// after Brandenburg and Anderson. Writers among themselves come in the order of
// std::mutex, which is not a fair one.
//
// Memory: 128 bytes for each slot and sizeof, 384 bytes with libstdc++ on x86-64.
// One slot for each CPU, rounded up to a power of two, at most 64: 640 bytes
// with 2 CPUs, 2432 with 16, 8576 with 64 and more.
//
// Limits
//  * A thread that holds it, in either mode, must not take it again: a writer
//    that came in between makes the second lock_shared wait for ever. (The
//    standard forbids the same of std::shared_mutex; here it shows.)
//  * The thread that locked unlocks; on which CPU does not matter.
//  * Writers are slow: two passes over all slots, two mutexes, and every reader
//    that waits meanwhile is woken. try_lock may fail, and readers may be held
//    up a moment, while others only try.
//  * try_lock_shared may fail while another thread's try_lock goes on.
//  * Destroying it is right once every call of it has returned, or after
//    lock() and unlock() by a thread that knows no other will come: lock()
//    returns only when all who held it before have let go of its memory.
//  * The constructor allocates (std::bad_alloc) and is not constexpr: a global
//    one must not be used by constructors of other globals. A static local is
//    the way out.
//  * Not for signal handlers, not shared between processes, no use across fork.
//  * With more CPUs than slots, or CPU numbers with gaps, CPUs share a slot:
//    slower, not wrong.
//
// The CPU comes from sched_getcpu where there is one (Linux; since glibc 2.35
// that reads rseq's field and costs a few nanoseconds). Elsewhere, or with
// LOCKTIDY_NO_SCHED_GETCPU defined, threads are numbered as they come and keep
// their slot. LOCKTIDY_CURRENT_CPU may be defined as a function or macro without
// arguments that says another number; any will do. Define either for the whole
// program or not at all.
//
// Sources: brlock of Linux 2.4 (a lock for each CPU, the writer takes them all);
// percpu_rw_semaphore of Linux (kernel/locking/percpu-rwsem.c: per-CPU counts of
// which only the sum means something); readerWait of Go's sync.RWMutex (what is
// pending_ here); Dice and Kogan, BRAVO, USENIX ATC 2019, and folly::SharedMutex
// (readers in a table that all locks of the program share: less memory a lock,
// but unlock_shared must find its entry again); Brandenburg and Anderson,
// Spin-based reader-writer synchronization for multiprocessor real-time systems,
// 2010 (phase-fair).
//
// C++17, header only, any platform; made for Linux.
#ifndef LOCKTIDY_PERCPU_SHARED_MUTEX_H
#define LOCKTIDY_PERCPU_SHARED_MUTEX_H

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>

#if defined(__linux__) && !defined(LOCKTIDY_NO_SCHED_GETCPU)
#include <sched.h>
#endif

// Clang's thread-safety analysis (-Wthread-safety) knows this lock. The bodies
// are exempt: they are what the annotations promise.
#if defined(__clang__)
#define LOCKTIDY_TSA(x) __attribute__((x, no_thread_safety_analysis))
#define LOCKTIDY_TSA_CLASS(x) __attribute__((x))
#else
#define LOCKTIDY_TSA(x)
#define LOCKTIDY_TSA_CLASS(x)
#endif

namespace locktidy {

class LOCKTIDY_TSA_CLASS(capability("shared mutex")) percpu_shared_mutex {
 public:
  static constexpr std::size_t max_slots = 64;

  percpu_shared_mutex() : percpu_shared_mutex(default_slots()) {}
  // With fewer slots: less memory and quicker writers, slower readers. Rounded
  // up to a power of two, at most max_slots.
  explicit percpu_shared_mutex(std::size_t slots)
      : mask_(round_up(slots) - 1), slots_(new slot[mask_ + 1]) {}
  percpu_shared_mutex(const percpu_shared_mutex&) = delete;
  percpu_shared_mutex& operator=(const percpu_shared_mutex&) = delete;

  std::size_t slots() const { return mask_ + 1; }

  void lock() LOCKTIDY_TSA(acquire_capability()) {
    std::unique_lock<std::mutex> writer(writers_);
    std::unique_lock<std::mutex> gate(gate_);
    close();
    if (pending_.load(std::memory_order_relaxed) != 0) {
      gate.unlock();
      for (int i = 0; i < kSpins && pending_.load(std::memory_order_relaxed) != 0; ++i) pause();
      gate.lock();
      // Also after the spin saw zero: the last reader then has let go of gate_.
      drained_.wait(gate, [&] { return pending_.load(std::memory_order_relaxed) == 0; });
    }
    writer.release();
  }

  bool try_lock() LOCKTIDY_TSA(try_acquire_capability(true)) {
    std::unique_lock<std::mutex> writer(writers_, std::try_to_lock);
    if (!writer) return false;
    std::lock_guard<std::mutex> gate(gate_);
    // A glance first, so that whoever tries again and again does not close the
    // slots under the readers each time.
    if (count() != 0) return false;
    close();
    if (pending_.load(std::memory_order_relaxed) != 0) {
      open();
      return false;
    }
    writer.release();
    return true;
  }

  void unlock() LOCKTIDY_TSA(release_capability()) {
    std::unique_lock<std::mutex> writer(writers_, std::adopt_lock);
    bool wake;
    {
      std::lock_guard<std::mutex> gate(gate_);
      wake = open();
    }
    if (wake) opened_.notify_all();
  }

  void lock_shared() LOCKTIDY_TSA(acquire_shared_capability()) {
    if (!try_lock_shared()) lock_shared_slowly();
  }

  bool try_lock_shared() LOCKTIDY_TSA(try_acquire_shared_capability(true)) {
    std::atomic<std::size_t>& word = here();
    std::size_t seen = word.load(std::memory_order_relaxed);
    while (!(seen & kClosed))
      if (word.compare_exchange_weak(seen, seen + kReader, std::memory_order_acquire,
                                     std::memory_order_relaxed))
        return true;
    return false;
  }

  void unlock_shared() LOCKTIDY_TSA(release_shared_capability()) {
    std::atomic<std::size_t>& word = here();
    std::size_t seen = word.load(std::memory_order_relaxed);
    while (!(seen & kClosed))
      if (word.compare_exchange_weak(seen, seen - kReader, std::memory_order_release,
                                     std::memory_order_relaxed))
        return;  // the lock may be gone from here on
    unlock_shared_slowly();
  }

 private:
  // Two lines of 64 bytes: processors fetch neighbours in pairs, and some have
  // lines of 128. Not hardware_destructive_interference_size: that may differ
  // between the units of one program.
  static constexpr std::size_t kLine = 128;
  static constexpr std::size_t kClosed = 1, kReader = 2;
  static constexpr int kSpins = 64;  // 1 to 3 microseconds; sleeping costs more

  struct alignas(kLine) slot {
    std::atomic<std::size_t> word{0};
  };

  static std::size_t round_up(std::size_t wanted) {
    std::size_t slots = 1;
    while (slots < wanted && slots < max_slots) slots *= 2;
    return slots;
  }

  static std::size_t default_slots() {
    static const unsigned cpus = std::thread::hardware_concurrency();  // reads a file each time
    return cpus ? cpus : 8;
  }

  static std::size_t cpu() {
#if defined(LOCKTIDY_CURRENT_CPU)
    return static_cast<std::size_t>(LOCKTIDY_CURRENT_CPU());
#else
#if defined(__linux__) && !defined(LOCKTIDY_NO_SCHED_GETCPU)
    if (int number = sched_getcpu(); number >= 0) return static_cast<std::size_t>(number);
#endif
    static std::atomic<std::size_t> threads{0};
    thread_local const std::size_t number = threads.fetch_add(1, std::memory_order_relaxed);
    return number;
#endif
  }

  std::atomic<std::size_t>& here() { return slots_[cpu() & mask_].word; }

  static void pause() {
#if defined(__i386__) || defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
    __asm__ __volatile__("yield");
#endif
  }

  // In steps of kReader. With gate_ held and open slots no more than a glance:
  // the slots are not read at one time.
  std::size_t count() const {
    std::size_t sum = pending_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i <= mask_; ++i) sum += slots_[i].word.load(std::memory_order_relaxed);
    return sum;
  }

  // With writers_ and gate_ held.
  void close() {
    std::size_t sum = pending_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i <= mask_; ++i)
      sum += slots_[i].word.exchange(kClosed, std::memory_order_acquire);
    pending_.store(sum, std::memory_order_relaxed);
    closed_ = true;
  }

  // With writers_ and gate_ held. Lets in all who wait; true if there are any,
  // they are then to be woken.
  bool open() {
    bool any = waiting_ != 0;
    pending_.store(pending_.load(std::memory_order_relaxed) + waiting_ * kReader,
                   std::memory_order_relaxed);
    waiting_ = 0;
    if (any) ++phase_;
    closed_ = false;
    for (std::size_t i = 0; i <= mask_; ++i) slots_[i].word.store(0, std::memory_order_release);
    return any;
  }

  void lock_shared_slowly() LOCKTIDY_TSA(acquire_shared_capability()) {
    for (int i = 0; i < kSpins; ++i) {
      pause();
      if (try_lock_shared()) return;
    }
    std::unique_lock<std::mutex> gate(gate_);
    if (!closed_) {
      here().fetch_add(kReader, std::memory_order_acquire);
      return;
    }
    ++waiting_;
    const std::size_t mine = phase_;
    opened_.wait(gate, [&] { return phase_ != mine; });
  }

  void unlock_shared_slowly() LOCKTIDY_TSA(release_shared_capability()) {
    std::lock_guard<std::mutex> gate(gate_);
    if (!closed_) {
      here().fetch_sub(kReader, std::memory_order_release);
      return;
    }
    const std::size_t left = pending_.load(std::memory_order_relaxed) - kReader;
    pending_.store(left, std::memory_order_relaxed);
    // With gate_ held: the writer may destroy the lock as soon as it is free.
    if (left == 0) drained_.notify_one();
  }

  // What every reader reads, and nobody writes once it is made.
  const std::size_t mask_;
  const std::unique_ptr<slot[]> slots_;

  alignas(kLine) std::mutex writers_;  // held from lock() to unlock(); before gate_
  std::mutex gate_;
  std::condition_variable drained_;      // pending_ fell to 0: the one writer
  std::condition_variable opened_;       // phase_ went on: readers
  std::atomic<std::size_t> pending_{0};  // in steps of kReader; atomic for the spin of lock()
  std::size_t waiting_ = 0;              // readers that sleep
  std::size_t phase_ = 0;
  bool closed_ = false;
};

}  // namespace locktidy

#undef LOCKTIDY_TSA
#undef LOCKTIDY_TSA_CLASS

#endif
