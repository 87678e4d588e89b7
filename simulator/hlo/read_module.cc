#include "simulator/hlo/read_module.h"

#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/size32.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/stubs/logging.h"
#include "simulator/hlo/lexer.h"
#include "simulator/hlo/print_module.h"

namespace mallocmuzero::hlo {
namespace {

using google::protobuf::io::CodedInputStream;

// The tags of fields 1 to 3 of wire type "length-delimited". A serialised message begins with one
// of them. The first tag is also a line end.
constexpr absl::string_view kFirstTags = "\x0a\x12\x1a";

bool IsText(const std::string& bytes) {
  Lexer lexer(bytes, "");
  // A message may contain a module named HloModule, but no message has a blank behind this word.
  if (lexer.ConsumeWord("HloModule") && absl::ascii_isspace(*lexer.position())) return true;
  return bytes.empty() || kFirstTags.find(bytes[0]) == absl::string_view::npos;
}

// The bytes of the HloModuleProto: all of `bytes`, or the first field of a message around it. In an
// HloModuleProto the first field is its name. A field is a module if it begins with one of
// kFirstTags; no name does.
absl::string_view ModuleBytes(absl::string_view bytes) {
  CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()), Size32(bytes));
  int length;
  if (bytes[0] != kFirstTags[0] || !input.Skip(1) || !input.ReadVarintSizeAsInt(&length)) {
    return bytes;
  }
  const absl::string_view field = bytes.substr(input.CurrentPosition(), length);
  const bool is_module = !field.empty() && kFirstTags.find(field[0]) != absl::string_view::npos;
  return is_module && field.size() == length ? field : bytes;
}

}  // namespace

absl::StatusOr<std::string> HloTextOf(std::string bytes, absl::string_view file_name) {
  if (IsText(bytes)) return bytes;
  const auto error = [file_name](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(file_name, ": ", what));
  };
  if (bytes.size() > std::numeric_limits<int>::max()) {
    return error("expected HLO text, or a message of less than 2 GiB");
  }
  const absl::string_view module_bytes = ModuleBytes(bytes);
  const google::protobuf::LogSilencer silencer;  // the error below reports the problem in one line
  xla::HloModuleProto module;
  if (!module.ParseFromArray(module_bytes.data(), Size32(module_bytes)) ||
      module.computations().empty()) {
    return error("expected HLO text that begins with 'HloModule', or a whole xla.HloModuleProto");
  }
  absl::StatusOr<std::string> text = PrintModule(module);
  return text.ok() ? text : error(text.status().message());
}

}  // namespace mallocmuzero::hlo
