#include "base/log.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/message_json.h"
#include "base/utf8.h"
#include "mallocmuzero/v1/log.pb.h"

namespace mallocmuzero {
namespace {

absl::string_view Letter(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return "I";
    case LogLevel::kWarning:
      return "W";
    case LogLevel::kError:
      break;
  }
  return "E";
}

const char* Severity(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return "INFO";
    case LogLevel::kWarning:
      return "WARNING";
    case LogLevel::kError:
      break;
  }
  return "ERROR";
}

std::string TimeText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

std::atomic<bool> g_never_wait = false;
std::atomic<LogFormat> g_format = LogFormat::kText;

// A pipe that poll(2) reports as writable takes this many bytes without waiting.
constexpr size_t kPart = PIPE_BUF;

// Writes what stderr takes without waiting, and returns the number of bytes written.
size_t WriteReady(absl::string_view text) {
  size_t done = 0;
  while (done < text.size()) {
    pollfd entry{.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&entry, 1, 0) <= 0 || (entry.revents & POLLOUT) == 0) break;
    const ssize_t written =
        write(STDERR_FILENO, text.data() + done, std::min(kPart, text.size() - done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += written;
  }
  return done;
}

// Waits until stderr takes more. Returns false if it never does.
bool AwaitStderr() {
  pollfd entry{.fd = STDERR_FILENO, .events = POLLOUT};
  return poll(&entry, 1, -1) > 0 || errno == EINTR;
}

void WriteWhatIsTaken(absl::string_view text) {
  static absl::Mutex mutex;
  static size_t left_out = 0;
  const absl::MutexLock lock(&mutex);
  if (left_out > 0) {
    const std::string note = absl::StrCat("\n[", left_out, " bytes of this log were left out]\n");
    if (WriteReady(note) < note.size()) {
      left_out += text.size();
      return;
    }
    left_out = 0;
  }
  left_out = text.size() - WriteReady(text);
}

}  // namespace

std::string LogLine(absl::Time time, LogLevel level, absl::string_view name,
                    absl::string_view text) {
  return absl::StrCat(TimeText(time), " ", Letter(level), " ", name, ": ",
                      WithoutControls(std::string(text)), "\n");
}

std::string JsonLogLine(absl::Time time, LogLevel level, absl::string_view name,
                        absl::string_view text) {
  v1::LogRecord record;
  record.set_time(TimeText(time));
  record.set_severity(Severity(level));
  record.set_role(ToUtf8(std::string(name)));
  record.set_message(ToUtf8(std::string(text)));
  const absl::StatusOr<std::string> json = MessageToJson(record);
  // A message of valid UTF-8 can always be printed.
  return json.ok() ? absl::StrCat(*json, "\n") : LogLine(time, level, name, text);
}

void SetLogFormat(LogFormat format) { g_format = format; }

LogFormat GetLogFormat() { return g_format; }

void Log(LogLevel level, absl::string_view name, absl::string_view text) {
  const auto line = GetLogFormat() == LogFormat::kJson ? JsonLogLine : LogLine;
  WriteToStderr(line(absl::Now(), level, name, text));
}

void NeverWaitForStderr() { g_never_wait = true; }

void WriteToStderr(absl::string_view text) {
  if (g_never_wait) return WriteWhatIsTaken(text);
  // Uses write(2) instead of stdio, so that lines of several threads and processes do not mix.
  while (!text.empty()) {
    const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    // Another process that has the same terminal or pipe may have made it non-blocking.
    if (written < 0 && errno == EAGAIN && AwaitStderr()) continue;
    if (written <= 0) return;
    text.remove_prefix(written);
  }
}

}  // namespace mallocmuzero
