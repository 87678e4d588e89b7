#include "model/export/onnx_graph.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "build_info.h"
#include "onnx/onnx.pb.h"

namespace mallocmuzero {
namespace {

using Operation = Graph::Operation;

// Adds the operators of a graph to an ONNX graph. Values are named by the graph's inputs and
// outputs, or else by their number.
class OnnxWriter {
 public:
  OnnxWriter(const Graph& graph, const NetworkWeights& weights, onnx::GraphProto& out)
      : graph_(graph), weights_(weights), out_(out) {
    names_.resize(graph.nodes().size());
    for (size_t n = 0; n < names_.size(); ++n) names_[n] = absl::StrCat("value_", n);
    for (const Graph::Value input : graph.inputs()) names_[input] = graph.nodes()[input].name;
    for (const Graph::Output& output : graph.outputs()) names_[output.value] = output.name;
  }

  void Write(const ValueCodec& codec);

 private:
  using Names = std::vector<std::string>;

  void WriteNode(size_t n);
  void WriteMove(const Graph::Node& node, const std::string& to);
  void WriteLinear(const Graph::Node& node, const std::string& to);
  void WriteScores(const Graph::Node& node, const std::string& to);
  void WriteNormalize(const Graph::Node& node, const std::string& to);
  void WriteAffine(const Graph::Node& node, const std::string& to);
  void WriteNumber(const Graph::Output& output, const ValueCodec& codec);

  const std::string& Input(const Graph::Node& node, size_t k = 0) const {
    return names_[node.inputs[k]];
  }

  // Adds an operator with one output; the caller sets its attributes.
  onnx::NodeProto& Add(absl::string_view op_type, const Names& inputs, const std::string& output) {
    onnx::NodeProto& node = *out_.add_node();
    node.set_op_type(std::string(op_type));
    node.set_name(absl::StrCat(output, "/", op_type));
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    return node;
  }

  // Constants, called `name`; each returns the name.
  std::string Integers(const std::string& name, absl::Span<const int64_t> numbers);
  std::string Floats(const std::string& name, absl::Span<const float> numbers,
                     absl::Span<const int64_t> shape);
  std::string Float(const std::string& name, double number) {
    return Floats(name, {static_cast<float>(number)}, {});
  }

  const Graph& graph_;
  const NetworkWeights& weights_;
  onnx::GraphProto& out_;
  Names names_;
};

void SetAttribute(onnx::NodeProto& node, const std::string& name, int64_t number) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(number);
}

void SetAttribute(onnx::NodeProto& node, const std::string& name, float number) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(number);
}

void SetAttribute(onnx::NodeProto& node, const std::string& name,
                  absl::Span<const int64_t> numbers) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const int64_t number : numbers) attribute.add_ints(number);
}

// An input or output [batch, shape...].
void Declare(onnx::ValueInfoProto& info, const std::string& name, int32_t type,
             absl::Span<const int64_t> shape) {
  info.set_name(name);
  onnx::TypeProto::Tensor& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape()->add_dim()->set_dim_param("batch");
  for (const int64_t size : shape) tensor.mutable_shape()->add_dim()->set_dim_value(size);
}

std::string OnnxWriter::Integers(const std::string& name, absl::Span<const int64_t> numbers) {
  onnx::TensorProto& tensor = *out_.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(numbers.size());
  for (const int64_t number : numbers) tensor.add_int64_data(number);
  return name;
}

std::string OnnxWriter::Floats(const std::string& name, absl::Span<const float> numbers,
                               absl::Span<const int64_t> shape) {
  onnx::TensorProto& tensor = *out_.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t size : shape) tensor.add_dims(size);
  std::string bytes(numbers.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  tensor.set_raw_data(std::move(bytes));
  return name;
}

void OnnxWriter::Write(const ValueCodec& codec) {
  for (const Graph::Value input : graph_.inputs()) {
    const Graph::Node& node = graph_.nodes()[input];
    const bool is_action = node.operation == Operation::kActionInput;
    Declare(*out_.add_input(), node.name,
            is_action ? onnx::TensorProto::INT64 : onnx::TensorProto::FLOAT, node.shape);
  }
  for (size_t n = 0; n < graph_.nodes().size(); ++n) WriteNode(n);
  for (const Graph::Output& output : graph_.outputs()) {
    Declare(*out_.add_output(), output.name, onnx::TensorProto::FLOAT,
            graph_.ShapeOf(output.value));
    if (output.number.empty()) continue;
    WriteNumber(output, codec);
    Declare(*out_.add_output(), output.number, onnx::TensorProto::FLOAT, {});
  }
}

void OnnxWriter::WriteNode(size_t n) {
  const Graph::Node& node = graph_.nodes()[n];
  const std::string& to = names_[n];
  switch (node.operation) {
    case Operation::kInput:
    case Operation::kActionInput:
      return;
    case Operation::kColumns:
    case Operation::kReshape:
    case Operation::kSelect:
    case Operation::kInsertAxis:
    case Operation::kConcat:
    case Operation::kShift:
      WriteMove(node, to);
      return;
    case Operation::kOneHot:
      Add("OneHot",
          {Input(node), Integers(to + "/actions", node.shape), Floats(to + "/off_on", {0, 1}, {2})},
          to);
      return;
    case Operation::kLinear:
      WriteLinear(node, to);
      return;
    case Operation::kRelu:
      Add("Relu", {Input(node)}, to);
      return;
    case Operation::kAdd:
      Add("Add", {Input(node, 0), Input(node, 1)}, to);
      return;
    case Operation::kAffine:
      WriteAffine(node, to);
      return;
    case Operation::kSoftmax:
      SetAttribute(Add("Softmax", {Input(node)}, to), "axis", int64_t{-1});
      return;
    case Operation::kScores:
      WriteScores(node, to);
      return;
    case Operation::kProduct:
      Add("MatMul", {Input(node, 0), Input(node, 1)}, to);
      return;
    case Operation::kNormalize:
      WriteNormalize(node, to);
      return;
  }
}

// Operations that only move numbers.
void OnnxWriter::WriteMove(const Graph::Node& node, const std::string& to) {
  if (node.operation == Operation::kColumns) {
    Add("Slice",
        {Input(node), Integers(to + "/starts", {node.begin}),
         Integers(to + "/ends", {node.begin + node.shape[0]}), Integers(to + "/axes", {1})},
        to);
  } else if (node.operation == Operation::kReshape) {
    std::vector<int64_t> shape = {0};  // 0: as in the input
    shape.insert(shape.end(), node.shape.begin(), node.shape.end());
    Add("Reshape", {Input(node), Integers(to + "/shape", shape)}, to);
  } else if (node.operation == Operation::kSelect) {
    onnx::TensorProto& entry = *out_.add_initializer();  // a scalar removes the axis
    entry.set_name(to + "/entry");
    entry.set_data_type(onnx::TensorProto::INT64);
    entry.add_int64_data(node.begin);
    SetAttribute(Add("Gather", {Input(node), to + "/entry"}, to), "axis", node.axis);
  } else if (node.operation == Operation::kInsertAxis) {
    Add("Unsqueeze", {Input(node), Integers(to + "/axes", {node.axis})}, to);
  } else if (node.operation == Operation::kConcat) {
    Names parts;
    for (size_t k = 0; k < node.inputs.size(); ++k) parts.push_back(Input(node, k));
    SetAttribute(Add("Concat", parts, to), "axis", node.axis);
  } else {
    // kShift. A negative number removes entries at that end.
    Add("Pad", {Input(node), Integers(to + "/pads", {0, node.begin, 0, 0, -node.begin, 0})}, to);
  }
}

void OnnxWriter::WriteNormalize(const Graph::Node& node, const std::string& to) {
  const std::vector<float> ones(node.shape.back(), 1.0F);
  onnx::NodeProto& layer_norm =
      Add("LayerNormalization", {Input(node), Floats(to + "/ones", ones, {node.shape.back()})}, to);
  SetAttribute(layer_norm, "axis", int64_t{-1});
  SetAttribute(layer_norm, "epsilon", static_cast<float>(Graph::kEpsilon));
}

void OnnxWriter::WriteLinear(const Graph::Node& node, const std::string& to) {
  const bool has_bias = graph_.LayerOf(node).has_bias;
  Names suffixes = {".weight"};
  if (has_bias) suffixes.emplace_back(".bias");
  for (const std::string& suffix : suffixes) {
    const NamedTensor& weight = weights_[node.name + suffix];
    onnx::TensorProto& tensor = *out_.add_initializer();
    tensor.set_name(weight.name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    for (const int64_t size : weight.shape) tensor.add_dims(size);
    tensor.set_raw_data(weight.bytes);
  }
  // Runtimes transpose constants when they load the model.
  const std::string transposed = to + "/transposed";
  const std::string product = has_bias ? to + "/product" : to;
  SetAttribute(Add("Transpose", {node.name + ".weight"}, transposed), "perm",
               absl::Span<const int64_t>({1, 0}));
  Add("MatMul", {Input(node), transposed}, product);
  if (has_bias) Add("Add", {product, node.name + ".bias"}, to);
}

void OnnxWriter::WriteScores(const Graph::Node& node, const std::string& to) {
  const std::string transposed = to + "/transposed";
  SetAttribute(Add("Transpose", {Input(node, 2)}, transposed), "perm",
               absl::Span<const int64_t>({0, 2, 1}));
  Add("MatMul", {Input(node, 1), transposed}, to + "/product");
  Add("Add", {to + "/product", Input(node, 0)}, to);
}

void OnnxWriter::WriteAffine(const Graph::Node& node, const std::string& to) {
  const std::string product = node.offset == 0 ? to : to + "/product";
  Add("Mul", {Input(node), Float(to + "/factor", node.factor)}, product);
  if (node.offset != 0) Add("Add", {product, Float(to + "/offset", node.offset)}, to);
}

// The expectation z of the bins' positions, and sign(z) resolution (exp(|z|) - 1); see ValueCodec.
void OnnxWriter::WriteNumber(const Graph::Output& output, const ValueCodec& codec) {
  const std::string& to = output.number;
  const std::vector<float> centers(codec.centers().begin(), codec.centers().end());
  SetAttribute(Add("Softmax", {output.name}, to + "/shares"), "axis", int64_t{-1});
  Add("MatMul", {to + "/shares", Floats(to + "/centers", centers, {std::ssize(centers)})},
      to + "/position");
  Add("Abs", {to + "/position"}, to + "/distance");
  Add("Exp", {to + "/distance"}, to + "/exp");
  Add("Sub", {to + "/exp", Float(to + "/one", 1)}, to + "/exp_minus_one");
  Add("Mul", {to + "/exp_minus_one", Float(to + "/resolution", codec.resolution())},
      to + "/absolute");
  Add("Sign", {to + "/position"}, to + "/sign");
  Add("Mul", {to + "/absolute", to + "/sign"}, to);
}

}  // namespace

absl::StatusOr<std::string> OnnxModel(const Graph& graph, const NetworkWeights& weights,
                                      const ValueCodec& codec) {
  MMZ_RETURN_IF_ERROR(CheckFileHasRoom(graph));
  onnx::ModelProto model;
  model.set_ir_version(kOnnxIrVersion);
  model.set_producer_name("mallocmuzero");
  model.set_producer_version(kVersion);
  onnx::OperatorSetIdProto& opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(kOnnxOpset);
  onnx::GraphProto& out = *model.mutable_graph();
  out.set_name(std::string(absl::StripSuffix(graph.name(), ".")));
  OnnxWriter(graph, weights, out).Write(codec);
  const uint64_t bytes = model.ByteSizeLong();
  if (bytes <= std::numeric_limits<int32_t>::max()) return model.SerializeAsString();
  return absl::OutOfRangeError(absl::StrCat("network ", out.name(), " takes ", bytes,
                                            " bytes as ONNX, which has room for 2 GiB"));
}

}  // namespace mallocmuzero
