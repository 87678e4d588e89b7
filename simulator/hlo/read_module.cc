#include "simulator/hlo/read_module.h"

#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/stubs/logging.h"
#include "simulator/hlo/lexer.h"
#include "simulator/hlo/print_module.h"

namespace mallocmuzero::hlo {
namespace {

using google::protobuf::io::CodedInputStream;

// Tags of fields 1 to 3 with a length, one of which a message begins with. The first is a line end
// as well.
constexpr absl::string_view kFirstTags = "\x0a\x12\x1a";

bool IsText(const std::string& bytes) {
  Lexer lexer(bytes, "");
  // A message may have a module called HloModule, but not one with a blank behind the word.
  if (lexer.ConsumeWord("HloModule") && absl::ascii_isspace(*lexer.position())) return true;
  return bytes.empty() || kFirstTags.find(bytes[0]) == absl::string_view::npos;
}

// The module among `bytes`: all of them, or the first field of a message around it. In a module
// that field is a name, and no name begins with one of kFirstTags, as every module does.
absl::string_view ModuleBytes(absl::string_view bytes) {
  CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()),
                         static_cast<int>(bytes.size()));
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
  const google::protobuf::LogSilencer silencer;  // the error below says it in one line
  xla::HloModuleProto module;
  if (!module.ParseFromArray(module_bytes.data(), static_cast<int>(module_bytes.size())) ||
      module.computations().empty()) {
    return error("expected HLO text that begins with 'HloModule', or a whole xla.HloModuleProto");
  }
  absl::StatusOr<std::string> text = PrintModule(module);
  return text.ok() ? text : error(text.status().message());
}

}  // namespace mallocmuzero::hlo
