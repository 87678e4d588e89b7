#include "base/child_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/base/const_init.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/signal_handlers.h"
#include "base/status_macros.h"

namespace mallocmuzero {
namespace {

// The environment variable that tells a child on which file descriptor its supervisor waits for
// NotifyReady: kReadyFd, in decimal digits.
constexpr char kReadyVariable[] = "MALLOCMUZERO_READY_FD";
constexpr int kReadyFd = STDERR_FILENO + 1;

// Most bytes read from a child at once. The rest is read later, so that one child cannot starve the
// others.
constexpr size_t kMostOutputBytes = 256 << 10;

// The processes that a ChildProcess has started and not reaped. The mutex is held while such a
// process is started, so that ReapOrphans never takes it for an orphan.
ABSL_CONST_INIT absl::Mutex owned_mutex(absl::kConstInit);

absl::flat_hash_set<pid_t>& Owned() {
  static auto& owned = *new absl::flat_hash_set<pid_t>();
  return owned;
}

struct Pipe {
  int read = -1;
  int write = -1;
};

bool Open(Pipe& pipe) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  pipe = {ends[0], ends[1]};
  return true;
}

void Close(int& fd) {
  if (fd >= 0) close(std::exchange(fd, -1));
}

// While an object of this class lives, no signal interrupts this thread.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

// Runs in the child between fork and exec, so it must neither allocate nor lock. Signals are
// blocked at first. `output` and `ready` are the child's ends of the pipes.
void BecomeChild(pid_t parent, int output, int ready, char* const* argv, char* const* environment) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have ended before PR_SET_PDEATHSIG was set.
  if (getppid() != parent) _exit(127);
  // The parent's handlers must not run here: they would take the child's signals for the parent's.
  for (int number = 1; number < NSIG; ++number) {
    if (!SignalIsIgnored(number)) signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  fcntl(output, F_SETFL, 0);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  dup2(ready, kReadyFd);
  fcntl(kReadyFd, F_SETFD, 0);
  // Libraries may have opened descriptors that the child must not inherit.
  close_range(kReadyFd + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  execve(argv[0], argv, environment);
  // The parent sees this text as the child's output.
  constexpr char kText[] = "cannot be started: ";
  const char* reason = strerrordesc_np(errno);
  [[maybe_unused]] ssize_t ignored = write(STDERR_FILENO, kText, sizeof(kText) - 1);
  ignored = write(STDERR_FILENO, reason, std::strlen(reason));
  ignored = write(STDERR_FILENO, "\n", 1);
  _exit(127);
}

// The environment of this process, and the variable that tells the child where to report that it is
// ready.
std::vector<std::string> ChildEnvironment() {
  std::vector<std::string> variables;
  const std::string prefix = absl::StrCat(kReadyVariable, "=");
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, prefix.c_str(), prefix.size()) != 0)
      variables.emplace_back(*variable);
  }
  variables.push_back(absl::StrCat(prefix, kReadyFd));
  return variables;
}

void Disown(pid_t pid) {
  const absl::MutexLock lock(&owned_mutex);
  Owned().erase(pid);
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

void ReapOrphans() {
  const absl::MutexLock lock(&owned_mutex);
  while (true) {
    siginfo_t ended = {};
    // WNOWAIT leaves the process as it is until it is known to be an orphan.
    if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return;
    if (Owned().contains(ended.si_pid)) return;
    if (waitpid(ended.si_pid, nullptr, WNOHANG) != ended.si_pid) return;
  }
}

void NotifyReady() {
  const char* variable = std::getenv(kReadyVariable);
  int fd = -1;
  if (variable == nullptr || !absl::SimpleAtoi(variable, &fd) || fd <= STDERR_FILENO) return;
  unsetenv(kReadyVariable);
  [[maybe_unused]] const ssize_t ignored = write(fd, "1", 1);
  close(fd);
}

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::vector<std::string>& command) {
  std::unique_ptr<ChildProcess> child(new ChildProcess());
  Pipe output;
  Pipe ready;
  if (!Open(output) || !Open(ready)) {
    const int error = errno;
    Close(output.read);
    Close(output.write);
    return absl::InternalError(absl::StrCat("cannot create a pipe: ", std::strerror(error)));
  }
  child->output_ = output.read;
  child->ready_ = ready.read;
  std::vector<std::string> arguments = command;
  std::vector<std::string> variables = ChildEnvironment();
  const std::vector<char*> argv = Pointers(arguments);
  const std::vector<char*> environment = Pointers(variables);
  const pid_t parent = getpid();
  int error = 0;
  {
    const absl::MutexLock lock(&owned_mutex);
    // Some supervisors start their processes with SIGCHLD ignored. The kernel then reaps children
    // itself, and nobody learns how they have ended.
    if (SignalIsIgnored(SIGCHLD)) signal(SIGCHLD, SIG_DFL);
    const BlockedSignals blocked;
    child->pid_ = fork();
    if (child->pid_ == 0) {
      BecomeChild(parent, output.write, ready.write, argv.data(), environment.data());
    }
    error = errno;
    if (child->pid_ > 0) Owned().insert(child->pid_);
  }
  Close(output.write);
  Close(ready.write);
  if (child->pid_ < 0)
    return absl::InternalError(absl::StrCat("cannot start a process: ", std::strerror(error)));
  // Calls the kernel directly, because glibc 2.36 declares pidfd_open() without C linkage.
  child->exit_ = syscall(SYS_pidfd_open, child->pid_, 0);
  if (child->exit_ < 0) MMZ_RETURN_IF_ERROR(child->WatchByThread());
  return child;
}

// Linux before 5.3 and some sandboxes have no pidfd_open(). A thread then waits for the end of the
// child, and closes its end of a pipe.
absl::Status ChildProcess::WatchByThread() {
  Pipe exit;
  if (!Open(exit)) {
    return absl::InternalError(absl::StrCat("cannot create a pipe: ", std::strerror(errno)));
  }
  exit_ = exit.read;
  watcher_ = std::thread([pid = pid_, end = exit.write] {
    siginfo_t ended = {};
    // WNOWAIT leaves the child to HasEnded.
    while (waitid(P_PID, pid, &ended, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    close(end);
  });
  return absl::OkStatus();
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0 && exit_code_ < 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    Disown(pid_);
  }
  if (watcher_.joinable()) watcher_.join();
  Close(exit_);
  Close(output_);
  Close(ready_);
}

std::string ChildProcess::ReadOutput() {
  std::string text;
  char buffer[4096];
  while (output_ >= 0 && text.size() < kMostOutputBytes) {
    const ssize_t size = read(output_, buffer, sizeof(buffer));
    if (size > 0) {
      text.append(buffer, size);
      continue;
    }
    if (size < 0 && errno == EINTR) continue;
    // Closed when the child and all of its children have closed it. EAGAIN means that there is only
    // nothing to read at the moment.
    if (size == 0 || errno != EAGAIN) Close(output_);
    break;
  }
  return text;
}

bool ChildProcess::ready() {
  char byte = 0;
  if (ready_ < 0) return is_ready_;
  const ssize_t size = read(ready_, &byte, 1);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  is_ready_ = size == 1;
  Close(ready_);
  return is_ready_;
}

void ChildProcess::Signal(int signal) const {
  if (exit_code_ < 0) kill(pid_, signal);
}

bool ChildProcess::HasEnded(std::string& how) {
  int status = 0;
  if (exit_code_ >= 0 || waitpid(pid_, &status, WNOHANG) != pid_) return exit_code_ >= 0;
  Disown(pid_);
  if (WIFEXITED(status)) {
    exit_code_ = WEXITSTATUS(status);
    how = absl::StrCat("exited with code ", exit_code_);
  } else {
    exit_code_ = 128 + WTERMSIG(status);
    how = absl::StrCat(
        "killed by signal ", WTERMSIG(status), " (",
        sigdescr_np(WTERMSIG(status)) == nullptr ? "unknown" : sigdescr_np(WTERMSIG(status)), ")");
  }
  return true;
}

}  // namespace mallocmuzero
