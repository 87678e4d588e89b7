// What is wrong with a configuration file, collected so that all of it is said at once.

#ifndef MALLOCMUZERO_CLUSTER_CONFIG_MISTAKES_H_
#define MALLOCMUZERO_CLUSTER_CONFIG_MISTAKES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace mallocmuzero {

class ConfigMistakes {
 public:
  // `line` counts from 0, as protobuf does. `field` may be empty.
  void Add(int line, const std::string& field, const std::string& message);

  bool empty() const { return mistakes_.empty(); }

  // InvalidArgument, a line each in the order of the file:
  //   PATH:LINE: FIELD: MESSAGE
  // OK if there are none.
  absl::Status ToStatus(const std::string& path) const;

 private:
  struct Mistake {
    int line;
    std::string text;
  };
  std::vector<Mistake> mistakes_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_CONFIG_MISTAKES_H_
