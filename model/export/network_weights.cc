#include "model/export/network_weights.h"

#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace mallocmuzero {

absl::Status CheckFileHasRoom(const Graph& graph) {
  uint64_t bytes = 0;
  for (const LinearLayer& layer : graph.layers()) bytes += layer.Parameters() * sizeof(float);
  if (bytes <= std::numeric_limits<int32_t>::max()) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("network ", absl::StripSuffix(graph.name(), "."),
                                            " has ", bytes,
                                            " bytes of weights; a file of an export has room for "
                                            "2 GiB"));
}

}  // namespace mallocmuzero
