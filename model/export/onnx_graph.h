// Writes the graph of a network as an ONNX model.

#ifndef MALLOCMUZERO_MODEL_EXPORT_ONNX_GRAPH_H_
#define MALLOCMUZERO_MODEL_EXPORT_ONNX_GRAPH_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "model/export/network_weights.h"
#include "model/graph.h"
#include "model/value_codec.h"

namespace mallocmuzero {

// LayerNormalization is part of operator set 17, which runtimes since the year 2022 have.
inline constexpr int64_t kOnnxOpset = 17;
inline constexpr int64_t kOnnxIrVersion = 8;

// The bytes of the model. Its inputs and outputs have the names of the graph's; the batch has any
// size. An output that is the logits of a number is followed by the number itself. Initializers of
// layers have the names, shapes and bytes of the checkpoint's weights. Equal arguments give equal
// bytes. OutOfRange if the model is larger than the 2 GiB that a message can have.
absl::StatusOr<std::string> OnnxModel(const Graph& graph, const NetworkWeights& weights,
                                      const ValueCodec& codec);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_EXPORT_ONNX_GRAPH_H_
