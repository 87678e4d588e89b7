// libFuzzer target: any bytes of a module's message give text, or an error of one line. If they
// give text, this text gives a module, or an error of one line.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "simulator/hlo/module.h"
#include "simulator/hlo/read_module.h"
#include "tests/fuzz/require.h"

namespace mallocmuzero {
namespace {

void CheckReadError(const absl::Status& status) {
  CheckError(status);
  Require(absl::IsInvalidArgument(status) && absl::StartsWith(status.message(), "fuzz.pb:"));
}

}  // namespace
}  // namespace mallocmuzero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::StatusOr<std::string> text = mallocmuzero::hlo::HloTextOf(
      std::string(reinterpret_cast<const char*>(data), size), "fuzz.pb");
  if (!text.ok()) {
    mallocmuzero::CheckReadError(text.status());
    return 0;
  }
  const auto module = mallocmuzero::hlo::ParseModule(*text, "fuzz.pb");
  if (!module.ok()) mallocmuzero::CheckReadError(module.status());
  return 0;
}
