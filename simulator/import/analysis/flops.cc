// Counts floating-point operations as XLA does: HloCostAnalysis::HandleElementwiseOp, GetDotFlops,
// GetConvolutionFlops, HandleReduce, HandleReduceWindow.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "simulator/hlo/shape_parser.h"
#include "simulator/import/analysis/dataflow.h"
#include "simulator/import/analysis/max_looks.h"
#include "simulator/import/analysis/traffic.h"

namespace mallocmuzero {
namespace {

using hlo::Opcode;

// Bounds the work for one instruction. Without bounds, nested fusions that call others several
// times, and windows of many dimensions, would take practically forever.
struct Budget {
  int looks = kMaxLooks;
  // Most (output, window) positions tried one by one. In a dimension with more positions than
  // remain, padding is ignored.
  int64_t positions = 1 << 20;

  // Flops of instructions with attributes, which may be long. Nested fusions may come to one of
  // them again and again.
  absl::flat_hash_map<const hlo::Instruction*, double> known_flops;
};

// No array is longer. With this bound, products with a position stay below 2^61.
constexpr int64_t kMaxWindowField = int64_t{1} << 40;

struct WindowDimension {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t pad_low = 0;
  int64_t window_dilation = 1;
  int64_t base_dilation = 1;
};

// Splits "3x3" of the field `name` in `{size=3x3 stride=2x2 pad=1_1x1_1}`; empty if the field is
// missing.
std::vector<absl::string_view> WindowField(absl::string_view window, absl::string_view name) {
  absl::ConsumePrefix(&window, "{");
  absl::ConsumeSuffix(&window, "}");
  for (absl::string_view field : absl::StrSplit(window, ' ', absl::SkipEmpty())) {
    if (absl::ConsumePrefix(&field, name) && absl::ConsumePrefix(&field, "=")) {
      return absl::StrSplit(field, 'x');
    }
  }
  return {};
}

int64_t NumberOr(absl::string_view text, int64_t fallback) {
  int64_t number;
  return absl::SimpleAtoi(text, &number) ? number : fallback;
}

// Dimensions beyond the most that a shape may have are dropped. Fields are clamped to
// kMaxWindowField.
std::vector<WindowDimension> ParseWindow(absl::string_view window) {
  const size_t rank = WindowField(window, "size").size();
  std::vector<WindowDimension> dimensions(std::min<size_t>(rank, hlo::kMaxRank));
  const auto fill = [&](absl::string_view name, int64_t WindowDimension::*field, int64_t fallback) {
    const auto parts = WindowField(window, name);
    for (size_t i = 0; i < parts.size() && i < dimensions.size(); ++i) {
      const absl::string_view first = *absl::StrSplit(parts[i], '_').begin();
      dimensions[i].*field =
          std::clamp(NumberOr(first, fallback), -kMaxWindowField, kMaxWindowField);
    }
  };
  fill("size", &WindowDimension::size, 1);
  fill("stride", &WindowDimension::stride, 1);
  fill("pad", &WindowDimension::pad_low, 0);
  fill("rhs_dilate", &WindowDimension::window_dilation, 1);
  fill("lhs_dilate", &WindowDimension::base_dilation, 1);
  return dimensions;
}

// Number of (output position, window position) pairs of one dimension that hit an element of the
// input instead of padding or a hole of the dilation.
double ValidPositions(const WindowDimension& window, int64_t input, int64_t output,
                      Budget& budget) {
  if (window.size <= 0 || output <= 0) return 0;
  if (window.size > budget.positions / output) {
    return static_cast<double>(window.size) * static_cast<double>(output);
  }
  budget.positions -= window.size * output;
  int64_t valid = 0;
  for (int64_t out = 0; out < output; ++out) {
    for (int64_t tap = 0; tap < window.size; ++tap) {
      const int64_t at = out * window.stride - window.pad_low + tap * window.window_dilation;
      if (at < 0 || at % std::max<int64_t>(window.base_dilation, 1) != 0) continue;
      if (at / std::max<int64_t>(window.base_dilation, 1) < input) ++valid;
    }
  }
  return static_cast<double>(valid);
}

int64_t Dimension(const hlo::Shape& shape, size_t index) {
  return index < shape.dims.size() ? shape.dims[index] : 1;
}

// The text dim_labels=b01f_01io->b01f says which dimension of the operand, of the kernel and of the
// result is the batch, the features or a spatial dimension.
double ConvolutionFlops(const hlo::Computation& computation, const hlo::Instruction& conv,
                        Budget& budget) {
  if (conv.operands.size() < 2) return 0;
  const hlo::Shape& lhs = computation.instructions[conv.operands[0]].shape;
  const hlo::Shape& rhs = computation.instructions[conv.operands[1]].shape;
  const std::string labels(conv.FindAttribute("dim_labels"));
  const std::vector<std::string> parts = absl::StrSplit(labels, absl::ByAnyChar("_>"));
  if (parts.size() != 3) return 0;
  const std::string& output_labels = parts[2];
  const std::string kernel_labels(absl::StripSuffix(parts[1], "-"));

  double positions = 1;
  const std::vector<WindowDimension> window = ParseWindow(conv.FindAttribute("window"));
  for (size_t i = 0; i < window.size(); ++i) {
    const char label = '0' + i;
    positions *= ValidPositions(window[i], Dimension(lhs, parts[0].find(label)),
                                Dimension(conv.shape, output_labels.find(label)), budget);
  }
  // The result's batch is already that of one group, and so are the kernel's input features.
  const auto batch = static_cast<double>(Dimension(conv.shape, output_labels.find('b')));
  const auto features = static_cast<double>(Dimension(conv.shape, output_labels.find('f')));
  const auto inputs = static_cast<double>(Dimension(rhs, kernel_labels.find('i')));
  return 2 * positions * batch * features * inputs;
}

double DotFlops(const hlo::Computation& computation, const hlo::Instruction& dot) {
  if (dot.operands.empty()) return 0;
  const hlo::Shape& lhs = computation.instructions[dot.operands[0]].shape;
  absl::string_view dims = dot.FindAttribute("lhs_contracting_dims");
  absl::ConsumePrefix(&dims, "{");
  absl::ConsumeSuffix(&dims, "}");
  double flops = 2 * static_cast<double>(hlo::ElementCount(dot.shape));
  for (absl::string_view dim : absl::StrSplit(dims, ',', absl::SkipEmpty())) {
    flops *= static_cast<double>(Dimension(lhs, NumberOr(dim, INT32_MAX)));
  }
  return flops;
}

double ReduceWindowFlops(const hlo::Instruction& reduce) {
  double taps = 1;
  for (const WindowDimension& dim : ParseWindow(reduce.FindAttribute("window"))) {
    taps *= static_cast<double>(dim.size);
  }
  return static_cast<double>(hlo::ElementCount(reduce.shape)) * std::max(0.0, taps - 1);
}

// Flops of an instruction whose attributes say how much it computes for an element of its result.
double FlopsOfAttributes(const hlo::Computation& computation, const hlo::Instruction& instruction,
                         Budget& budget) {
  const auto [known, is_new] = budget.known_flops.try_emplace(&instruction);
  if (is_new) {
    known->second = instruction.opcode == Opcode::kConvolution
                        ? ConvolutionFlops(computation, instruction, budget)
                    : instruction.opcode == Opcode::kDot ? DotFlops(computation, instruction)
                                                         : ReduceWindowFlops(instruction);
  }
  return known->second;
}

// True if the instruction takes one operation for each element of its result.
bool IsElementwise(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kSubtract:
    case Opcode::kMultiply:
    case Opcode::kDivide:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kNegate:
    case Opcode::kAbs:
    case Opcode::kCompare:
    case Opcode::kSelect:
    case Opcode::kClamp:
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
    case Opcode::kConvert:
    case Opcode::kExp:
    case Opcode::kLog:
    case Opcode::kTanh:
    case Opcode::kRsqrt:
    case Opcode::kSqrt:
    case Opcode::kPower:
    case Opcode::kLogistic:
      return true;
    default:
      return false;
  }
}

double Flops(const hlo::Module& module, const hlo::Computation& computation,
             const hlo::Instruction& instruction, int depth, Budget& budget) {
  const auto result = static_cast<double>(hlo::ElementCount(instruction.shape));
  switch (instruction.opcode) {
    case Opcode::kConvolution:
    case Opcode::kDot:
    case Opcode::kReduceWindow:
      return FlopsOfAttributes(computation, instruction, budget);
    case Opcode::kFusion: {
      const auto called = instruction.Called(hlo::CallRole::kCalls);
      if (!called || depth >= kMaxFusionDepth) return 0;
      const hlo::Computation& fused = module.computations[*called];
      double flops = 0;
      for (const hlo::Instruction& inner : fused.instructions) {
        if (--budget.looks < 0) break;
        flops += Flops(module, fused, inner, depth + 1, budget);
      }
      return flops;
    }
    case Opcode::kCustomCall:
      return static_cast<double>(instruction.kernel_flops.value_or(0));
    case Opcode::kReduce: {
      if (instruction.operands.empty()) return 0;
      const hlo::Shape& input = computation.instructions[instruction.operands[0]].shape;
      return std::max(0.0, static_cast<double>(hlo::ElementCount(input)) - result);
    }
    default:
      return IsElementwise(instruction.opcode) ? result : 0;
  }
}

}  // namespace

double CountFlops(const hlo::Module& module, const hlo::Computation& computation,
                  const hlo::Instruction& instruction) {
  Budget budget;
  return Flops(module, computation, instruction, 0, budget);
}

}  // namespace mallocmuzero
