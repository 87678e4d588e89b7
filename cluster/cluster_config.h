// The text file that describes a cluster: read, checked as a whole, completed with defaults.

#ifndef MALLOCMUZERO_CLUSTER_CLUSTER_CONFIG_H_
#define MALLOCMUZERO_CLUSTER_CLUSTER_CONFIG_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero {

// One file serves all machines of a cluster, but not all of them have the programs to train on.
enum class ConfigScope : uint8_t {
  kWithPrograms,     // learner.workloads must be there
  kWithoutPrograms,  // for replay shards and actors
};

// Reads a ClusterConfig in protobuf's text format. What the file leaves out has its default
// (docs/operations.md), relative paths are relative to the file's folder and come back absolute.
// NotFound if there is no such file. InvalidArgument with all mistakes of the file, a line each:
//   FILE:LINE: FIELD: what is wrong, what would be right
absl::StatusOr<v1::ClusterConfig> ReadClusterConfig(const std::string& path,
                                                    ConfigScope scope = ConfigScope::kWithPrograms);

// The same for text that has been read already; `path` is what messages call it by, and its folder
// is where relative paths start.
absl::StatusOr<v1::ClusterConfig> ParseClusterConfig(
    absl::string_view text, const std::string& path,
    ConfigScope scope = ConfigScope::kWithPrograms);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_CLUSTER_CONFIG_H_
