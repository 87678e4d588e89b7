#include "simulator/hlo/lexer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace mallocmuzero::hlo {
namespace {

enum ByteClass : uint8_t {
  kSpaceByte = 1,
  kNameByte = 2,
  kBalanceByte = 4,  // SkipBalanced must handle this byte
  kValueByte = 8,    // SkipValue must handle this byte
};

constexpr std::array<uint8_t, 256> kClasses = [] {
  std::array<uint8_t, 256> classes = {};
  const auto add = [&classes](absl::string_view bytes, uint8_t flags) {
    for (const uint8_t byte : bytes) classes[byte] |= flags;
  };
  add(" \t\r\n", kSpaceByte | kValueByte);
  add("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-", kNameByte);
  add("()[]{}\"/", kBalanceByte | kValueByte);
  add(",", kValueByte);
  classes[0] |= kBalanceByte | kValueByte;  // the NUL at the end stops every scan
  return classes;
}();

bool Is(uint8_t byte, uint8_t flags) { return (kClasses[byte] & flags) != 0; }

// The token at `position`, in quotes, shortened so that it fits a one-line message.
std::string Describe(const char* position, const char* end) {
  constexpr int kLongest = 40;
  if (position >= end) return "end of text";
  const char* stop = position + (*position == '%' ? 1 : 0);
  while (stop < end && stop - position < kLongest && Is(*stop, kNameByte)) ++stop;
  if (stop == position) ++stop;
  const absl::string_view token(position, stop - position);
  // A double quote needs no escape between single quotes. Bytes that would break the line are
  // escaped.
  return token == "\"" ? "'\"'" : absl::StrCat("'", absl::CHexEscape(token), "'");
}

}  // namespace

Lexer::Lexer(const std::string& text, absl::string_view file_name)
    : begin_(text.data()),
      end_(text.data() + text.size()),
      position_(begin_),
      file_name_(file_name),
      counted_to_(begin_) {}

void Lexer::SkipSpace() {
  while (Is(*position_, kSpaceByte)) ++position_;
  if (*position_ == '/') SkipComments();
}

void Lexer::SkipComments() {
  while (*position_ == '/') {
    if (position_[1] == '/') {
      SkipLine();
    } else if (position_[1] == '*') {
      const absl::string_view rest(position_ + 2, end_ - position_ - 2);
      const size_t close = rest.find("*/");
      if (close == absl::string_view::npos) return;
      position_ += close + 4;
    } else {
      return;
    }
    while (Is(*position_, kSpaceByte)) ++position_;
  }
}

bool Lexer::AtEnd() {
  SkipSpace();
  return position_ == end_;
}

char Lexer::Peek() {
  SkipSpace();
  return *position_;
}

bool Lexer::Consume(char wanted) {
  SkipSpace();
  if (*position_ != wanted) return false;
  ++position_;
  return true;
}

bool Lexer::ConsumeWord(absl::string_view wanted) {
  SkipSpace();
  const char* const start = position_;
  if (TakeName() == wanted) return true;
  position_ = start;
  return false;
}

bool Lexer::Expect(char wanted) {
  if (Consume(wanted)) return true;
  return Fail(absl::StrCat("'", absl::string_view(&wanted, 1), "'"));
}

absl::string_view Lexer::TakeName() {
  SkipSpace();
  const char* const start = position_;
  while (Is(*position_, kNameByte)) ++position_;
  return absl::string_view(start, position_ - start);
}

bool Lexer::ReadName(absl::string_view what, absl::string_view& name) {
  SkipSpace();
  const char* const start = position_;
  if (*position_ == '%') ++position_;
  name = TakeName();
  return !name.empty() || FailAt(start, what);
}

bool Lexer::ReadInt(absl::string_view what, int64_t& value) {
  SkipSpace();
  const char* const start = position_;
  const char* stop = start + (*start == '-' ? 1 : 0);
  while (*stop >= '0' && *stop <= '9') ++stop;
  if (!absl::SimpleAtoi(absl::string_view(start, stop - start), &value)) return Fail(what);
  position_ = stop;
  return true;
}

bool Lexer::ReadInt32(absl::string_view what, int32_t minimum, int32_t& value) {
  SkipSpace();
  const char* const start = position_;
  int64_t wide;
  if (!ReadInt(what, wide)) return false;
  if (wide < minimum || wide > std::numeric_limits<int32_t>::max()) return FailAt(start, what);
  value = wide;
  return true;
}

bool Lexer::ReadQuoted(absl::string_view& content) {
  if (Peek() != '"') return Fail("a string in double quotes");
  const char* const start = position_ + 1;
  if (!SkipString()) return false;
  content = absl::string_view(start, position_ - 1 - start);
  return true;
}

// Most strings in HLO text are either a few bytes or very long, and have few escapes.
bool Lexer::SkipString() {
  const char* const start = position_;
  const char* from = start + 1;
  while (true) {
    const char* const quote = static_cast<const char*>(std::memchr(from, '"', end_ - from));
    if (quote == nullptr) return FailAt(start, "a string that ends with '\"'");
    const char* escapes = quote;
    while (escapes > from && escapes[-1] == '\\') --escapes;
    from = quote + 1;
    if ((quote - escapes) % 2 == 0) break;
  }
  position_ = from;
  return true;
}

bool Lexer::SkipBalanced() {
  const char* const start = position_;
  std::array<char, kMaxBracketDepth> closing;
  int depth = 0;
  do {
    while (!Is(*position_, kBalanceByte)) ++position_;
    const char byte = *position_;
    if (byte == '(' || byte == '[' || byte == '{') {
      if (depth == kMaxBracketDepth) {
        return Fail(absl::StrCat("at most ", kMaxBracketDepth, " nested brackets"));
      }
      closing[depth++] = byte == '(' ? ')' : byte + 2;  // ASCII: [\] and {|}
      ++position_;
    } else if (byte == ')' || byte == ']' || byte == '}') {
      if (byte != closing[--depth]) {
        return Fail(absl::StrCat("'", absl::string_view(&closing[depth], 1), "'"));
      }
      ++position_;
    } else if (byte == '"') {
      if (!SkipString()) return false;
    } else if (byte == '/' && position_[1] == '*') {
      const char* const comment = position_;
      SkipComments();
      if (position_ == comment) return FailAt(comment, "a comment that is closed");
    } else if (position_ == end_) {
      return FailAt(start, "a bracket that is closed");
    } else {
      ++position_;
    }
  } while (depth > 0);
  return true;
}

bool Lexer::SkipValue(absl::string_view* value) {
  SkipSpace();
  const char* const start = position_;
  bool more = *start != '/' || start[1] != '*';  // a comment that does not end is no value
  while (more) {
    while (!Is(*position_, kValueByte)) ++position_;
    switch (*position_) {
      case '"':
        if (!SkipString()) return false;
        break;
      case '(':
      case '[':
      case '{':
        if (!SkipBalanced()) return false;
        break;
      case '/':
        ++position_;
        break;
      case ' ':
        // `mesh['x'=2] {'x'}` is one value: after a space, only a bracket continues a value.
        more = ContinuesAfterSpaces();
        break;
      default:  // comma, line end, closing bracket, end of text
        more = false;
    }
  }
  if (position_ == start) return Fail("a value");
  if (value != nullptr) *value = absl::string_view(start, position_ - start);
  return true;
}

bool Lexer::ContinuesAfterSpaces() {
  const char* next = position_;
  while (*next == ' ') ++next;
  if (*next != '{' && *next != '[') return false;
  position_ = next;
  return true;
}

void Lexer::SkipLine() {
  const void* const line_end = std::memchr(position_, '\n', end_ - position_);
  position_ = line_end == nullptr ? end_ : static_cast<const char*>(line_end);
}

int32_t Lexer::Line() {
  SkipSpace();
  line_ += std::count(counted_to_, position_, '\n');
  counted_to_ = position_;
  return line_;
}

bool Lexer::Fail(absl::string_view expected) {
  SkipSpace();
  return FailAt(position_, expected);
}

bool Lexer::FailAt(const char* position, absl::string_view expected) {
  if (!status_.ok()) return false;
  const int64_t line = 1 + std::count(begin_, position, '\n');
  const absl::string_view before(begin_, position - begin_);
  const size_t line_end = before.rfind('\n');
  const int64_t column =
      position - begin_ - (line_end == absl::string_view::npos ? 0 : line_end + 1);
  status_ =
      absl::InvalidArgumentError(absl::StrCat(file_name_, ":", line, ":", column + 1, ": expected ",
                                              expected, ", found ", Describe(position, end_)));
  return false;
}

}  // namespace mallocmuzero::hlo
