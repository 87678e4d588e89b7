// Reads the text file that configures a cluster, checks it and fills in defaults.

#ifndef MALLOCMUZERO_CLUSTER_CLUSTER_CONFIG_H_
#define MALLOCMUZERO_CLUSTER_CLUSTER_CONFIG_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cluster/config_overrides.h"
#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero {

// All machines of a cluster use the same file, but only the learner's machine has the programs.
enum class ConfigScope : uint8_t {
  kWithPrograms,     // learner.workloads must exist on this machine
  kWithoutPrograms,  // for replay shards and actors, which do not need them
};

// Reads a ClusterConfig in protobuf's text format. Fills in the defaults of docs/operations.md and
// makes paths absolute, which are relative to the file's folder in the file. `overrides` replace
// fields of the file, in their order. NotFound if there is no such file. InvalidArgument with all
// mistakes, a line each:
//   FILE:LINE: FIELD: what is wrong, what is expected
//   OVERRIDE: what is wrong, what is expected
absl::StatusOr<v1::ClusterConfig> ReadClusterConfig(
    const std::string& path, ConfigScope scope = ConfigScope::kWithPrograms,
    absl::Span<const ConfigOverride> overrides = {});

// Does the same for `text`. Messages name the file by `path`, and relative paths in the text are
// relative to the folder of `path`.
absl::StatusOr<v1::ClusterConfig> ParseClusterConfig(
    absl::string_view text, const std::string& path, ConfigScope scope = ConfigScope::kWithPrograms,
    absl::Span<const ConfigOverride> overrides = {});

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_CLUSTER_CONFIG_H_
