#include "model/graph.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mallocmuzero {
namespace {

int64_t Entries(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

const LinearLayer& Graph::LayerOf(const Node& node) const {
  const auto found = std::find_if(layers_.begin(), layers_.end(), [&](const LinearLayer& layer) {
    return layer.name == node.name;
  });
  assert(found != layers_.end());
  return *found;
}

uint64_t Graph::Multiplications() const {
  uint64_t sum = 0;
  for (const LinearLayer& layer : layers_) sum += layer.Multiplications();
  for (const Node& node : nodes_) {
    const bool scores = node.operation == Operation::kScores;
    if (!scores && node.operation != Operation::kProduct) continue;
    // The last axis of the left factor is summed over.
    const int64_t summed = ShapeOf(node.inputs[scores ? 1 : 0]).back();
    sum += Entries(node.shape) * summed;
  }
  return sum;
}

Graph::Value Graph::AddNode(Node node) {
  nodes_.push_back(std::move(node));
  return nodes_.size() - 1;
}

Graph::Value Graph::AddSameShape(Operation operation, std::vector<Value> inputs) {
  std::vector<int64_t> shape = ShapeOf(inputs[0]);
  return AddNode({.operation = operation, .inputs = std::move(inputs), .shape = std::move(shape)});
}

Graph::Value Graph::Input(absl::string_view name, int64_t size) {
  inputs_.push_back(
      AddNode({.operation = Operation::kInput, .shape = {size}, .name = std::string(name)}));
  return inputs_.back();
}

Graph::Value Graph::ActionInput(absl::string_view name) {
  inputs_.push_back(AddNode({.operation = Operation::kActionInput, .name = std::string(name)}));
  return inputs_.back();
}

Graph::Value Graph::Columns(Value x, int64_t begin, int64_t size) {
  return AddNode(
      {.operation = Operation::kColumns, .inputs = {x}, .shape = {size}, .begin = begin});
}

Graph::Value Graph::Reshape(Value x, std::vector<int64_t> shape) {
  assert(Entries(shape) == Entries(ShapeOf(x)));
  return AddNode({.operation = Operation::kReshape, .inputs = {x}, .shape = std::move(shape)});
}

Graph::Value Graph::Select(Value x, int64_t axis, int64_t entry) {
  std::vector<int64_t> shape = ShapeOf(x);
  shape.erase(shape.begin() + axis - 1);
  return AddNode({.operation = Operation::kSelect,
                  .inputs = {x},
                  .shape = std::move(shape),
                  .axis = axis,
                  .begin = entry});
}

Graph::Value Graph::InsertAxis(Value x, int64_t axis) {
  std::vector<int64_t> shape = ShapeOf(x);
  shape.insert(shape.begin() + axis - 1, 1);
  return AddNode({.operation = Operation::kInsertAxis,
                  .inputs = {x},
                  .shape = std::move(shape),
                  .axis = axis});
}

Graph::Value Graph::Concat(std::vector<Value> parts, int64_t axis) {
  std::vector<int64_t> shape = ShapeOf(parts[0]);
  int64_t& size = shape[axis - 1];
  size = 0;
  for (const Value part : parts) size += ShapeOf(part)[axis - 1];
  return AddNode({.operation = Operation::kConcat,
                  .inputs = std::move(parts),
                  .shape = std::move(shape),
                  .axis = axis});
}

Graph::Value Graph::Shift(Value x, int64_t entries) {
  assert(entries == 1 || entries == -1);
  const Value shifted = AddSameShape(Operation::kShift, {x});
  nodes_.back().begin = entries;
  return shifted;
}

Graph::Value Graph::OneHot(Value action, int64_t actions) {
  return AddNode({.operation = Operation::kOneHot, .inputs = {action}, .shape = {actions}});
}

Graph::Value Graph::Linear(Value x, absl::string_view layer, int64_t outputs, bool has_bias) {
  std::vector<int64_t> shape = ShapeOf(x);
  const int64_t inputs = shape.back();
  layers_.push_back({.name = absl::StrCat(name_, layer),
                     .inputs = inputs,
                     .outputs = outputs,
                     .has_bias = has_bias,
                     .rows = Entries(shape) / inputs});
  shape.back() = outputs;
  return AddNode({.operation = Operation::kLinear,
                  .inputs = {x},
                  .shape = std::move(shape),
                  .name = layers_.back().name});
}

Graph::Value Graph::Relu(Value x) { return AddSameShape(Operation::kRelu, {x}); }

Graph::Value Graph::Add(Value a, Value b) {
  assert(ShapeOf(a) == ShapeOf(b));
  return AddSameShape(Operation::kAdd, {a, b});
}

Graph::Value Graph::Affine(Value x, double factor, double offset) {
  const Value result = AddSameShape(Operation::kAffine, {x});
  nodes_.back().factor = factor;
  nodes_.back().offset = offset;
  return result;
}

Graph::Value Graph::Softmax(Value x) { return AddSameShape(Operation::kSoftmax, {x}); }

Graph::Value Graph::Scores(Value a, Value b, Value c) {
  assert(ShapeOf(b)[1] == ShapeOf(c)[1] && ShapeOf(a)[1] == ShapeOf(c)[0]);
  return AddNode({.operation = Operation::kScores,
                  .inputs = {a, b, c},
                  .shape = {ShapeOf(b)[0], ShapeOf(c)[0]}});
}

Graph::Value Graph::Product(Value a, Value b) {
  assert(ShapeOf(a)[1] == ShapeOf(b)[0]);
  return AddNode({.operation = Operation::kProduct,
                  .inputs = {a, b},
                  .shape = {ShapeOf(a)[0], ShapeOf(b)[1]}});
}

Graph::Value Graph::Normalize(Value x) { return AddSameShape(Operation::kNormalize, {x}); }

Graph::Value Graph::Flatten(Value x) { return Reshape(x, {Entries(ShapeOf(x))}); }

void Graph::AddOutput(absl::string_view name, Value value, absl::string_view number) {
  outputs_.push_back({std::string(name), value, std::string(number)});
}

}  // namespace mallocmuzero
