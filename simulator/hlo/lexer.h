// A cursor over HLO text that returns tokens without copying them and skips fast over text that is
// not needed.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_LEXER_H_
#define MALLOCMUZERO_SIMULATOR_HLO_LEXER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero::hlo {

// Most brackets inside each other in text that is skipped. An array literal has one level for each
// dimension.
inline constexpr int kMaxBracketDepth = 256;

// Functions that return bool return false after they recorded an error. Only the first error is
// recorded. After false, the caller must return at once. All string_views point into the text. Not
// thread-safe.
class Lexer {
 public:
  // `text` and `file_name` must outlive the lexer. `text` is a std::string because scanning relies
  // on its terminating NUL.
  Lexer(const std::string& text, absl::string_view file_name);

  // Skips white space, which includes line ends and comments. All functions below do this first. A
  // comment that does not end is not skipped, so that its slash is an error.
  void SkipSpace();
  bool AtEnd();
  // The next byte, or NUL at the end.
  char Peek();

  // Consumes the byte or word if it comes next, and returns whether it did.
  bool Consume(char wanted);
  bool ConsumeWord(absl::string_view wanted);
  // Consumes the byte; any other byte is an error.
  bool Expect(char wanted);

  // Takes a run of letters, digits, '_', '.' and '-', which may be empty.
  absl::string_view TakeName();
  // Reads a name, with an optional '%' in front. If there is none, the error says "expected
  // `what`".
  bool ReadName(absl::string_view what, absl::string_view& name);
  // Reads a decimal number with an optional minus. Errors say "expected `what`".
  bool ReadInt(absl::string_view what, int64_t& value);
  // Reads a number in [minimum, INT32_MAX].
  bool ReadInt32(absl::string_view what, int32_t minimum, int32_t& value);
  // Reads a string in double quotes. `content` is the string without its quotes; escapes are kept
  // as they are.
  bool ReadQuoted(absl::string_view& content);

  // Skips from an opening bracket of any kind to the matching closing one. Brackets in strings and
  // in comments of the form /* */ do not count.
  bool SkipBalanced();
  // Reads an attribute value, which ends at a comma, white space or closing bracket outside of
  // brackets and strings. `value` may be nullptr.
  bool SkipValue(absl::string_view* value);
  // Skips the rest of the line, whatever it contains.
  void SkipLine();

  const char* position() const { return position_; }
  void set_position(const char* position) { position_ = position; }
  // Line number of the next token, from 1. The position must not be before that of the last call.
  int32_t Line();

  // Records the error "expected `expected`, found <the token at `position`>", and returns false.
  // Fail uses the current position.
  bool Fail(absl::string_view expected);
  bool FailAt(const char* position, absl::string_view expected);
  // OK unless an error was recorded.
  const absl::Status& status() const { return status_; }

 private:
  void SkipComments();
  bool SkipString();
  bool ContinuesAfterSpaces();

  const char* const begin_;
  const char* const end_;
  const char* position_;
  const absl::string_view file_name_;
  const char* counted_to_;  // Line() has counted the lines before this position
  int32_t line_ = 1;
  absl::Status status_;
};

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_LEXER_H_
