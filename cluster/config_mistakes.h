// Collects the mistakes of a configuration, so that all are reported at once.

#ifndef MALLOCMUZERO_CLUSTER_CONFIG_MISTAKES_H_
#define MALLOCMUZERO_CLUSTER_CONFIG_MISTAKES_H_

#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace mallocmuzero {

class ConfigMistakes {
 public:
  // Adds a mistake. `line` counts from 0, as in protobuf. `field` may be empty.
  void Add(int line, const std::string& field, const std::string& message);

  // Adds a mistake in a flag or an environment variable, which `source` names.
  void AddForOverride(const std::string& source, const std::string& message);

  bool empty() const { return mistakes_.empty(); }

  // OK if there are no mistakes. Otherwise InvalidArgument with a line for each, in the order of
  // the file, and then those of overrides:
  //   PATH:LINE: FIELD: MESSAGE
  //   SOURCE: MESSAGE
  absl::Status ToStatus(const std::string& path) const;

 private:
  struct Mistake {
    int line;  // kOfOverride if it is not in the file
    std::string text;
  };
  static constexpr int kOfOverride = std::numeric_limits<int>::max();

  std::vector<Mistake> mistakes_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_CONFIG_MISTAKES_H_
