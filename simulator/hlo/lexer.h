// Cursor over HLO text: tokens without copies, fast skipping of what nobody reads.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_LEXER_H_
#define MALLOCMUZERO_SIMULATOR_HLO_LEXER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero::hlo {

// Brackets in brackets that are accepted in text that is skipped; an array literal has one level a
// dimension.
inline constexpr int kMaxBracketDepth = 256;

// Every function that returns bool returns false after recording an error; the first error wins and
// the caller is expected to return at once. string_views point into the text.
class Lexer {
 public:
  // `text` and `file_name` must outlive the lexer. Takes a std::string because scanning relies on
  // the terminating NUL.
  Lexer(const std::string& text, absl::string_view file_name);

  // White space includes line ends and comments. All functions below skip it first.
  void SkipSpace();
  bool AtEnd();
  // The next byte, NUL at the end.
  char Peek();

  // Consumes the byte or word if it comes next.
  bool Consume(char wanted);
  bool ConsumeWord(absl::string_view wanted);
  // The same, but anything else is an error.
  bool Expect(char wanted);

  // A run of letters, digits, '_', '.' and '-'; empty if there is none.
  absl::string_view TakeName();
  // The same with an optional '%' in front; having none is an error, which says "expected `what`".
  bool ReadName(absl::string_view what, absl::string_view& name);
  // A decimal number with an optional minus; errors say "expected `what`".
  bool ReadInt(absl::string_view what, int64_t& value);
  // A number in [minimum, INT32_MAX].
  bool ReadInt32(absl::string_view what, int32_t minimum, int32_t& value);
  // A string in double quotes; `content` has no quotes and its escapes as they are.
  bool ReadQuoted(absl::string_view& content);

  // Skips from an opening bracket of any kind to the matching closing one, minding strings and
  // comments.
  bool SkipBalanced();
  // An attribute value: up to a comma, white space or closing bracket outside of brackets and
  // strings. `value` may be nullptr.
  bool SkipValue(absl::string_view* value);
  // Skips the rest of the line, brackets and strings included.
  void SkipLine();

  const char* position() const { return position_; }
  void set_position(const char* position) { position_ = position; }
  // Line of the next token, from 1. Positions must not decrease from call to call.
  int32_t Line();

  // Records "expected `expected`, found <what stands at `position`>". Always false.
  bool Fail(absl::string_view expected);
  bool FailAt(const char* position, absl::string_view expected);
  // OK until an error was recorded.
  const absl::Status& status() const { return status_; }

 private:
  void SkipComments();
  bool SkipString();
  bool ContinuesAfterSpaces();

  const char* const begin_;
  const char* const end_;
  const char* position_;
  const absl::string_view file_name_;
  const char* counted_to_;  // Line() has counted the lines before this
  int32_t line_ = 1;
  absl::Status status_;
};

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_LEXER_H_
