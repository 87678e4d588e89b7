#include "compiler/module_format.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/message_file.h"
#include "google/protobuf/stubs/logging.h"
#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero {
namespace {

// Bound on the size of a module: the request to the child process is a message, which has less than
// 2 GiB.
constexpr size_t kMostModuleBytes = size_t{2000} << 20;

constexpr absl::string_view kBytecodeMagic = "ML\xEFR";

// The first words of MLIR text: a module, an attribute or location alias, a comment, or a function.
constexpr absl::string_view kTextBeginnings[] = {"module", "\"builtin.module\"", "#", "//",
                                                 "func.func"};

bool IsHloModule(absl::string_view bytes) {
  const google::protobuf::LogSilencer silencer;  // ModuleFormat reports the problem in one line
  xla::HloModuleProto module;
  return ParseBytes(bytes, module) && !module.entry_computation_name().empty() &&
         !module.computations().empty();
}

}  // namespace

absl::StatusOr<std::string> ModuleFormat(absl::string_view bytes, absl::string_view name) {
  if (bytes.size() > kMostModuleBytes) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": longer than ", kMostModuleBytes,
                                                   " bytes, the most that can be compiled"));
  }
  if (absl::StartsWith(bytes, kBytecodeMagic)) return "mlir";
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(bytes);
  if (absl::StartsWith(text, "HloModule")) {
    return absl::InvalidArgumentError(
        absl::StrCat(name,
                     ": is HLO text, which the compiler does not accept: a serialised "
                     "HloModuleProto or StableHLO expected"));
  }
  for (const absl::string_view beginning : kTextBeginnings) {
    if (absl::StartsWith(text, beginning)) return "mlir";
  }
  if (IsHloModule(bytes)) return "hlo";
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": a serialised HloModuleProto or StableHLO expected, found neither"));
}

}  // namespace mallocmuzero
