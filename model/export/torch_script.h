// Writes the graph of a network as a TorchScript module, which Python's torch and LibTorch load.

#ifndef MALLOCMUZERO_MODEL_EXPORT_TORCH_SCRIPT_H_
#define MALLOCMUZERO_MODEL_EXPORT_TORCH_SCRIPT_H_

#include <string>

#include "absl/status/statusor.h"
#include "model/export/network_weights.h"
#include "model/graph.h"
#include "model/value_codec.h"

namespace mallocmuzero {

// The bytes of the module's file. `forward` takes the graph's inputs in their order, and returns a
// tuple of its outputs in their order. Logits of a number are followed by the number itself.
// Errors are those of CheckFileHasRoom, or Internal if LibTorch refuses the module.
absl::StatusOr<std::string> TorchScriptModule(const Graph& graph, const NetworkWeights& weights,
                                              const ValueCodec& codec);

// The source of `forward`.
std::string TorchScriptSource(const Graph& graph, const ValueCodec& codec);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_EXPORT_TORCH_SCRIPT_H_
