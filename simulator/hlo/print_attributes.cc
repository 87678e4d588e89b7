#include "simulator/hlo/print_attributes.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/base/casts.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "simulator/hlo/lexer.h"
#include "simulator/hlo/opcode.h"
#include "simulator/hlo/print_groups.h"
#include "simulator/hlo/print_numbers.h"
#include "simulator/hlo/shape_from_proto.h"

namespace mallocmuzero::hlo {
namespace {

using xla::HloInstructionProto;

// The name with that number. Numbers that are too large give the last name.
template <size_t n>
absl::string_view NameOf(const std::array<absl::string_view, n>& names, int32_t number) {
  return number >= 0 && number < n ? names[number] : names.back();
}

constexpr std::array<absl::string_view, 4> kFftTypes = {"FFT", "IFFT", "RFFT", "IRFFT"};
constexpr std::array<absl::string_view, 3> kDistributions = {"rng_invalid", "rng_uniform",
                                                             "rng_normal"};
constexpr std::array<absl::string_view, 3> kAlgorithms = {"rng_default", "rng_three_fry",
                                                          "rng_philox"};
constexpr std::array<absl::string_view, 3> kPrecisions = {"default", "high", "highest"};
constexpr std::array<absl::string_view, 5> kApiVersions = {
    "API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};

bool IsLetter(char byte) { return absl::ascii_isalpha(byte); }

void AppendFlag(absl::string_view name, bool value, std::string& out) {
  if (value) absl::StrAppend(&out, ", ", name, "=true");
}

void AppendPrecision(const HloInstructionProto& instruction, std::string& out) {
  const auto& precisions = instruction.precision_config().operand_precision();
  if (std::all_of(precisions.begin(), precisions.end(), [](int32_t p) { return p == 0; })) return;
  absl::StrAppend(&out, ", operand_precision={",
                  absl::StrJoin(precisions, ",",
                                [](std::string* text, int32_t precision) {
                                  absl::StrAppend(text, NameOf(kPrecisions, precision));
                                }),
                  "}");
}

void AppendConvolution(const HloInstructionProto& instruction, std::string& out) {
  AppendWindow(instruction.window(), out);
  if (instruction.has_convolution_dimension_numbers()) {
    AppendDimLabels(instruction.convolution_dimension_numbers(), out);
  }
  if (instruction.feature_group_count() > 1) {
    absl::StrAppend(&out, ", feature_group_count=", instruction.feature_group_count());
  }
  if (instruction.batch_group_count() > 1) {
    absl::StrAppend(&out, ", batch_group_count=", instruction.batch_group_count());
  }
  AppendPrecision(instruction, out);
}

void AppendAliasing(const HloInstructionProto& instruction, std::string& out) {
  if (instruction.output_operand_aliasing().empty()) return;
  absl::StrAppend(&out, ", output_to_operand_aliasing={",
                  absl::StrJoin(instruction.output_operand_aliasing(), ", ",
                                [](std::string* text, const xla::OutputOperandAliasing& alias) {
                                  absl::StrAppend(
                                      text, "{", absl::StrJoin(alias.output_shape_index(), ","),
                                      "}: (", alias.operand_index(), ", {",
                                      absl::StrJoin(alias.operand_shape_index(), ","), "})");
                                }),
                  "}");
}

absl::Status AppendCustomCall(const HloInstructionProto& call, std::string& out) {
  AppendConvolution(call, out);
  absl::StrAppend(&out, ", custom_call_target=\"", absl::CEscape(call.custom_call_target()), "\"");
  if (call.constrain_layout()) {
    out.append(", operand_layout_constraints={");
    absl::string_view separator;
    for (const xla::ShapeProto& proto : call.operand_shapes_with_layout()) {
      const absl::StatusOr<Shape> shape = ShapeFromProto(proto);
      if (!shape.ok()) return shape.status();
      absl::StrAppend(&out, separator, ShapeToString(*shape));
      separator = ", ";
    }
    out.push_back('}');
  }
  AppendFlag("custom_call_has_side_effect", call.custom_call_has_side_effect(), out);
  AppendAliasing(call, out);
  if (call.custom_call_api_version() > 1) {
    absl::StrAppend(&out, ", api_version=", NameOf(kApiVersions, call.custom_call_api_version()));
  }
  return absl::OkStatus();
}

void AppendRandom(const HloInstructionProto& instruction, Opcode opcode, std::string& out) {
  if (opcode == Opcode::kRng) {
    absl::StrAppend(&out, ", distribution=", NameOf(kDistributions, instruction.distribution()));
  } else if (opcode == Opcode::kRngBitGenerator) {
    absl::StrAppend(&out, ", algorithm=", NameOf(kAlgorithms, instruction.rng_algorithm()));
  } else {
    absl::StrAppend(&out, ", delta=", instruction.delta());
  }
}

void AppendCompare(const HloInstructionProto& compare, std::string& out) {
  // The text comes from outside: only letters are printed, so that the parser reads them as one
  // value.
  const std::string& direction = compare.comparison_direction();
  if (std::all_of(direction.begin(), direction.end(), IsLetter) && !direction.empty()) {
    absl::StrAppend(&out, ", direction=", direction);
  }
  if (compare.comparison_type() == "TOTALORDER") out.append(", type=TOTALORDER");
}

void AppendFusionKind(const HloInstructionProto& fusion, std::string& out) {
  const std::string& kind = fusion.fusion_kind();
  if (std::all_of(kind.begin(), kind.end(), IsLetter) && !kind.empty()) {
    absl::StrAppend(&out, ", kind=", kind);
  }
  AppendAliasing(fusion, out);
}

// Appends the attributes of operations that communicate between chips.
absl::Status AppendCollective(const HloInstructionProto& instruction, std::string& out) {
  if (instruction.channel_id() > 0) {
    absl::StrAppend(&out, ", channel_id=", instruction.channel_id());
  }
  absl::Status status = AppendReplicaGroups(instruction, out);
  if (!status.ok()) return status;
  AppendSourceTargetPairs(instruction, out);
  AppendFlag("is_host_transfer", instruction.is_host_transfer(), out);
  AppendAnyNumbers("dimensions", instruction.dimensions(), out);
  AppendFlag("use_global_device_ids", instruction.use_global_device_ids(), out);
  return absl::OkStatus();
}

// Appends the flags of gather and scatter that XLA prints behind their dimension numbers.
void AppendPromises(const HloInstructionProto& instruction, std::string& out) {
  AppendFlag("indices_are_sorted", instruction.indices_are_sorted(), out);
  AppendFlag("unique_indices", instruction.unique_indices(), out);
}

// Appends attributes that consist of dimension numbers. Returns false for an instruction that has
// none.
bool AppendDimensions(const HloInstructionProto& instruction, Opcode opcode, std::string& out) {
  switch (opcode) {
    case Opcode::kBroadcast:
    case Opcode::kConcatenate:
    case Opcode::kGetDimensionSize:
    case Opcode::kMap:
    case Opcode::kReduce:
    case Opcode::kReverse:
    case Opcode::kSetDimensionSize:
    case Opcode::kTranspose:
      AppendNumbers("dimensions", instruction.dimensions(), out);
      break;
    case Opcode::kSort:
      AppendNumbers("dimensions", instruction.dimensions(), out);
      AppendFlag("is_stable", instruction.is_stable(), out);
      break;
    case Opcode::kIota:
      absl::StrAppend(&out, ", iota_dimension=",
                      instruction.dimensions().empty() ? 0 : instruction.dimensions(0));
      break;
    case Opcode::kSlice:
      AppendSlice(instruction, out);
      break;
    case Opcode::kDynamicSlice:
      AppendNumbers("dynamic_slice_sizes", instruction.dynamic_slice_sizes(), out);
      break;
    case Opcode::kPad:
      AppendPadding(instruction.padding_config(), out);
      break;
    case Opcode::kConvolution:
      AppendConvolution(instruction, out);
      break;
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter:
      AppendWindow(instruction.window(), out);
      break;
    case Opcode::kDot:
      AppendDot(instruction.dot_dimension_numbers(), out);
      AppendPrecision(instruction, out);
      break;
    case Opcode::kGather:
      AppendGather(instruction.gather_dimension_numbers(), out);
      AppendNumbers("slice_sizes", instruction.gather_slice_sizes(), out);
      AppendPromises(instruction, out);
      break;
    case Opcode::kScatter:
      AppendScatter(instruction.scatter_dimension_numbers(), out);
      AppendPromises(instruction, out);
      break;
    default:
      return false;
  }
  return true;
}

// The little-endian number in `bytes`, which has at most 4 bytes.
uint32_t Number(const std::string& bytes) {
  uint32_t value = 0;
  for (size_t k = bytes.size(); k-- > 0;) {
    const uint8_t byte = bytes[k];
    value = value << 8 | byte;
  }
  return value;
}

// Prints a float as XLA does: with `few` digits if these are exact, else with `most` digits
// (RoundTripFpToString in xla/util.cc).
std::string FloatText(float value, int few, int most) {
  std::string text = absl::StrFormat("%.*g", few, value);
  float read;
  const bool says_all = absl::SimpleAtof(text, &read) && read == value;
  return says_all ? text : absl::StrFormat("%.*g", most, value);
}

}  // namespace

absl::Status AppendOwnAttributes(const HloInstructionProto& instruction, std::string& out) {
  const Opcode opcode = OpcodeFromName(instruction.opcode());
  if (AppendDimensions(instruction, opcode, out)) return absl::OkStatus();
  switch (opcode) {
    case Opcode::kGetTupleElement:
      absl::StrAppend(&out, ", index=", instruction.tuple_index());
      break;
    case Opcode::kFusion:
      AppendFusionKind(instruction, out);
      break;
    case Opcode::kCompare:
      AppendCompare(instruction, out);
      break;
    case Opcode::kCustomCall:
      return AppendCustomCall(instruction, out);
    case Opcode::kCopyStart:
      if (instruction.has_cross_program_prefetch_index()) {
        absl::StrAppend(
            &out, ", cross_program_prefetch_index=", instruction.cross_program_prefetch_index());
      }
      break;
    case Opcode::kReducePrecision:
      absl::StrAppend(&out, ", exponent_bits=", instruction.exponent_bits(),
                      ", mantissa_bits=", instruction.mantissa_bits());
      break;
    case Opcode::kRng:
    case Opcode::kRngBitGenerator:
    case Opcode::kRngGetAndUpdateState:
      AppendRandom(instruction, opcode, out);
      break;
    case Opcode::kFft:
      absl::StrAppend(&out, ", fft_type=", NameOf(kFftTypes, instruction.fft_type()));
      AppendNumbers("fft_length", instruction.fft_length(), out);
      break;
    case Opcode::kTopK:
      absl::StrAppend(&out, ", k=", instruction.k(),
                      ", largest=", instruction.largest() ? "true" : "false");
      break;
    case Opcode::kBatchNormGrad:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormTraining:
      absl::StrAppend(&out, ", feature_index=", instruction.feature_index());
      break;
    default:
      return AppendCollective(instruction, out);
  }
  return absl::OkStatus();
}

void AppendCompilerNotes(const HloInstructionProto& instruction, std::string& out) {
  const std::string& op_name = instruction.metadata().op_name();
  if (!op_name.empty()) {
    absl::StrAppend(&out, ", metadata={op_name=\"", absl::CEscape(op_name), "\"}");
  }
  const std::string& config = instruction.backend_config();
  if (config.empty()) return;
  Lexer lexer(config, "backend_config");
  const bool is_json = config[0] == '{' && !absl::StrContains(config, '\n') &&
                       lexer.SkipBalanced() && lexer.position() == config.data() + config.size();
  if (is_json) {
    absl::StrAppend(&out, ", backend_config=", config);
  } else {
    absl::StrAppend(&out, ", backend_config=\"", absl::CEscape(config), "\"");
  }
}

std::string LiteralText(const xla::LiteralProto& literal) {
  if (!literal.shape().dimensions().empty()) return "{...}";
  if (literal.preds_size() == 1) return literal.preds(0) ? "true" : "false";
  if (literal.s32s_size() == 1) return absl::StrCat(literal.s32s(0));
  if (literal.s64s_size() == 1) return absl::StrCat(literal.s64s(0));
  if (literal.u32s_size() == 1) return absl::StrCat(literal.u32s(0));
  if (literal.u64s_size() == 1) return absl::StrCat(literal.u64s(0));
  if (literal.s8s().size() == 1) {
    const int8_t number = literal.s8s()[0];
    return absl::StrCat(number);
  }
  if (literal.u8s().size() == 1) return absl::StrCat(Number(literal.u8s()));
  if (literal.s16s().size() == 2) {
    const int16_t number = Number(literal.s16s());
    return absl::StrCat(number);
  }
  if (literal.u16s().size() == 2) return absl::StrCat(Number(literal.u16s()));
  if (literal.f32s_size() == 1) return FloatText(literal.f32s(0), 6, 9);
  if (literal.bf16s().size() == 2) {
    return FloatText(absl::bit_cast<float>(Number(literal.bf16s()) << 16), 2, 4);
  }
  return "{...}";
}

}  // namespace mallocmuzero::hlo
