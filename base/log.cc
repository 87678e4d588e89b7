#include "base/log.h"

#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"

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

}  // namespace

std::string LogLine(absl::Time time, LogLevel level, absl::string_view name,
                    absl::string_view text) {
  return absl::StrCat(absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone()), " ",
                      Letter(level), " ", name, ": ",
                      absl::StrReplaceAll(text, {{"\n", " "}, {"\r", " "}}), "\n");
}

void Log(LogLevel level, absl::string_view name, absl::string_view text) {
  WriteToStderr(LogLine(absl::Now(), level, name, text));
}

void WriteToStderr(absl::string_view text) {
  // Uses write(2) instead of stdio, so that lines of several threads and processes do not mix.
  while (!text.empty()) {
    const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace mallocmuzero
