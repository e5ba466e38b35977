// One socket pair per worker. The parent sends the index of a job (8 bytes);
// the worker answers with a length (8 bytes) and that many bytes. End of file
// without an answer means that the worker died on the job.
#include "checker/driver/Workers.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <new>
#include <sstream>

#include "checker/driver/System.h"

namespace locktidy {
namespace {

using Clock = std::chrono::steady_clock;
using Work = std::function<std::string(size_t)>;

constexpr int kOutOfMemory = 71;  // exit code of a worker whose `new` failed

// ---------------------------------------------------------------------------
// The worker's side

bool receiveAll(int fd, void* data, size_t size) {
  char* at = static_cast<char*>(data);
  while (size) {
    ssize_t n = ::read(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool sendAll(int fd, const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size) {
    ssize_t n = ::send(fd, at, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

uint64_t addressSpaceNow() {
  std::ifstream statm("/proc/self/statm");
  uint64_t pages = 0;
  statm >> pages;
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

void setLimit(int resource, rlim_t soft) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max == RLIM_INFINITY ? soft : std::min(soft, limit.rlim_max);
  ::setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

// Makes this forked process one that may crash without anybody noticing.
void becomeWorker(pid_t parent, int log, const WorkerLimits& limits) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);  // it ended before the line above
  // The parent asks for a report when it crashes; here a crash is an outcome.
  for (int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS})
    std::signal(signal, SIG_DFL);
  setLimit(RLIMIT_CORE, 0);
  // Clang recurses deeply over long else-if chains and nested expressions.
  setLimit(RLIMIT_STACK, rlim_t{64} << 20);
  // What the worker was born with (the parent's memory, Clang's code) is not
  // the job's; only what it adds counts.
  if (limits.memory) setLimit(RLIMIT_AS, addressSpaceNow() + limits.memory);
  std::set_new_handler([] { ::_exit(kOutOfMemory); });
  int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  ::dup2(log >= 0 ? log : null, STDERR_FILENO);
}

[[noreturn]] void serve(int fd, const Work& work) {
  uint64_t index = 0;
  while (receiveAll(fd, &index, sizeof index)) {
    std::string bytes = work(index);
    uint64_t size = bytes.size();
    if (!sendAll(fd, &size, sizeof size) || !sendAll(fd, bytes.data(), bytes.size())) break;
  }
  ::_exit(0);  // no destructors: they are the parent's
}

// ---------------------------------------------------------------------------
// The parent's side

struct Worker {
  pid_t pid = -1;
  int fd = -1, log = -1;
  size_t served = 0;  // jobs it has answered
  bool busy = false;
  size_t job = 0;
  Clock::time_point deadline;
  std::string answer;  // length and bytes, as far as they came
};

// What a dead worker's stderr says about its death: the first line that looks
// like a reason.
std::string lastWords(int log) {
  if (log < 0) return "";
  std::string text(1 << 16, '\0');
  ssize_t n = ::pread(log, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    for (const char* sign : {"LLVM ERROR: ", "Assertion ", "terminate called",
                             "fatal error: ", "ERROR: AddressSanitizer"}) {
      size_t at = line.find(sign);
      if (at != std::string::npos) return line.substr(at, 200);
    }
  }
  return "";
}

class Pool {
 public:
  Pool(size_t count, const Work& work, const WorkerLimits& limits,
       const std::function<void(size_t, JobOutcome)>& done, const std::function<void()>& idle)
      : work_(work), limits_(limits), done_(done), idle_(idle), left_(count), retried_(count) {
    for (size_t i = 0; i < count; ++i) waiting_.push_back(i);
    workers_.resize(std::min<size_t>(std::max(1u, limits.jobs), count));
  }
  ~Pool() {
    for (Worker& worker : workers_) bury(worker);
  }

  void run() {
    while (left_) {
      for (Worker& worker : workers_)
        if (!worker.busy && !waiting_.empty()) assign(worker);
      wait();
    }
  }

 private:
  void start(Worker& worker) {
    int ends[2];
    worker = Worker();
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
    worker.log = ::memfd_create("locktidy-worker", MFD_CLOEXEC);
    pid_t parent = ::getpid();
    pid_t pid = ::fork();
    if (pid == 0) {
      ::close(ends[0]);
      for (Worker& other : workers_)
        if (other.fd >= 0) ::close(other.fd);
      becomeWorker(parent, worker.log, limits_);
      serve(ends[1], work_);
    }
    ::close(ends[1]);
    worker.fd = ends[0];
    worker.pid = pid;
    if (pid < 0) bury(worker);
  }

  void assign(Worker& worker) {
    uint64_t index = waiting_.front();
    waiting_.pop_front();
    // A job that failed in a used worker must start from a clean one.
    if (worker.pid > 0 && retried_[index] && worker.served) bury(worker);
    if (worker.pid < 0) start(worker);
    worker.job = index;
    if (worker.pid < 0) {
      finish(worker, {"", std::string("no worker process: ") + std::strerror(errno)});
      return;
    }
    worker.busy = true;
    worker.answer.clear();
    worker.deadline =
        limits_.timeout.count() ? Clock::now() + limits_.timeout : Clock::time_point::max();
    // If it is dead already, reading will tell.
    sendAll(worker.fd, &index, sizeof index);
  }

  void wait() {
    std::vector<pollfd> polls;
    std::vector<Worker*> polled;
    Clock::time_point next = Clock::now() + std::chrono::seconds(1);
    for (Worker& worker : workers_) {
      if (!worker.busy) continue;
      polls.push_back({worker.fd, POLLIN, 0});
      polled.push_back(&worker);
      next = std::min(next, worker.deadline);
    }
    if (polls.empty()) return;
    auto pause =
        std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now()).count() + 1;
    ::poll(polls.data(), polls.size(), static_cast<int>(std::max<int64_t>(0, pause)));
    for (size_t i = 0; i < polls.size(); ++i) {
      if (polls[i].revents) read(*polled[i]);
      if (polled[i]->busy && Clock::now() >= polled[i]->deadline) {
        // Tried once only: a second try costs as much again.
        bury(*polled[i]);
        finish(*polled[i],
               {"", "no result after " + spellDuration(limits_.timeout) + " (--tu-timeout)"});
      }
    }
    if (idle_) idle_();
  }

  void read(Worker& worker) {
    char buffer[1 << 16];
    for (;;) {
      ssize_t n = ::recv(worker.fd, buffer, sizeof buffer, MSG_DONTWAIT);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) return died(worker);
      worker.answer.append(buffer, static_cast<size_t>(n));
      uint64_t size = 0;
      if (worker.answer.size() < sizeof size) continue;
      std::memcpy(&size, worker.answer.data(), sizeof size);
      if (worker.answer.size() - sizeof size < size) continue;
      ++worker.served;
      worker.answer.erase(0, sizeof size);
      return finish(worker, {std::move(worker.answer), ""});
    }
  }

  void died(Worker& worker) {
    int status = 0;
    ::waitpid(worker.pid, &status, 0);
    worker.pid = -1;
    std::string words = lastWords(worker.log);
    bool first = worker.served == 0;
    bury(worker);
    if (!first && !retried_[worker.job]) {
      retried_[worker.job] = true;
      waiting_.push_front(worker.job);
      worker.busy = false;
      return;
    }
    std::string why;
    bool memory = WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemory;
    // What LLVM says when an allocation or the stack of a thread does not fit.
    for (const char* sign : {"out of memory", "bad_alloc", "pthread_create failed"})
      memory |= words.find(sign) != std::string::npos;
    if (memory) {
      why =
          "needs more memory than " +
          (limits_.memory ? spellSize(limits_.memory) + " (--tu-memory)" : std::string("there is"));
    } else if (WIFSIGNALED(status)) {
      const char* name = ::sigdescr_np(WTERMSIG(status));
      why = "crashed (signal " + std::to_string(WTERMSIG(status)) + ": " +
            (name ? name : "unknown") + (words.empty() ? ")" : "; " + words + ")");
    } else {
      why = "ended with code " + std::to_string(WEXITSTATUS(status)) +
            (words.empty() ? "" : " (" + words + ")");
    }
    finish(worker, {"", std::move(why)});
  }

  void finish(Worker& worker, JobOutcome outcome) {
    worker.busy = false;
    --left_;
    done_(worker.job, std::move(outcome));
  }

  // Ends the process, if it lives, and forgets it; `job` and `busy` stay.
  void bury(Worker& worker) {
    if (worker.pid > 0) {
      ::kill(worker.pid, SIGKILL);
      ::waitpid(worker.pid, nullptr, 0);
    }
    if (worker.fd >= 0) ::close(worker.fd);
    if (worker.log >= 0) ::close(worker.log);
    worker.pid = -1;
    worker.fd = worker.log = -1;
    worker.served = 0;
  }

  const Work& work_;
  const WorkerLimits& limits_;
  const std::function<void(size_t, JobOutcome)>& done_;
  const std::function<void()>& idle_;
  size_t left_;
  std::deque<size_t> waiting_;
  std::vector<bool> retried_;
  std::vector<Worker> workers_;
};

// The first number in a file, or `otherwise` ("max", no such file).
uint64_t numberIn(const char* path, uint64_t otherwise) {
  std::ifstream file(path);
  uint64_t value = 0;
  return file >> value ? value : otherwise;
}

}  // namespace

void runInWorkers(size_t count, const Work& work, const WorkerLimits& limits,
                  const std::function<void(size_t, JobOutcome)>& done,
                  const std::function<void()>& idle) {
  if (count) Pool(count, work, limits, done, idle).run();
}

unsigned automaticJobs(uint64_t perJob) {
  cpu_set_t set;
  CPU_ZERO(&set);
  uint64_t cpus =
      ::sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<uint64_t>(CPU_COUNT(&set)) : 1;
  std::ifstream quota("/sys/fs/cgroup/cpu.max");  // "QUOTA PERIOD" or "max PERIOD"
  uint64_t allowed = 0, period = 0;
  if (quota >> allowed >> period && period)
    cpus = std::min(cpus, std::max<uint64_t>(1, allowed / period));
  uint64_t memory = UINT64_MAX;
  std::ifstream info("/proc/meminfo");
  for (std::string key, unit; info >> key;) {
    uint64_t value = 0;
    if (!(info >> value)) break;
    std::getline(info, unit);
    if (key == "MemAvailable:") memory = value << 10;
  }
  uint64_t most = numberIn("/sys/fs/cgroup/memory.max", UINT64_MAX);
  if (most != UINT64_MAX) {
    uint64_t used = numberIn("/sys/fs/cgroup/memory.current", 0);
    memory = std::min(memory, most > used ? most - used : 0);
  }
  return static_cast<unsigned>(std::max<uint64_t>(1, std::min(cpus, memory / perJob)));
}

std::string spellDuration(std::chrono::milliseconds time) {
  int64_t ms = time.count();
  return ms % 1000 ? std::to_string(ms) + " ms" : std::to_string(ms / 1000) + " s";
}

std::string spellSize(uint64_t bytes) {
  const char* units[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};
  size_t unit = 0;
  while (unit < 4 && bytes && bytes % 1024 == 0) bytes /= 1024, ++unit;
  return std::to_string(bytes) + units[unit];
}

}  // namespace locktidy
