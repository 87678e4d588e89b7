#include "compiler/compiler_message.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/utf8.h"

namespace mallocmuzero {
namespace {

constexpr size_t kMostMessageBytes = 1000;

// Shortens the text and makes it valid UTF-8, because the cut may split a character.
std::string Shorten(std::string text) {
  if (text.size() > kMostMessageBytes) {
    text.resize(kMostMessageBytes - 3);
    text += "...";
  }
  return ToUtf8(std::move(text));
}

// True for a fatal line of Abseil's or glog's log, such as "F1123 23:05:00.123 4567 file.cc:89]
// Check failed: x".
bool IsFatal(absl::string_view line) {
  return line.size() > 2 && line[0] == 'F' && absl::ascii_isdigit(line[1]) &&
         absl::StrContains(line, "] ");
}

// The line from the name of the source file on.
absl::string_view WithoutTimeAndThread(absl::string_view line) {
  const size_t end = line.find("] ");
  const size_t space = line.rfind(' ', end);
  return space == absl::string_view::npos ? line : line.substr(space + 1);
}

bool IsOfStack(absl::string_view line) {
  return absl::StartsWith(line, "@") || absl::StartsWith(line, "***") ||
         absl::StartsWith(line, "PC:") || absl::StartsWith(line, "#") ||
         absl::StartsWith(line, "0x") || absl::StartsWith(line, "https://");
}

}  // namespace

std::string FirstParagraph(absl::string_view message) {
  std::string paragraph;
  for (absl::string_view line : absl::StrSplit(message, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() && !paragraph.empty()) break;
    if (!line.empty()) absl::StrAppend(&paragraph, paragraph.empty() ? "" : " ", line);
  }
  return Shorten(std::move(paragraph));
}

std::string ReasonOfAbort(absl::string_view log) {
  absl::string_view fatal;
  absl::string_view check;
  absl::string_view last;
  for (absl::string_view line : absl::StrSplit(log, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || IsOfStack(line)) continue;
    last = line;
    if (IsFatal(line)) fatal = WithoutTimeAndThread(line);
    if (absl::StrContains(line, "Check failed")) check = line;
  }
  if (!fatal.empty()) return Shorten(std::string(fatal));
  return Shorten(std::string(check.empty() ? last : check));
}

}  // namespace mallocmuzero
