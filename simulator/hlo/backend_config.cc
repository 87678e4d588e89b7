#include "simulator/hlo/backend_config.h"

#include <string>
#include <utility>

#include "absl/strings/escaping.h"

namespace mallocmuzero::hlo {
namespace {

// Calls `read(key)` for each member of a JSON object; `read` must consume the value.
template <typename Read>
bool ForEachMember(Lexer& lexer, Read read) {
  if (!lexer.Expect('{')) return false;
  if (lexer.Consume('}')) return true;
  do {
    absl::string_view key;
    if (!lexer.ReadQuoted(key) || !lexer.Expect(':') || !read(key)) return false;
  } while (lexer.Consume(','));
  return lexer.Expect('}');
}

// Calls `read()` for each element of a JSON array; `read` must consume the element.
template <typename Read>
bool ForEachElement(Lexer& lexer, Read read) {
  if (!lexer.Expect('[')) return false;
  if (lexer.Consume(']')) return true;
  do {
    if (!read()) return false;
  } while (lexer.Consume(','));
  return lexer.Expect(']');
}

// Protobuf prints 64-bit integers as strings, 32-bit ones as numbers.
bool ReadNumber(Lexer& lexer, int64_t& value) {
  const bool quoted = lexer.Consume('"');
  return lexer.ReadInt("a whole number", value) && (!quoted || lexer.Expect('"'));
}

bool ReadPosition(Lexer& lexer, int32_t& value) {
  const bool quoted = lexer.Consume('"');
  return lexer.ReadInt32("a number that is not negative", 0, value) &&
         (!quoted || lexer.Expect('"'));
}

bool ReadKnown(Lexer& lexer, absl::optional<int64_t>& value) {
  int64_t number;
  if (!ReadNumber(lexer, number)) return false;
  if (number >= 0) value = number;
  return true;
}

bool ReadScopedMemory(Lexer& lexer, Instruction& instruction) {
  return ForEachElement(lexer, [&] {
    ScopedMemory memory = {0, 0, 0};  // protobuf's JSON leaves out zeros
    const bool ok = ForEachMember(lexer, [&](absl::string_view key) {
      if (key == "memory_space") return ReadPosition(lexer, memory.memory_space);
      if (key == "offset") return ReadNumber(lexer, memory.offset);
      if (key == "size") return ReadNumber(lexer, memory.size);
      return lexer.SkipValue(nullptr);
    });
    instruction.scoped_memory.push_back(memory);
    return ok;
  });
}

bool ReadAliasingList(Lexer& lexer, Instruction& instruction) {
  std::vector<int32_t> positions;
  const bool ok = ForEachMember(lexer, [&](absl::string_view key) {
    if (key != "indices") return lexer.SkipValue(nullptr);
    return ForEachElement(lexer, [&] { return ReadPosition(lexer, positions.emplace_back()); });
  });
  instruction.aliasing_operands.push_back(std::move(positions));
  return ok;
}

bool ReadAliasingOperands(Lexer& lexer, Instruction& instruction) {
  return ForEachMember(lexer, [&](absl::string_view key) {
    if (key != "lists") return lexer.SkipValue(nullptr);
    return ForEachElement(lexer, [&] { return ReadAliasingList(lexer, instruction); });
  });
}

// Reads the flops of `"cost_estimate":{"flops":"17"}` in the configuration of a kernel.
bool ReadKernel(Lexer& lexer, Instruction& instruction) {
  return ForEachMember(lexer, [&](absl::string_view key) {
    if (key != "cost_estimate") return lexer.SkipValue(nullptr);
    return ForEachMember(lexer, [&](absl::string_view cost_key) {
      if (cost_key != "flops") return lexer.SkipValue(nullptr);
      return ReadKnown(lexer, instruction.kernel_flops);
    });
  });
}

bool ReadConfig(Lexer& lexer, Instruction& instruction) {
  return ForEachMember(lexer, [&](absl::string_view key) {
    if (key == "window_config") {
      return ForEachMember(lexer, [&](absl::string_view window_key) {
        if (window_key != "estimated_cycles") return lexer.SkipValue(nullptr);
        return ReadKnown(lexer, instruction.estimated_cycles);
      });
    }
    if (key == "known_trip_count") {
      return ForEachMember(lexer, [&](absl::string_view trip_key) {
        if (trip_key != "n") return lexer.SkipValue(nullptr);
        return ReadKnown(lexer, instruction.known_trip_count);
      });
    }
    if (key == "estimated_cycles") return ReadKnown(lexer, instruction.estimated_cycles);
    if (key == "used_scoped_memory_configs") return ReadScopedMemory(lexer, instruction);
    if (key == "aliasing_operands") return ReadAliasingOperands(lexer, instruction);
    if (key == "custom_call_config") return ReadKernel(lexer, instruction);
    return lexer.SkipValue(nullptr);
  });
}

// Parsed into a separate Instruction first, so that a config which turns out to be malformed
// changes nothing.
void MoveConfig(Instruction&& from, Instruction& to) {
  to.known_trip_count = from.known_trip_count;
  to.estimated_cycles = from.estimated_cycles;
  to.kernel_flops = from.kernel_flops;
  to.scoped_memory = std::move(from.scoped_memory);
  to.aliasing_operands = std::move(from.aliasing_operands);
}

// True unless the braces that come next hold something else than JSON. XLA prints the configuration
// of a custom call without quotes whenever its brackets match, such as {threads = 4 : i32}.
bool MayBeJson(Lexer& lexer) {
  const char* const start = lexer.position();
  const bool opens = lexer.Consume('{');
  const char next = lexer.Peek();
  lexer.set_position(start);
  return !opens || next == '"' || next == '}';
}

}  // namespace

bool ParseBackendConfig(Lexer& lexer, Instruction& instruction) {
  if (lexer.Peek() != '"') {
    return MayBeJson(lexer) ? ReadConfig(lexer, instruction) : lexer.SkipBalanced();
  }
  absl::string_view quoted;
  if (!lexer.ReadQuoted(quoted)) return false;
  std::string json;
  if (quoted.empty() || quoted[0] != '{' || !absl::CUnescape(quoted, &json)) return true;
  Lexer json_lexer(json, "backend_config");
  Instruction config;
  if (ReadConfig(json_lexer, config) && json_lexer.AtEnd()) {
    MoveConfig(std::move(config), instruction);
  }
  return true;
}

}  // namespace mallocmuzero::hlo
