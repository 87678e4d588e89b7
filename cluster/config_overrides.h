// Fields of a configuration that flags and environment variables set instead of the file.

#ifndef MALLOCMUZERO_CLUSTER_CONFIG_OVERRIDES_H_
#define MALLOCMUZERO_CLUSTER_CONFIG_OVERRIDES_H_

#include <google/protobuf/message.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cluster/config_mistakes.h"

namespace mallocmuzero {

struct ConfigOverride {
  std::string source;  // how error messages name it, such as "--set learner.seed=3"
  std::string path;    // as SetField (cluster/set_field.h) takes it
  std::string value;
};

// Reads the value of a flag --set, such as "learner.run_dir=/data/run" or "replay[0].mode=MEMORY".
// InvalidArgument if it has no '='.
absl::StatusOr<ConfigOverride> OverrideFromFlag(absl::string_view assignment);

// The overrides of the variables that begin with MALLOCMUZERO_SET_, in the order of their paths, so
// that element 2 of a list comes before element 10. The rest of a variable's name is a path with
// "__" instead of dots: MALLOCMUZERO_SET_replay__0__address. `environment` is the list of
// "NAME=VALUE" that environ(7) describes, and ends with a null pointer.
std::vector<ConfigOverride> OverridesFromEnvironment(const char* const* environment);

// Sets the fields of `message` in the order of `overrides`, and adds a mistake for each override
// that does not fit. Returns the sources of the others by the paths of error messages, such as
// "replay[0].address".
std::map<std::string, std::string> ApplyOverrides(absl::Span<const ConfigOverride> overrides,
                                                  google::protobuf::Message& message,
                                                  ConfigMistakes& mistakes);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_CONFIG_OVERRIDES_H_
