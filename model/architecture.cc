#include "model/architecture.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "env/observation_layout.h"

namespace mallocmuzero {
namespace {

namespace layout = observation;

using Value = Graph::Value;

constexpr size_t kRows = 1 + layout::kWindow;  // the current access, and those to come

// Computes x + out(relu(in(inputs))), where the caller makes `inputs` of x.
Value ResidualBlock(Graph& graph, const std::string& name, Value x, Value inputs) {
  const int64_t width = graph.ShapeOf(x).back();
  const Value hidden = graph.Relu(graph.Linear(inputs, absl::StrCat(name, ".in"), width));
  return graph.Add(x, graph.Linear(hidden, absl::StrCat(name, ".out"), width, /*has_bias=*/false));
}

// The latent state behind one more block. Latent states have mean 0 and variance 1 over their
// floats. Compared with rescaling to [0, 1] by minimum and maximum, this is one operation, its
// gradient reaches all floats, and no single float sets the scale.
Value NormalizedBlock(Graph& graph, size_t n, Value latent) {
  return ResidualBlock(graph, BlockName(n), latent, graph.Normalize(latent));
}

// x + relu(convolution of width 3 along time), from [times, channels] to the same shape. The
// convolution is one product: it reads the channels one step before, now, and one step after.
Value TimeConvolution(Graph& graph, const std::string& name, Value x) {
  const int64_t channels = graph.ShapeOf(x).back();
  const Value before = graph.Shift(x, 1);
  const Value after = graph.Shift(x, -1);
  const Value steps = graph.Concat({before, x, after}, 2);
  return graph.Add(x, graph.Relu(graph.Linear(steps, absl::StrCat(name, ".taps"), channels)));
}

// The picture of the fast memory, convolved along time, as one row.
Value ReadMemory(Graph& graph, const v1::NetworkConfig& config, Value observation) {
  const Value picture =
      graph.Reshape(graph.Columns(observation, layout::kMemoryOffset,
                                  layout::kIncumbentOffset - layout::kMemoryOffset),
                    {layout::kMemoryChannels, layout::kTimes, layout::kAddressBins});
  // The address bins of one time.
  const Value times = graph.Concat({graph.Select(picture, 1, 0), graph.Select(picture, 1, 1)}, 2);
  Value memory = graph.Relu(graph.Linear(times, "memory_stem", config.memory_channels()));
  for (size_t n = 0; n < config.memory_blocks(); ++n) {
    memory = TimeConvolution(graph, absl::StrCat("memory_block_", n), memory);
  }
  return graph.Flatten(memory);
}

// Multi-head attention from the current access to itself and the window of later accesses, as one
// row. The query projection includes the projection of keys, so that keys need no product for every
// row. Rows behind the end of the program are masked.
Value AttendToAccesses(Graph& graph, const v1::NetworkConfig& config, Value accesses) {
  const int64_t heads = config.heads();
  const int64_t channels = config.access_channels();
  const Value rows = graph.Relu(graph.Linear(accesses, "accesses.embed", config.access_channels()));
  const double scale = 1 / std::sqrt(static_cast<double>(channels));
  const Value current = graph.Affine(graph.Select(rows, 1, 0), scale, 0);
  const Value queries =
      graph.Reshape(graph.Linear(current, "accesses.query", heads * channels), {heads, channels});
  // Far below all scores, but finite, so that the softmax of a row of them is defined.
  constexpr double kMissing = -1e4;
  const Value is_there = graph.Select(accesses, 2, layout::kIsThere);
  const Value missing = graph.Affine(is_there, -kMissing, kMissing);
  const Value scores = graph.Scores(graph.InsertAxis(missing, 1), queries, rows);
  return graph.Flatten(graph.Product(graph.Softmax(scores), rows));
}

Graph DescribeRepresentation(const v1::NetworkConfig& config) {
  Graph graph(kRepresentation);
  const Value observation = graph.Input(kObservation, config.observation_size());
  const Value memory = ReadMemory(graph, config, observation);
  const Value window = graph.Reshape(
      graph.Columns(observation, layout::kAccessesOffset, kRows * layout::kAccessFeatures),
      {kRows, layout::kAccessFeatures});
  // These blocks of the observation end with the current access.
  const Value now =
      graph.Columns(observation, layout::kIncumbentOffset,
                    layout::kAccessesOffset + layout::kAccessFeatures - layout::kIncumbentOffset);
  const Value rest =
      graph.Columns(observation, layout::kActionsOffset, layout::kSize - layout::kActionsOffset);
  const Value attended = AttendToAccesses(graph, config, window);
  const Value all = graph.Concat({memory, attended, now, rest}, 1);
  Value latent = graph.Relu(graph.Linear(all, "trunk", config.latent()));
  for (size_t n = 0; n < config.representation_blocks(); ++n) {
    latent = NormalizedBlock(graph, n, latent);
  }
  graph.AddOutput(kLatent, graph.Normalize(latent));
  return graph;
}

Graph DescribeDynamics(const v1::NetworkConfig& config) {
  Graph graph(kDynamics);
  const Value latent = graph.Input(kLatent, config.latent());
  const Value action = graph.OneHot(graph.ActionInput(kAction), config.actions());
  // The first block reads the action besides the latent state.
  Value next = ResidualBlock(graph, BlockName(0), latent, graph.Concat({latent, action}, 1));
  for (size_t n = 1; n < config.dynamics_blocks(); ++n) next = NormalizedBlock(graph, n, next);
  next = graph.Normalize(next);
  const Value hidden = graph.Relu(graph.Linear(next, "reward_hidden", config.head_hidden()));
  graph.AddOutput(kNextLatent, next);
  graph.AddOutput(kRewardLogits, graph.Linear(hidden, "reward", config.bins()), "reward");
  return graph;
}

Graph DescribePrediction(const v1::NetworkConfig& config) {
  Graph graph(kPrediction);
  const Value latent = graph.Input(kLatent, config.latent());
  const Value hidden = graph.Relu(graph.Linear(latent, "hidden", config.head_hidden()));
  graph.AddOutput(kPolicyLogits, graph.Linear(hidden, "policy", config.actions()));
  graph.AddOutput(kValueLogits, graph.Linear(hidden, "value", config.bins()), "value");
  return graph;
}

}  // namespace

std::string BlockName(size_t n) { return absl::StrCat("block_", n); }

Architecture::Architecture(const v1::NetworkConfig& config)
    : representation_(DescribeRepresentation(config)),
      dynamics_(DescribeDynamics(config)),
      prediction_(DescribePrediction(config)) {
  for (const Graph* graph : {&representation_, &dynamics_, &prediction_}) {
    layers_.insert(layers_.end(), graph->layers().begin(), graph->layers().end());
  }
}

const LinearLayer& Architecture::Layer(absl::string_view name) const {
  const auto found = std::find_if(layers_.begin(), layers_.end(),
                                  [&](const LinearLayer& layer) { return layer.name == name; });
  assert(found != layers_.end());
  return *found;
}

}  // namespace mallocmuzero
