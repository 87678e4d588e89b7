#include "simulator/import/analysis/collectives.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "simulator/import/analysis/dataflow.h"
#include "simulator/import/analysis/max_looks.h"

namespace mallocmuzero {
namespace {

using hlo::Opcode;

// No machine has more devices. The bound keeps products of group sizes exact.
constexpr int64_t kMostDevices = int64_t{1} << 20;

bool IsCollective(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectivePermute:
    case Opcode::kCollectivePermuteStart:
    case Opcode::kRaggedAllToAll:
    case Opcode::kReduceScatter:
      return true;
    default:
      return false;
  }
}

absl::optional<int64_t> Devices(absl::string_view text) {
  int64_t number;
  if (!absl::SimpleAtoi(text, &number) || number < 1 || number > kMostDevices) return absl::nullopt;
  return number;
}

// The text between the first `open` and the next `close`; empty if there is none.
absl::string_view Between(absl::string_view text, absl::string_view open, char close) {
  const size_t begin = text.find(open);
  if (begin == absl::string_view::npos) return {};
  const size_t end = text.find(close, begin + open.size());
  if (end == absl::string_view::npos) return {};
  return text.substr(begin + open.size(), end - begin - open.size());
}

// `mesh['x'=2,'y'=4] {'y'}`, or with an axis in parts, `mesh['x'=8] {'x':(2)4}`.
absl::optional<int64_t> SizeOfAxes(absl::string_view mesh, absl::string_view axes) {
  absl::flat_hash_map<absl::string_view, absl::string_view> size_of;
  for (absl::string_view axis : absl::StrSplit(Between(mesh, "[", ']'), ',')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(axis, absl::MaxSplits('=', 1));
    size_of[parts.first] = parts.second;
  }
  int64_t devices = 1;
  for (absl::string_view axis : absl::StrSplit(axes, ',', absl::SkipEmpty())) {
    absl::optional<int64_t> size;
    const size_t part = axis.find(')');
    if (part != absl::string_view::npos) size = Devices(axis.substr(part + 1));
    const auto whole = size_of.find(axis);
    if (whole != size_of.end()) size = Devices(whole->second);
    if (!size || *size > kMostDevices / devices) return absl::nullopt;
    devices *= *size;
  }
  return devices;
}

// Bytes of all arrays of a shape.
double ArrayBytes(const hlo::Shape& shape) {
  double bytes = 0;
  hlo::ForEachLeaf(shape, [&](absl::Span<const int32_t>, const hlo::Shape& array) {
    bytes += static_cast<double>(hlo::ShapeByteSize(array));
  });
  return bytes;
}

// Bytes of the operands that a collective sends. Some also have an operand that they fill, and
// operands with offsets and sizes: a ragged-all-to-all, and a permute of slices.
double SentBytes(const hlo::Computation& computation, const hlo::Instruction& instruction,
                 Opcode opcode) {
  const bool fills =
      opcode == Opcode::kRaggedAllToAll || IsPermuteOfSlices(computation, instruction);
  double bytes = 0;
  for (const hlo::InstructionIndex operand : instruction.operands) {
    bytes += ArrayBytes(computation.instructions[operand].shape);
    if (fills) break;
  }
  return bytes;
}

// The shape of the results of a collective. That of an asynchronous start is (operands, results,
// ...).
const hlo::Shape& ResultShape(const hlo::Instruction& instruction, bool starts) {
  const hlo::Shape& shape = instruction.shape;
  return starts && shape.tuple_shapes.size() >= 2 ? shape.tuple_shapes[1] : shape;
}

// True if only slices of the instruction are used, or of its elements if it is a tuple.
bool IsOnlySliced(const hlo::Computation& computation, hlo::InstructionIndex index,
                  int& looks_left) {
  looks_left -= std::min<int>(std::ssize(computation.instructions), kMaxLooks);
  if (looks_left < 0 || computation.instructions[index].is_root) return false;
  bool sliced = false;
  for (hlo::InstructionIndex i = index + 1; i < std::ssize(computation.instructions); ++i) {
    const hlo::Instruction& user = computation.instructions[i];
    if (std::find(user.operands.begin(), user.operands.end(), index) == user.operands.end()) {
      continue;
    }
    const bool of_user = user.opcode == Opcode::kGetTupleElement
                             ? IsOnlySliced(computation, i, looks_left)
                             : user.opcode == Opcode::kDynamicSlice;
    if (!of_user) return false;
    sliced = true;
  }
  return sliced;
}

// A collective without the instruction that it is written as.
struct Operation {
  Opcode opcode = Opcode::kUnknown;
  absl::optional<int64_t> devices;  // in each group
  double operand_bytes = 0;
  double result_bytes = 0;
  bool only_sliced = false;
};

double RingBytes(const Operation& operation) {
  const auto n = static_cast<double>(operation.devices.value_or(1));
  // All of the data, as in the limit of many devices, if the size of the group is not known.
  const double others = operation.devices ? (n - 1) / n : 1;
  switch (operation.opcode) {
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
    case Opcode::kCollectiveBroadcast:
      return others * operation.result_bytes;
    case Opcode::kReduceScatter:
      return others * operation.operand_bytes;
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
      return (operation.only_sliced ? 1 : 2) * others * operation.operand_bytes;
    case Opcode::kAllToAll:
    case Opcode::kRaggedAllToAll: {
      const int64_t devices = operation.devices.value_or(4);
      const int64_t links = devices * devices / 4;
      return static_cast<double>(links) / static_cast<double>(devices) * operation.operand_bytes;
    }
    default:  // a permute
      return 2 * operation.operand_bytes;
  }
}

bool IsAsyncCustomCall(const hlo::Instruction& instruction) {
  return instruction.opcode == Opcode::kAsyncStart &&
         instruction.wrapped_opcode == Opcode::kCustomCall;
}

// The computation whose instructions a fusion or an asynchronous start executes, if it names one.
absl::optional<hlo::ComputationIndex> PartsOf(const hlo::Instruction& instruction) {
  if (IsAsyncCustomCall(instruction)) return instruction.Called(hlo::CallRole::kCalled);
  if (instruction.opcode == Opcode::kFusion || instruction.opcode == Opcode::kAsyncStart) {
    return instruction.Called(hlo::CallRole::kCalls);
  }
  return absl::nullopt;
}

// Bounds the work for one instruction: the looks that are left, and the bytes of collectives that
// nested fusions may come to again and again.
struct LinkBudget {
  int looks_left = kMaxLooks;
  absl::flat_hash_map<const hlo::Instruction*, double> known_bytes;
};

double LinkBytes(const hlo::Module& module, const hlo::Computation& computation,
                 const hlo::Instruction& instruction, int depth, LinkBudget& budget) {
  const bool starts = IsAsyncCollectiveStart(instruction);
  if (const auto parts = PartsOf(instruction)) {
    if (depth >= kMaxFusionDepth) return 0;
    const hlo::Computation& inner = module.computations[*parts];
    double bytes = 0;
    for (const hlo::Instruction& part : inner.instructions) {
      if (--budget.looks_left < 0) break;
      bytes += LinkBytes(module, inner, part, depth + 1, budget);
    }
    return bytes;
  }
  if (!starts && !IsCollective(instruction.opcode)) return 0;
  const auto [known, is_new] = budget.known_bytes.try_emplace(&instruction);
  if (!is_new) return known->second;
  const auto index =
      static_cast<hlo::InstructionIndex>(&instruction - computation.instructions.data());
  const bool is_wrapped = instruction.opcode == Opcode::kAsyncStart;
  const Opcode opcode = is_wrapped ? instruction.wrapped_opcode : instruction.opcode;
  known->second =
      RingBytes({.opcode = opcode,
                 .devices = GroupSize(instruction),
                 .operand_bytes = SentBytes(computation, instruction, opcode),
                 .result_bytes = ArrayBytes(ResultShape(instruction, starts)),
                 .only_sliced = depth > 0 && IsOnlySliced(computation, index, budget.looks_left)});
  return known->second;
}

// As the most that a program may contain.
constexpr double kMostLinkCycles = 9007199254740992.0;  // 2^53

}  // namespace

double CyclesOfLinks(double link_bytes, const v1::Hardware& hardware) {
  const double rate = hardware.link_bytes_per_cycle();
  return rate > 0 ? std::min(kMostLinkCycles, link_bytes / rate) : 0;
}

bool IsAsyncCollectiveStart(const hlo::Instruction& instruction) {
  return IsAsyncStart(instruction.opcode) &&
         IsCollective(instruction.opcode == Opcode::kAsyncStart ? instruction.wrapped_opcode
                                                                : instruction.opcode);
}

bool StartsOffloadedCollective(const hlo::Module& module, const hlo::Instruction& instruction) {
  if (!IsAsyncCustomCall(instruction)) return false;
  const auto parts = PartsOf(instruction);
  if (!parts) return false;
  const std::vector<hlo::Instruction>& inner = module.computations[*parts].instructions;
  return std::any_of(inner.begin(), inner.end(),
                     [](const hlo::Instruction& part) { return IsCollective(part.opcode); });
}

const hlo::Instruction* StartOfCollectiveAt(const hlo::Module& module,
                                            const hlo::Computation& computation,
                                            const hlo::Instruction& instruction) {
  if (IsAsyncCollectiveStart(instruction)) return &instruction;
  if (BindsOperands(instruction)) {
    const hlo::Instruction& start = computation.instructions[instruction.operands[0]];
    return StartsOffloadedCollective(module, start) ? &start : nullptr;
  }
  const bool is_whole = !instruction.operands.empty();
  return is_whole && StartsOffloadedCollective(module, instruction) ? &instruction : nullptr;
}

bool StatesItsArrays(const hlo::Instruction& start) {
  return start.opcode == Opcode::kAllGatherStart || start.opcode == Opcode::kCollectivePermuteStart;
}

bool EndsStatedCollective(const hlo::Computation& computation, const hlo::Instruction& done) {
  return IsAsyncDone(done.opcode) && done.operands.size() == 1 &&
         StatesItsArrays(computation.instructions[done.operands[0]]);
}

CollectiveFusion CollectiveFusionOf(const hlo::Module& module,
                                    const hlo::Instruction& instruction) {
  if (instruction.opcode != Opcode::kFusion) return CollectiveFusion::kNone;
  const auto called = instruction.Called(hlo::CallRole::kCalls);
  if (!called) return CollectiveFusion::kNone;
  const hlo::Computation& fused = module.computations[*called];
  const absl::string_view target = fused.instructions[fused.root].custom_call_target;
  if (target == "AsyncCollectiveStart") return CollectiveFusion::kStart;
  return target == "AsyncCollectiveDone" ? CollectiveFusion::kDone : CollectiveFusion::kNone;
}

absl::string_view ChannelOfFusion(const hlo::Module& module, const hlo::Instruction& fusion) {
  const auto called = fusion.Called(hlo::CallRole::kCalls);
  if (!called) return {};
  for (const hlo::Instruction& part : module.computations[*called].instructions) {
    if (IsCollective(part.opcode)) return part.FindAttribute("channel_id");
  }
  return {};
}

absl::optional<int64_t> GroupSize(const hlo::Instruction& collective) {
  absl::string_view groups = collective.FindAttribute("replica_groups");
  if (absl::StartsWith(groups, "mesh")) {
    // A mesh whose devices are in another order reads `mesh['x'=4], device_ids=(...) {'x'}`.
    const absl::string_view ids = collective.FindAttribute("device_ids");
    return SizeOfAxes(groups, Between(ids.empty() ? groups : ids, "{", '}'));
  }
  if (absl::ConsumePrefix(&groups, "[")) {
    const std::pair<absl::string_view, absl::string_view> dimensions =
        absl::StrSplit(groups.substr(0, groups.find(']')), absl::MaxSplits(',', 1));
    return Devices(dimensions.second);
  }
  const absl::string_view first = Between(groups, "{{", '}');
  if (first.empty()) return absl::nullopt;
  return std::count(first.begin(), first.end(), ',') + 1;
}

double CountLinkBytes(const hlo::Module& module, const hlo::Computation& computation,
                      const hlo::Instruction& instruction) {
  LinkBudget budget;
  return LinkBytes(module, computation, instruction, 0, budget);
}

}  // namespace mallocmuzero
