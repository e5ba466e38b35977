// locktidy: who holds a lock exclusively without needing to, in a whole program?
//
//   Options      what was asked for
//   CompileDb    the units of the program
//   Workers      facts of each unit, in processes of their own
//   Pipeline     facts -> linked program -> solution -> findings
//   Commands     what to print, what to change, which exit code
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <exception>

#include "checker/driver/Commands.h"
#include "checker/driver/System.h"

namespace {

constexpr const char kPleaseReport[] =
    "; this is a bug in locktidy, please report it with the command you ran";

// A crash of this process is exit code 2, not a signal that a script takes for
// a finding. Only calls that are allowed in a signal handler.
void onCrash(int signal) {
  auto say = [](const char* text) { (void)!::write(STDERR_FILENO, text, std::strlen(text)); };
  const char* name = ::sigdescr_np(signal);
  say("locktidy: internal error: ");
  say(name ? name : "crashed");
  say(kPleaseReport);
  say("\n");
  ::_exit(2);
}

void installCrashHandler() {
  // On a stack of its own, for endless recursion.
  static char stack[1 << 16];
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  ::sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_handler = onCrash;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND);
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
    ::sigaction(signal, &action, nullptr);
}

int run(const locktidy::Options& options) {
  using locktidy::Command;
  switch (options.command) {
  case Command::Check:
    return locktidy::runCheck(options);
  case Command::Fix:
    return locktidy::runFix(options);
  case Command::Why:
    return locktidy::runWhy(options);
  case Command::Locks:
    return locktidy::runLocks(options);
  case Command::Explain:
    return locktidy::runExplain(options);
  case Command::Rules:
    return locktidy::runRules(options);
  case Command::Report:
    return locktidy::runReport(options);
  case Command::Facts:
    return locktidy::runFactsDump(options);
  case Command::Doctor:
    return locktidy::runDoctor(options);
  case Command::Version:
    return locktidy::runVersion(options);
  }
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  installCrashHandler();
  try {
    locktidy::Options options;
    int done = locktidy::parseOptions(argc, argv, options);
    return done >= 0 ? done : run(options);
  } catch (const std::exception& e) {
    locktidy::printError(std::string("internal error: ") + e.what() + kPleaseReport);
    return 2;
  }
}
