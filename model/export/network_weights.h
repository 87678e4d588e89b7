// The weights of a checkpoint by their names.

#ifndef MALLOCMUZERO_MODEL_EXPORT_NETWORK_WEIGHTS_H_
#define MALLOCMUZERO_MODEL_EXPORT_NETWORK_WEIGHTS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "model/graph.h"
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

// OutOfRange, naming the network, if its weights alone exceed the 2 GiB that a file of an export
// has room for. Reads no weights.
absl::Status CheckFileHasRoom(const Graph& graph);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_EXPORT_NETWORK_WEIGHTS_H_
