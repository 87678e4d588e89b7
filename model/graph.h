// A network as a list of operations. LibTorch modules evaluate this list, and exports are written
// from it.

#ifndef MALLOCMUZERO_MODEL_GRAPH_H_
#define MALLOCMUZERO_MODEL_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace mallocmuzero {

// A layer that multiplies by a matrix: weight [outputs, inputs] and bias [outputs], called
// <name>.weight and <name>.bias.
struct LinearLayer {
  std::string name;
  int64_t inputs = 0;
  int64_t outputs = 0;
  bool has_bias = true;

  // Rows that it is applied to for one latent state.
  int64_t rows = 1;

  uint64_t Parameters() const { return outputs * (inputs + (has_bias ? 1 : 0)); }
  uint64_t Multiplications() const { return rows * inputs * outputs; }
};

// The operations of one network, in an order in which they can be evaluated. Axis 0 of every value
// is the batch; shapes leave it out. Values are float32, except that of kActionInput.
class Graph {
 public:
  enum class Operation : uint8_t {
    kInput,        // floats that the caller gives
    kActionInput,  // int64 that the caller gives: an action of each row
    kColumns,      // entries [begin, begin + size) of axis 1, where size is that of the result
    kReshape,      // the same numbers in another shape
    kSelect,       // entry `begin` of `axis`, which the result does not have
    kInsertAxis,   // another axis of size 1 at `axis`
    kConcat,       // all inputs, one after the other along `axis`
    kShift,   // axis 1 moved by `begin` entries, 1 or -1: entry k moves to k + begin; zeros move in
    kOneHot,  // 1 at the entry of the action, 0 elsewhere
    kLinear,  // x weight^T + bias of the layer `name`, over the last axis
    kRelu,    // max(x, 0)
    kAdd,     // a + b
    kAffine,  // factor x + offset
    kSoftmax,    // over the last axis
    kScores,     // a + b c^T: a [1, m], b [n, k], c [m, k]
    kProduct,    // a b: a [n, m], b [m, k]
    kNormalize,  // (x - mean) / sqrt(variance + kEpsilon), both over the last axis
  };

  // Of kNormalize.
  static constexpr double kEpsilon = 1e-5;

  // The place of a value among nodes().
  using Value = size_t;

  struct Node {
    Operation operation = Operation::kInput;
    std::vector<Value> inputs;   // earlier nodes
    std::vector<int64_t> shape;  // of the result
    std::string name;            // of the input or the layer
    int64_t axis = 0;
    int64_t begin = 0;
    double factor = 1;
    double offset = 0;
  };

  struct Output {
    std::string name;
    Value value = 0;

    // If `value` has the logits of a distribution over the bins of ValueCodec: the name of the
    // number that it expresses. Empty for other outputs.
    std::string number;
  };

  // `name` ends with a dot; the names of the network's layers begin with it.
  explicit Graph(absl::string_view name) : name_(name) {}

  const std::string& name() const { return name_; }
  absl::Span<const Node> nodes() const { return nodes_; }
  absl::Span<const Value> inputs() const { return inputs_; }
  absl::Span<const Output> outputs() const { return outputs_; }

  // In the order of their nodes.
  absl::Span<const LinearLayer> layers() const { return layers_; }

  // The layer of a kLinear node.
  const LinearLayer& LayerOf(const Node& node) const;

  // Multiplications of all layers, and of the products of values, for one latent state.
  uint64_t Multiplications() const;

  const std::vector<int64_t>& ShapeOf(Value value) const { return nodes_[value].shape; }

  // Each of these adds one operation and returns its result.
  Value Input(absl::string_view name, int64_t size);
  Value ActionInput(absl::string_view name);
  Value Columns(Value x, int64_t begin, int64_t size);
  Value Reshape(Value x, std::vector<int64_t> shape);
  Value Select(Value x, int64_t axis, int64_t entry);
  Value InsertAxis(Value x, int64_t axis);
  Value Concat(std::vector<Value> parts, int64_t axis);
  Value Shift(Value x, int64_t entries);
  Value OneHot(Value action, int64_t actions);
  Value Linear(Value x, absl::string_view layer, int64_t outputs, bool has_bias = true);
  Value Relu(Value x);
  Value Add(Value a, Value b);
  Value Affine(Value x, double factor, double offset);
  Value Softmax(Value x);
  Value Scores(Value a, Value b, Value c);
  Value Product(Value a, Value b);
  Value Normalize(Value x);

  // Adds operations that make one row of all entries.
  Value Flatten(Value x);

  void AddOutput(absl::string_view name, Value value, absl::string_view number = "");

 private:
  Value AddNode(Node node);

  // An operation on `x` whose result has the shape of `x`.
  Value AddSameShape(Operation operation, std::vector<Value> inputs);

  std::string name_;
  std::vector<Node> nodes_;
  std::vector<Value> inputs_;
  std::vector<Output> outputs_;
  std::vector<LinearLayer> layers_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_GRAPH_H_
