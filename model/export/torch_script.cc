#include "model/export/torch_script.h"

// ivalue.h comes first, as in model/modules.h.
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>

#include <cstdint>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "model/modules.h"
#include "model/torch_errors.h"

namespace mallocmuzero {
namespace {

using Operation = Graph::Operation;

// The name of a weight among the module's attributes, which must be an identifier of Python.
std::string AttributeName(const Graph& graph, absl::string_view weight) {
  return absl::StrReplaceAll(absl::StripPrefix(weight, graph.name()), {{".", "_"}});
}

// A floating-point number of Python that has the value of `number`.
std::string PythonFloat(double number) { return absl::StrFormat("%.17e", number); }

// The expressions of a graph's operations in Python.
class PythonWriter {
 public:
  explicit PythonWriter(const Graph& graph) : graph_(graph) {}

  std::string NameOf(Graph::Value value) const {
    const Graph::Node& node = graph_.nodes()[value];
    const bool is_input =
        node.operation == Operation::kInput || node.operation == Operation::kActionInput;
    return is_input ? node.name : absl::StrCat("value_", value);
  }

  std::string Expression(const Graph::Node& node) const;

 private:
  std::string LinearExpression(const Graph::Node& node) const;
  std::string AffineExpression(const Graph::Node& node) const;

  const Graph& graph_;
};

std::string PythonWriter::LinearExpression(const Graph::Node& node) const {
  const auto attribute = [&](absl::string_view suffix) {
    return absl::StrCat("self.", AttributeName(graph_, absl::StrCat(node.name, suffix)));
  };
  return absl::StrCat("torch.linear(", NameOf(node.inputs[0]), ", ", attribute(".weight"), ", ",
                      graph_.LayerOf(node).has_bias ? attribute(".bias") : "None", ")");
}

std::string PythonWriter::AffineExpression(const Graph::Node& node) const {
  const std::string product = absl::StrCat(NameOf(node.inputs[0]), " * ", PythonFloat(node.factor));
  return node.offset == 0 ? product : absl::StrCat(product, " + ", PythonFloat(node.offset));
}

std::string PythonWriter::Expression(const Graph::Node& node) const {
  std::vector<std::string> in;
  for (const Graph::Value input : node.inputs) in.push_back(NameOf(input));
  switch (node.operation) {
    case Operation::kInput:
    case Operation::kActionInput:
      break;  // arguments
    case Operation::kColumns:
      return absl::StrCat("torch.narrow(", in[0], ", 1, ", node.begin, ", ", node.shape[0], ")");
    case Operation::kReshape:
      return absl::StrCat("torch.reshape(", in[0], ", [-1, ", absl::StrJoin(node.shape, ", "),
                          "])");
    case Operation::kSelect:
      return absl::StrCat("torch.select(", in[0], ", ", node.axis, ", ", node.begin, ")");
    case Operation::kInsertAxis:
      return absl::StrCat("torch.unsqueeze(", in[0], ", ", node.axis, ")");
    case Operation::kConcat:
      return absl::StrCat("torch.cat([", absl::StrJoin(in, ", "), "], ", node.axis, ")");
    case Operation::kShift:
      // A negative number removes entries at that end.
      return absl::StrCat("torch.constant_pad_nd(", in[0], ", [0, 0, ", node.begin, ", ",
                          -node.begin, "], 0)");
    case Operation::kOneHot:
      // The product with a float makes floats of the integers.
      return absl::StrCat("torch.one_hot(", in[0], ", ", node.shape[0], ") * 1.0");
    case Operation::kLinear:
      return LinearExpression(node);
    case Operation::kRelu:
      return absl::StrCat("torch.relu(", in[0], ")");
    case Operation::kAdd:
      return absl::StrCat(in[0], " + ", in[1]);
    case Operation::kAffine:
      return AffineExpression(node);
    case Operation::kSoftmax:
      return absl::StrCat("torch.softmax(", in[0], ", -1)");
    case Operation::kScores:
      return absl::StrCat("torch.baddbmm(", in[0], ", ", in[1], ", torch.transpose(", in[2],
                          ", 1, 2))");
    case Operation::kProduct:
      return absl::StrCat("torch.bmm(", in[0], ", ", in[1], ")");
    case Operation::kNormalize:
      return absl::StrCat("torch.layer_norm(", in[0], ", [", node.shape.back(), "], None, None, ",
                          PythonFloat(Graph::kEpsilon), ")");
  }
  return "";
}

}  // namespace

std::string TorchScriptSource(const Graph& graph, const ValueCodec& codec) {
  const PythonWriter writer(graph);
  std::string source = "def forward(self";
  for (const Graph::Value input : graph.inputs()) {
    absl::StrAppend(&source, ", ", writer.NameOf(input), ": Tensor");
  }
  absl::StrAppend(&source, "):\n");
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const std::string expression = writer.Expression(graph.nodes()[n]);
    if (expression.empty()) continue;
    absl::StrAppend(&source, "    ", writer.NameOf(n), " = ", expression, "\n");
  }
  std::vector<std::string> results;
  for (const Graph::Output& output : graph.outputs()) {
    results.push_back(writer.NameOf(output.value));
    if (output.number.empty()) continue;
    // The formula of ValueCodec.
    absl::StrAppend(&source, "    ", output.number, "_position = torch.matmul(torch.softmax(",
                    results.back(), ", -1), self.centers)\n");
    absl::StrAppend(&source, "    ", output.number, " = torch.sign(", output.number,
                    "_position) * torch.expm1(torch.abs(", output.number, "_position)) * ",
                    PythonFloat(codec.resolution()), "\n");
    results.push_back(output.number);
  }
  absl::StrAppend(&source, "    return (", absl::StrJoin(results, ", "), ",)\n");
  return source;
}

absl::StatusOr<std::string> TorchScriptModule(const Graph& graph, const NetworkWeights& weights,
                                              const ValueCodec& codec) {
  MMZ_RETURN_IF_ERROR(CheckFileHasRoom(graph));
  try {
    torch::jit::Module module(std::string(absl::StripSuffix(graph.name(), ".")));
    for (const LinearLayer& layer : graph.layers()) {
      for (const char* suffix : {".weight", ".bias"}) {
        if (!layer.has_bias && absl::string_view(suffix) == ".bias") continue;
        const std::string name = absl::StrCat(layer.name, suffix);
        module.register_parameter(AttributeName(graph, name), ToTorch(weights[name]),
                                  /*is_buffer=*/false);
      }
    }
    const std::vector<float> centers(codec.centers().begin(), codec.centers().end());
    module.register_buffer("centers", torch::tensor(centers));
    module.define(TorchScriptSource(graph, codec));
    module.eval();
    std::ostringstream file;
    module.save(file);
    return file.str();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("LibTorch cannot make the module of network ",
                                            absl::StripSuffix(graph.name(), "."), ": ",
                                            FirstLine(error)));
  }
}

}  // namespace mallocmuzero
