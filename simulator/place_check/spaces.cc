#include "simulator/place_check/spaces.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "simulator/place_check/shapes.h"

namespace mallocmuzero::place_check {
namespace {

using xla::ShapeProto;

class SpaceCheck {
 public:
  SpaceCheck(const Graph& original, const Graph& placed, int64_t fast_space, Report& report)
      : original_(original), placed_(placed), fast_space_(fast_space), report_(report) {}

  void CheckKept(int computation, int was, int placed_computation, int is);
  void CheckEntry();
  // Checks that a fusion's computation has its parameters and roots in the memories of the fusion's
  // operands and results.
  void CheckFusion(int computation, int was, int placed_computation, int is);

 private:
  void CheckInside(int original, int placed);
  bool IsPlaceable(const Instruction& instruction) const;
  void CheckFusedPart(int computation, int fusion, const ShapeProto* outer[2],
                      const ShapeProto* inner[2]);

  const Graph& original_;
  const Graph& placed_;
  const int64_t fast_space_;
  Report& report_;
  std::set<std::pair<int, int>> inside_;  // pairs of fused computations that were checked
};

// False for constants, which are part of the program, and for asynchronous operations other than
// copies and collectives that state their arrays.
bool SpaceCheck::IsPlaceable(const Instruction& instruction) const {
  const std::string& opcode = instruction.proto->opcode();
  if (StartsStatedCollective(instruction) || EndsStatedCollective(instruction)) return true;
  return opcode != "constant" && opcode != "send" && opcode != "recv" &&
         !absl::EndsWith(opcode, "-start") && !absl::EndsWith(opcode, "-done") &&
         !absl::EndsWith(opcode, "-update");
}

void SpaceCheck::CheckKept(int computation, int was, int placed_computation, int is) {
  const ShapeProto& before = original_.ShapeOf(computation, was);
  const ShapeProto& after = placed_.ShapeOf(placed_computation, is);
  if (!OnlyMoved(before, after, fast_space_)) {
    report_.Add(PlacedRule::kSpace, placed_.Describe(placed_computation, is), " is ",
                Describe(after), ", was ", Describe(before));
  }
  const Instruction& instruction = placed_.At(placed_computation, is);
  if (IsPlaceable(instruction)) return;
  if (!SameShape(before, after)) {
    report_.Add(PlacedRule::kSpace, placed_.Describe(placed_computation, is), ": a ",
                instruction.proto->opcode(), " cannot be in another memory");
  }
  if (instruction.proto->opcode() == "constant") return;
  const std::vector<int>& operands = original_.At(computation, was).operands;
  for (size_t i = 0; i < std::min(operands.size(), instruction.operands.size()); ++i) {
    if (SameShape(original_.ShapeOf(computation, operands[i]),
                  placed_.ShapeOf(placed_computation, instruction.operands[i]))) {
      continue;
    }
    report_.Add(PlacedRule::kSpace, placed_.Describe(placed_computation, is), ": operand ", i,
                " of a ", instruction.proto->opcode(), " cannot be in another memory");
  }
}

void SpaceCheck::CheckFusedPart(int computation, int fusion, const ShapeProto* outer[2],
                                const ShapeProto* inner[2]) {
  // Index 0 is the original, 1 the placed module.
  if (SameShape(*outer[1], *inner[1])) return;
  const bool as_before = !SameShape(*outer[0], *inner[0]) && SameShape(*outer[0], *outer[1]) &&
                         SameShape(*inner[0], *inner[1]);
  if (as_before) return;
  report_.Add(PlacedRule::kFusedSpace, placed_.Describe(computation, fusion), " has ",
              Describe(*outer[1]), " where its computation has ", Describe(*inner[1]));
}

void SpaceCheck::CheckFusion(int computation, int was, int placed_computation, int is) {
  const Instruction& before = original_.At(computation, was);
  const Instruction& after = placed_.At(placed_computation, is);
  if (after.kind != Kind::kFusion || before.calls.size() != 1) return;
  const int calls[2] = {before.calls[0], after.calls[0]};
  const Computation& fused = placed_.computations[calls[1]];
  const Computation& fused_before = original_.computations[calls[0]];
  const size_t operands = after.operands.size();
  if (fused.parameters.size() != operands || fused_before.parameters.size() != operands ||
      before.operands.size() != operands ||
      fused.instructions.size() != fused_before.instructions.size()) {
    report_.Add(PlacedRule::kCalledComputation, placed_.Describe(placed_computation, is),
                ": the parameters of its computation do not match its operands");
    return;
  }
  for (size_t i = 0; i < operands; ++i) {
    const ShapeProto* outer[2] = {&original_.ShapeOf(computation, before.operands[i]),
                                  &placed_.ShapeOf(placed_computation, after.operands[i])};
    const ShapeProto* inner[2] = {&original_.ShapeOf(calls[0], fused_before.parameters[i]),
                                  &placed_.ShapeOf(calls[1], fused.parameters[i])};
    CheckFusedPart(placed_computation, is, outer, inner);
  }
  const ShapeProto* outer[2] = {&before.proto->shape(), &after.proto->shape()};
  const ShapeProto* inner[2] = {&original_.RootShape(calls[0]), &placed_.RootShape(calls[1])};
  CheckFusedPart(placed_computation, is, outer, inner);
  if (inside_.insert({calls[0], calls[1]}).second) CheckInside(calls[0], calls[1]);
}

void SpaceCheck::CheckInside(int original, int placed) {
  const Computation& before = original_.computations[original];
  const Computation& after = placed_.computations[placed];
  for (int i = 0; i < after.instructions.size(); ++i) CheckFusion(original, i, placed, i);
  const Instruction& root = after.instructions[after.root];
  const Instruction& root_before = before.instructions[after.root];
  if (root.kind != Kind::kTuple || root_before.kind != Kind::kTuple) return;
  const auto elements = [](const Instruction& tuple) {
    return std::min<int>(tuple.operands.size(), tuple.proto->shape().tuple_shapes_size());
  };
  for (int k = 0; k < std::min(elements(root), elements(root_before)); ++k) {
    const ShapeProto* element[2] = {&root_before.proto->shape().tuple_shapes(k),
                                    &root.proto->shape().tuple_shapes(k)};
    const ShapeProto* operand[2] = {&original_.ShapeOf(original, root_before.operands[k]),
                                    &placed_.ShapeOf(placed, root.operands[k])};
    CheckFusedPart(placed, after.root, element, operand);
  }
}

void SpaceCheck::CheckEntry() {
  const auto check = [&](const ShapeProto& before, const ShapeProto& after,
                         absl::string_view what) {
    if (SameShape(before, after)) return;
    report_.Add(PlacedRule::kEntrySpace, what, " of the program is ", Describe(after), ", was ",
                Describe(before));
  };
  check(original_.RootShape(original_.entry), placed_.RootShape(placed_.entry), "the result");
  const Computation& before = original_.computations[original_.entry];
  const Computation& after = placed_.computations[placed_.entry];
  for (size_t i = 0; i < std::min(before.parameters.size(), after.parameters.size()); ++i) {
    check(before.instructions[before.parameters[i]].proto->shape(),
          after.instructions[after.parameters[i]].proto->shape(), absl::StrCat("parameter ", i));
  }
}

void CheckPair(const Graph& placed, int c, int i, Report& report) {
  const Instruction& instruction = placed.At(c, i);
  if (instruction.kind == Kind::kCopyStart) {
    const bool paired =
        instruction.users.size() == 1 && placed.At(c, instruction.users[0]).kind == Kind::kCopyDone;
    if (!paired || placed.computations[c].root == i) {
      report.Add(PlacedRule::kCopyPair, placed.Describe(c, i), " has ", instruction.users.size(),
                 " users; one done expected");
    }
  } else if (instruction.kind == Kind::kCopyDone &&
             placed.At(c, instruction.operands[0]).kind != Kind::kCopyStart) {
    report.Add(PlacedRule::kCopyPair, placed.Describe(c, i),
               " waits for an instruction that is no copy-start");
  }
}

}  // namespace

void CheckSpaces(const Graph& original, const Graph& placed, const Match& match, int64_t fast_space,
                 Report& report) {
  SpaceCheck check(original, placed, fast_space, report);
  for (int c = 0; c < placed.computations.size(); ++c) {
    for (int i = 0; i < placed.computations[c].instructions.size(); ++i) {
      const int was = match.Original(c, i);
      if (was == kNone) continue;
      check.CheckKept(match.computations[c], was, c, i);
      check.CheckFusion(match.computations[c], was, c, i);
    }
  }
  check.CheckEntry();
}

void CheckMovePairs(const Graph& placed, Report& report) {
  for (int c = 0; c < placed.computations.size(); ++c) {
    if (!placed.computations[c].controlled) continue;
    for (int i = 0; i < placed.computations[c].instructions.size(); ++i) {
      CheckPair(placed, c, i, report);
    }
  }
}

void CheckCrossProgramPrefetches(const Graph& placed, Report& report) {
  const auto& listed = placed.proto->cross_program_prefetches();
  absl::flat_hash_set<int64_t> used;
  for (int c = 0; c < placed.computations.size(); ++c) {
    for (int i = 0; i < placed.computations[c].instructions.size(); ++i) {
      const xla::HloInstructionProto& proto = *placed.At(c, i).proto;
      if (!proto.has_cross_program_prefetch_index()) continue;
      const int64_t number = proto.cross_program_prefetch_index();
      const Instruction& start = placed.At(c, i);
      bool fine = start.kind == Kind::kCopyStart && c == placed.entry && number >= 0 &&
                  number < listed.size() && used.insert(number).second;
      if (fine) {
        const xla::CrossProgramPrefetch& entry = listed[number];
        const Instruction& source = placed.At(c, start.operands[0]);
        fine = entry.index().empty() && source.kind == Kind::kParameter &&
               source.proto->parameter_number() == entry.parameter();
      }
      if (fine) continue;
      report.Add(PlacedRule::kCrossProgramPrefetch, placed.Describe(c, i),
                 ": a copy-start of the entry parameter that cross_program_prefetches[", number,
                 "] names expected");
    }
  }
  for (int64_t i = 0; i < listed.size(); ++i) {
    if (used.contains(i)) continue;
    report.Add(PlacedRule::kCrossProgramPrefetch, "cross_program_prefetches[", i,
               "] has no copy-start");
  }
}

}  // namespace mallocmuzero::place_check
