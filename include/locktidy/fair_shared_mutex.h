// A reader-writer lock that lets writers through.
//
// std::shared_mutex of libstdc++ is a pthread_rwlock_t with its default
// attributes, and glibc's default prefers readers: while readers overlap, a
// writer waits, for ever if they never leave a gap. This is the same lock with
// glibc's attribute PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP: once a writer
// waits, new readers queue behind it. (man pthread_rwlockattr_setkind_np)
//
// Interface: SharedMutex of the standard, without the timed operations; use it
// with std::lock_guard, std::unique_lock, std::scoped_lock and std::shared_lock.
//
// Limits
//  * A thread that holds it shared must not take it shared again: a writer that
//    came in between makes the second wait for ever. (With std::shared_mutex
//    the standard forbids the same; here it shows.)
//  * Writers may in turn keep readers out where they come without a gap.
//  * Where there is no such attribute (not glibc) it is a std::shared_mutex with
//    that library's own preference.
//
// For programs whose std::mutex becomes this one, by hand or because
// `fix.shared-mutex` of their .locktidy.json names it; locktidy itself does not
// lock with it. Waiting has no limit in time.
//
// C++17, header only, Linux or any platform with <shared_mutex>.
#ifndef LOCKTIDY_FAIR_SHARED_MUTEX_H
#define LOCKTIDY_FAIR_SHARED_MUTEX_H

#include <shared_mutex>

#if defined(__GLIBC__)
#include <pthread.h>

#include <cerrno>
#include <system_error>
#endif

// Clang's thread-safety analysis (-Wthread-safety) knows this lock.
#if defined(__clang__)
#define LOCKTIDY_TSA(x) __attribute__((x))
#else
#define LOCKTIDY_TSA(x)
#endif

namespace locktidy {

#if defined(__GLIBC__)

class LOCKTIDY_TSA(capability("shared mutex")) fair_shared_mutex {
 public:
  // Throws std::system_error if the system has no room for another lock.
  fair_shared_mutex() {
    pthread_rwlockattr_t attributes;
    check(pthread_rwlockattr_init(&attributes));
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    int failed = pthread_rwlock_init(&lock_, &attributes);
    pthread_rwlockattr_destroy(&attributes);
    check(failed);
  }
  ~fair_shared_mutex() { pthread_rwlock_destroy(&lock_); }
  fair_shared_mutex(const fair_shared_mutex&) = delete;
  fair_shared_mutex& operator=(const fair_shared_mutex&) = delete;

  // lock and lock_shared throw std::system_error where the system says that
  // waiting would be for ever (the caller holds it exclusively already).
  void lock() LOCKTIDY_TSA(acquire_capability()) { check(pthread_rwlock_wrlock(&lock_)); }
  bool try_lock() LOCKTIDY_TSA(try_acquire_capability(true)) { return pthread_rwlock_trywrlock(&lock_) == 0; }
  void unlock() LOCKTIDY_TSA(release_capability()) { pthread_rwlock_unlock(&lock_); }

  void lock_shared() LOCKTIDY_TSA(acquire_shared_capability()) {
    int failed;
    do {
      failed = pthread_rwlock_rdlock(&lock_);
    } while (failed == EAGAIN);  // too many readers just now
    check(failed);
  }
  bool try_lock_shared() LOCKTIDY_TSA(try_acquire_shared_capability(true)) {
    return pthread_rwlock_tryrdlock(&lock_) == 0;
  }
  void unlock_shared() LOCKTIDY_TSA(release_shared_capability()) { pthread_rwlock_unlock(&lock_); }

  using native_handle_type = pthread_rwlock_t*;
  native_handle_type native_handle() { return &lock_; }

 private:
  static void check(int failed) {
    if (failed) throw std::system_error(failed, std::generic_category(), "fair_shared_mutex");
  }
  pthread_rwlock_t lock_;
};

#else

using fair_shared_mutex = std::shared_mutex;

#endif

}  // namespace locktidy

#undef LOCKTIDY_TSA

#endif
