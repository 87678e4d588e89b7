// The weights of a checkpoint by their names.

#ifndef MALLOCMUZERO_MODEL_EXPORT_NETWORK_WEIGHTS_H_
#define MALLOCMUZERO_MODEL_EXPORT_NETWORK_WEIGHTS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "model/tensors.h"

namespace mallocmuzero {

// All weights of a network. Immutable.
class NetworkWeights {
 public:
  // The weights must fit the network that is exported: take those of Network::ExportWeights.
  explicit NetworkWeights(const std::vector<NamedTensor>& tensors) {
    for (const NamedTensor& tensor : tensors) tensors_.emplace(tensor.name, tensor);
  }

  // The weight of that name, which must exist.
  const NamedTensor& operator[](absl::string_view name) const {
    return tensors_.find(name)->second;
  }

 private:
  absl::flat_hash_map<std::string, NamedTensor> tensors_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_EXPORT_NETWORK_WEIGHTS_H_
