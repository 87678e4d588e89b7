// libFuzzer target: any text gives a config from which the roles can start, or a list of mistakes,
// one line each.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "cluster/cluster_config.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using mallocmuzero::Require;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = mallocmuzero::ParseClusterConfig(text, "/fuzz.textproto",
                                                       mallocmuzero::ConfigScope::kWithoutPrograms);
  if (config.ok()) {
    Require(!config->replay().empty());
    for (const auto& shard : config->replay()) Require(!shard.address().empty());
    Require(!config->learner().address().empty());
    Require(config->learner().processes() >= 1);
    return 0;
  }
  Require(config.status().code() == absl::StatusCode::kInvalidArgument);
  for (const absl::string_view line : absl::StrSplit(config.status().message(), '\n')) {
    Require(absl::StartsWith(line, "/fuzz.textproto:"));
  }
  return 0;
}
