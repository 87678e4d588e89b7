// libFuzzer target: the check of any two modules gives messages of whole lines, and the same ones
// twice.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/text_format.h"
#include "mallocmuzero/xla/hlo.pb.h"
#include "simulator/place_check/check_placed.h"
#include "tests/fuzz/require.h"

namespace mallocmuzero {
namespace {

void CheckVerdict(const xla::HloModuleProto& original, const xla::HloModuleProto& placed,
                  bool allow_reordering) {
  const PlacedCheckOptions options = {.fast_memory_space = 1,
                                      .capacity_bytes = 65536,
                                      .alignment_bytes = 512,
                                      .allow_reordering = allow_reordering};
  const PlacedCheck check = ExaminePlaced(original, placed, options);
  Require(check.peak_bytes >= 0 && check.violations.size() <= kMaxPlacedViolations);
  for (const PlacedViolation& violation : check.violations) {
    Require(!violation.message.empty() && PlacedRuleName(violation.rule) != "unknown");
  }
  const std::vector<PlacedViolation> again = ExaminePlaced(original, placed, options).violations;
  Require(again.size() == check.violations.size());
}

}  // namespace
}  // namespace mallocmuzero

// Two modules in text format with a line "---" between them.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using mallocmuzero::xla::HloModuleProto;
  const google::protobuf::LogSilencer silencer;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t border = text.find("\n---\n");
  if (border == std::string::npos) return 0;
  HloModuleProto original;
  HloModuleProto placed;
  using google::protobuf::TextFormat;
  if (!TextFormat::ParseFromString(text.substr(0, border), &original)) return 0;
  if (!TextFormat::ParseFromString(text.substr(border + 5), &placed)) return 0;
  mallocmuzero::CheckVerdict(original, placed, /*allow_reordering=*/size % 2 == 0);
  mallocmuzero::CheckVerdict(placed, placed, /*allow_reordering=*/false);
  return 0;
}
