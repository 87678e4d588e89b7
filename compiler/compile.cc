#include "compiler/compile.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/child_process.h"
#include "base/steady_clock.h"
#include "compiler/compile_child.h"
#include "compiler/compiler_message.h"

namespace mallocmuzero {
namespace {

// Only this many bytes at the end of the compiler's stderr are kept.
constexpr size_t kMostLogBytes = 256 << 10;

// A file in memory, which the child opens by a path. It disappears with this process, however the
// process ends.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (fd_ >= 0) close(fd_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string Path() const { return absl::StrCat("/proc/", getpid(), "/fd/", fd_); }

  absl::Status Write(absl::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return Error("cannot be written");
      bytes.remove_prefix(written);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Read() const {
    std::string content;
    char buffer[1 << 16];
    while (true) {
      const ssize_t size = pread(fd_, buffer, sizeof(buffer), static_cast<off_t>(content.size()));
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return Error("cannot be read");
      if (size == 0) return content;
      content.append(buffer, size);
    }
  }

 private:
  static absl::Status Error(absl::string_view what) {
    return absl::InternalError(
        absl::StrCat("memory shared with the compiler ", what, ": ", std::strerror(errno)));
  }

  int fd_;
};

// Waits for the child. Returns OK if it ended by itself, else the reason why it must be ended.
// Writes the end of the child's output to `log`, and the way in which the child ended to `how`.
absl::Status WaitForChild(ChildProcess& child, const CompileControl& control, absl::Time deadline,
                          std::string& log, std::string& how) {
  while (true) {
    const bool ended = child.HasEnded(how);
    log += child.ReadOutput();
    if (log.size() > kMostLogBytes) log.erase(0, log.size() - kMostLogBytes);
    if (ended) return absl::OkStatus();
    const absl::Duration left = deadline - SteadyNow();
    if (left <= absl::ZeroDuration()) {
      return absl::DeadlineExceededError(absl::StrCat("the compiler has not finished within ",
                                                      absl::FormatDuration(control.timeout)));
    }
    pollfd entries[] = {{.fd = child.exit_fd(), .events = POLLIN},
                        {.fd = child.output_fd(), .events = POLLIN},
                        {.fd = control.stop_fd, .events = POLLIN}};
    const absl::Duration wait =
        std::min(absl::Ceil(left, absl::Milliseconds(1)), absl::Duration(absl::Hours(1)));
    poll(entries, std::size(entries), absl::ToInt64Milliseconds(wait));
    if ((entries[2].revents & POLLIN) != 0) return absl::CancelledError("stopped by a signal");
  }
}

// The result of one child.
struct ChildResult {
  v1::CompileResponse response;

  // OK if the child answered completely, else the reason why it stopped before.
  absl::Status status;
};

absl::StatusOr<ChildResult> RunChild(const v1::CompileRequest& request,
                                     const CompileControl& control, absl::Time deadline) {
  const MemoryFile asked("compile-request");
  const MemoryFile said("compile-response");
  absl::Status status = asked.Write(request.SerializeAsString());
  if (!status.ok()) return status;
  std::vector<std::string> command = control.child;
  command.push_back(asked.Path());
  command.push_back(said.Path());
  absl::StatusOr<std::unique_ptr<ChildProcess>> child = ChildProcess::Start(command);
  if (!child.ok()) return child.status();
  std::string log;
  std::string how;
  ChildResult result;
  result.status = WaitForChild(**child, control, deadline, log, how);
  // Also ends processes that the child has started. The child itself is killed when its object is
  // destroyed.
  if (!result.status.ok()) kill(-(*child)->pid(), SIGKILL);
  child->reset();
  const absl::StatusOr<std::string> records = said.Read();
  if (!records.ok()) return records.status();
  result.response = JoinCompileRecords(*records);
  if (result.status.ok() && result.response.error_code() == 0 &&
      (!result.response.has_compiler() ||
       result.response.programs_size() < request.programs_size())) {
    const std::string reason = ReasonOfAbort(log);
    result.status = absl::AbortedError(absl::StrCat(
        "the compiler aborted: ", reason.empty() ? how : absl::StrCat(reason, " (", how, ")")));
  }
  return result;
}

void AddError(const absl::Status& status, v1::CompileResponse& response) {
  v1::CompiledProgram& program = *response.add_programs();
  program.set_error_code(status.raw_code());
  program.set_error(std::string(status.message()));
}

// The path as an absolute one: the child may change its folder before it loads the library, and
// dlopen searches the system's folders for a name without a slash.
std::string Absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.string();
}

}  // namespace

absl::StatusOr<v1::CompileResponse> Compile(const v1::CompileRequest& request,
                                            const CompileControl& control) {
  const absl::Time deadline = SteadyNow() + control.timeout;
  v1::CompileRequest left = request;
  left.set_library(Absolute(request.library()));
  v1::CompileResponse response;
  while (true) {
    absl::StatusOr<ChildResult> result = RunChild(left, control, deadline);
    if (!result.ok()) return result.status();
    const v1::CompileResponse& said = result->response;
    if (said.error_code() != 0) {
      return absl::Status(static_cast<absl::StatusCode>(said.error_code()),
                          FirstParagraph(said.error()));
    }
    // The library could not be loaded; another child could not load it either.
    if (!said.has_compiler()) return result->status;
    response.MergeFrom(said);
    // A child may still be ending after its last answer when it is stopped.
    if (result->status.ok() || response.programs_size() == request.programs_size()) return response;
    AddError(result->status, response);
    const bool goes_on = absl::IsAborted(result->status);
    while (!goes_on && response.programs_size() < request.programs_size()) {
      AddError(result->status, response);
    }
    const int done = response.programs_size();
    if (done == request.programs_size()) return response;
    left.mutable_programs()->DeleteSubrange(
        0, left.programs_size() - (request.programs_size() - done));
  }
}

absl::Status CompileStatus(const v1::CompiledProgram& program) {
  return {static_cast<absl::StatusCode>(program.error_code()), FirstParagraph(program.error())};
}

}  // namespace mallocmuzero
