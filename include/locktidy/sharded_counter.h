// A counter for many threads that count and few that look.
//
// Every CPU has a slot on a cache line of its own and adds there; load() adds
// up. So increments do not wait for each other, as they do with a mutex or with
// one std::atomic whose line goes from CPU to CPU.
//
//   locktidy::sharded_counter<> hits;
//   ++hits; hits.add(3); hits -= 1;
//   report(hits.load());
//
// Right, whoever calls what when
//  * No increment is lost or counted twice, wherever the thread migrates: a slot
//    is an atomic, the CPU's number only says which.
//  * load() counts everything that happened before it, and may count or miss
//    what happens meanwhile. If nothing but increments happen, a thread never
//    sees it fall (each slot is seen no older than before).
//  * exchange_zero() takes what is there: all it ever returned and a last
//    load() make the sum of all that was added.
//
// Limits
//  * No snapshot: the slots are read one after the other. With increments and
//    decrements under way, load() may return a sum that never was: of a +1
//    followed by a -1 it may see the second alone. Do not compare it with 0 to
//    learn that the last user is gone; that needs one std::atomic.
//  * Increments return nothing: there is no old value that all would agree on.
//  * Counts and no more: relaxed order, other memory is not published by it.
//  * load() fetches a cache line for each slot, as exchange_zero() does.
//  * Memory: 128 bytes for each slot and 128 for the rest. One slot for each CPU,
//    rounded up to a power of two, at most 64: 384 bytes with 2 CPUs, 2176 with
//    16, 8320 with 64 and more. Not for a counter in every element of a table.
//  * The constructor allocates (std::bad_alloc) and is not constexpr: a global
//    one must not be used by constructors of other globals. A static local is
//    the way out.
//  * Overflow wraps around, as with std::atomic.
//
// The CPU comes from sched_getcpu where there is one (Linux; since glibc 2.35
// that reads rseq's field and costs a few nanoseconds). Elsewhere, or with
// LOCKTIDY_NO_SCHED_GETCPU defined, threads are numbered as they come and keep
// their slot. LOCKTIDY_CURRENT_CPU may be defined as a function or macro without
// arguments that says another number; any will do. Define either for the whole
// program or not at all.
//
// Sources: percpu_counter and local_t of Linux; java.util.concurrent's LongAdder
// (the same interface and the same words about snapshots).
//
// C++17, header only, any platform; made for Linux.
#ifndef LOCKTIDY_SHARDED_COUNTER_H
#define LOCKTIDY_SHARDED_COUNTER_H

#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <type_traits>

#if defined(__linux__) && !defined(LOCKTIDY_NO_SCHED_GETCPU)
#include <sched.h>
#endif

namespace locktidy {

template <class T = long long>
class sharded_counter {
  static_assert(std::is_integral_v<T> && !std::is_same_v<std::remove_cv_t<T>, bool>,
                "sharded_counter counts with an integer type");
  static_assert(!std::is_const_v<T> && !std::is_volatile_v<T>);

 public:
  using value_type = T;
  static constexpr std::size_t max_slots = 64;

  sharded_counter() : sharded_counter(T{0}) {}
  explicit sharded_counter(T initial) : sharded_counter(initial, default_slots()) {}
  // With fewer slots: less memory and a quicker load(), slower increments.
  // Rounded up to a power of two, at most max_slots.
  sharded_counter(T initial, std::size_t slots)
      : mask_(round_up(slots) - 1), slots_(new slot[mask_ + 1]) {
    slots_[0].value.store(initial, std::memory_order_relaxed);
  }
  sharded_counter(const sharded_counter&) = delete;
  sharded_counter& operator=(const sharded_counter&) = delete;

  std::size_t slots() const noexcept { return mask_ + 1; }

  void add(T n) noexcept { here().fetch_add(n, std::memory_order_relaxed); }
  void sub(T n) noexcept { here().fetch_sub(n, std::memory_order_relaxed); }
  void operator+=(T n) noexcept { add(n); }
  void operator-=(T n) noexcept { sub(n); }
  void operator++() noexcept { add(1); }
  void operator++(int) noexcept { add(1); }
  void operator--() noexcept { sub(1); }
  void operator--(int) noexcept { sub(1); }

  T load() const noexcept {
    bits sum = 0;
    for (std::size_t i = 0; i <= mask_; ++i)
      sum = plus(sum, slots_[i].value.load(std::memory_order_relaxed));
    return static_cast<T>(sum);
  }

  T exchange_zero() noexcept {
    bits sum = 0;
    for (std::size_t i = 0; i <= mask_; ++i)
      sum = plus(sum, slots_[i].value.exchange(0, std::memory_order_relaxed));
    return static_cast<T>(sum);
  }

 private:
  // Two lines of 64 bytes: processors fetch neighbours in pairs, and some have
  // lines of 128. Not hardware_destructive_interference_size: that may differ
  // between the units of one program.
  static constexpr std::size_t kLine = 128;

  // The sum may pass through values that T has not, though the result is one.
  using bits = std::make_unsigned_t<T>;
  static bits plus(bits sum, T value) noexcept {
    return static_cast<bits>(sum + static_cast<bits>(value));
  }

  struct alignas(kLine) slot {
    std::atomic<T> value{0};
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

  static std::size_t cpu() noexcept {
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

  std::atomic<T>& here() noexcept { return slots_[cpu() & mask_].value; }

  // What every call reads, and nobody writes once it is made; on a line apart
  // from the neighbours of this object.
  alignas(kLine) const std::size_t mask_;
  const std::unique_ptr<slot[]> slots_;
};

}  // namespace locktidy

#endif
