// Evaluates the graph of a network with LibTorch.

#include <cassert>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "model/graph.h"
#include "model/modules.h"

namespace mallocmuzero {
namespace {

using Operation = Graph::Operation;

torch::nn::Linear MakeLinear(const LinearLayer& layer) {
  return torch::nn::Linear(
      torch::nn::LinearOptions(layer.inputs, layer.outputs).bias(layer.has_bias));
}

// Registers `layer` in `module` by a path such as "block_0.in", with a module for each folder.
void RegisterAt(torch::nn::Module& module, absl::string_view path, const torch::nn::Linear& layer) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(path, absl::MaxSplits('.', 1));
  const auto& [name, rest] = parts;
  if (rest.empty()) {
    module.register_module(name, layer);
    return;
  }
  const auto children = module.named_children();
  const std::shared_ptr<torch::nn::Module>* const found = children.find(name);
  const std::shared_ptr<torch::nn::Module> folder =
      found != nullptr ? *found
                       : module.register_module(name, std::make_shared<torch::nn::Module>());
  RegisterAt(*folder, rest, layer);
}

torch::Tensor Shift(const torch::Tensor& x, int64_t entries) {
  const int64_t size = x.size(1);
  const torch::Tensor zeros = x.new_zeros({x.size(0), 1, x.size(2)});
  if (entries > 0) return torch::cat({zeros, x.narrow(1, 0, size - 1)}, 1);
  return torch::cat({x.narrow(1, 1, size - 1), zeros}, 1);
}

torch::Tensor Affine(const torch::Tensor& x, double factor, double offset) {
  const torch::Tensor product = x * factor;
  return offset == 0 ? product : product + offset;
}

std::vector<int64_t> WithBatch(const std::vector<int64_t>& shape) {
  std::vector<int64_t> whole = {-1};
  whole.insert(whole.end(), shape.begin(), shape.end());
  return whole;
}

// For each node, the values that no later node and no output uses.
std::vector<std::vector<Graph::Value>> FindSpent(const Graph& graph) {
  std::vector<bool> needed(graph.nodes().size());
  for (const Graph::Output& output : graph.outputs()) needed[output.value] = true;
  std::vector<std::vector<Graph::Value>> spent(graph.nodes().size());
  for (size_t n = graph.nodes().size(); n-- > 0;) {
    for (const Graph::Value input : graph.nodes()[n].inputs) {
      if (!needed[input]) spent[n].push_back(input);
      needed[input] = true;
    }
  }
  return spent;
}

}  // namespace

GraphModuleImpl::GraphModuleImpl(const Graph& graph)
    : graph_(graph),
      layers_(graph.nodes().size(), torch::nn::Linear(nullptr)),
      spent_(FindSpent(graph)) {
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Graph::Node& node = graph.nodes()[n];
    if (node.operation != Operation::kLinear) continue;
    layers_[n] = MakeLinear(graph.LayerOf(node));
    RegisterAt(*this, absl::StripPrefix(node.name, graph.name()), layers_[n]);
  }
}

torch::nn::Linear GraphModuleImpl::layer(absl::string_view name) const {
  size_t n = 0;
  while (graph_.nodes()[n].name != name) ++n;
  return layers_[n];
}

std::vector<torch::Tensor> GraphModuleImpl::forward(const std::vector<torch::Tensor>& inputs) {
  assert(inputs.size() == graph_.inputs().size());
  std::vector<torch::Tensor> values(graph_.nodes().size());
  for (size_t k = 0; k < inputs.size(); ++k) values[graph_.inputs()[k]] = inputs[k];
  for (size_t n = 0; n < values.size(); ++n) {
    if (!values[n].defined()) values[n] = Evaluate(n, values);
    // Memory that is given back early is still in the cache when the next value takes it.
    for (const Graph::Value value : spent_[n]) values[value].reset();
  }
  std::vector<torch::Tensor> outputs;
  for (const Graph::Output& output : graph_.outputs()) outputs.push_back(values[output.value]);
  return outputs;
}

torch::Tensor GraphModuleImpl::Evaluate(size_t n, const std::vector<torch::Tensor>& values) const {
  const Graph::Node& node = graph_.nodes()[n];
  const auto input = [&](size_t k) -> const torch::Tensor& { return values[node.inputs[k]]; };
  switch (node.operation) {
    case Operation::kInput:
    case Operation::kActionInput:
      break;  // given by the caller
    case Operation::kColumns:
      return input(0).narrow(1, node.begin, node.shape[0]);
    case Operation::kReshape:
      return input(0).reshape(WithBatch(node.shape));
    case Operation::kSelect:
      return input(0).select(node.axis, node.begin);
    case Operation::kInsertAxis:
      return input(0).unsqueeze(node.axis);
    case Operation::kConcat: {
      std::vector<torch::Tensor> parts;
      for (size_t k = 0; k < node.inputs.size(); ++k) parts.push_back(input(k));
      return torch::cat(parts, node.axis);
    }
    case Operation::kShift:
      return Shift(input(0), node.begin);
    case Operation::kOneHot:
      return torch::one_hot(input(0), node.shape[0]).to(torch::kFloat32);
    case Operation::kLinear:
      return layers_[n].ptr()->forward(input(0));
    case Operation::kRelu:
      return torch::relu(input(0));
    case Operation::kAdd:
      return input(0) + input(1);
    case Operation::kAffine:
      return Affine(input(0), node.factor, node.offset);
    case Operation::kSoftmax:
      return torch::softmax(input(0), -1);
    case Operation::kScores:
      return torch::baddbmm(input(0), input(1), input(2).transpose(1, 2));
    case Operation::kProduct:
      return torch::bmm(input(0), input(1));
    case Operation::kNormalize:
      return NormalizeLatent(input(0));
  }
  return {};
}

}  // namespace mallocmuzero
