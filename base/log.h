// Log lines of the cluster's processes, on stderr.

#ifndef MALLOCMUZERO_BASE_LOG_H_
#define MALLOCMUZERO_BASE_LOG_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace mallocmuzero {

enum class LogLevel : uint8_t { kInfo, kWarning, kError };

// A line such as "2026-11-21T18:10:02.123Z W replay-0: TEXT\n": time in UTC, letter of the level,
// name of the process, text. Line breaks in the text become blanks.
std::string LogLine(absl::Time time, LogLevel level, absl::string_view name,
                    absl::string_view text);

// Writes the line as one JSON object (LogRecord in log.proto) and a newline. Bytes that are not
// UTF-8 become question marks.
std::string JsonLogLine(absl::Time time, LogLevel level, absl::string_view name,
                        absl::string_view text);

// Sets the form of this process's later lines; kText if never called. Thread-safe.
enum class LogFormat : uint8_t { kText, kJson };
void SetLogFormat(LogFormat format);
LogFormat GetLogFormat();

// Writes such a line, with the current time, to stderr in one piece. Thread-safe.
void Log(LogLevel level, absl::string_view name, absl::string_view text);

// Writes all of `text` to stderr in one piece. Thread-safe.
void WriteToStderr(absl::string_view text);

// After this call the process never waits for stderr: bytes that a terminal or a pipe does not take
// at once are left out. The next line that stderr takes says how many bytes were left out.
void NeverWaitForStderr();

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_LOG_H_
