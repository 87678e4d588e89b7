// A module's messages with ids resolved to indices: what the rest of the check walks over.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_GRAPH_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero::place_check {

// How the check treats an instruction; everything else computes.
enum class Kind : uint8_t {
  kParameter,
  kTuple,
  kElement,  // get-tuple-element
  kBitcast,
  kCopyStart,
  kCopyDone,
  kSliceStart,  // an async-start whose computation is one slice
  kSliceDone,
  kConcat,   // the custom call ConcatBitcast
  kBarrier,  // optimization-barrier, add-dependency: computes, but passes its operand on
  kWhile,
  kConditional,
  kCall,
  kFusion,
  kCompute,
};

// Whether the kind only passes values on: these come and go as the placer likes.
bool IsForwarding(Kind kind);

// Whether what it calls runs in a schedule of its own, and not as part of the instruction.
bool IsControl(Kind kind);

struct Instruction {
  const xla::HloInstructionProto* proto = nullptr;
  Kind kind = Kind::kCompute;
  std::vector<int> operands;  // indices into the computation, all less than the instruction's own
  std::vector<int> control;   // predecessors, any index
  std::vector<int> calls;     // indices of computations, all less than the instruction's own
  std::vector<int> users;     // each once for every use

  absl::string_view name() const { return proto->name(); }
};

struct Computation {
  const xla::HloComputationProto* proto = nullptr;
  std::vector<Instruction> instructions;
  std::vector<int> parameters;  // by number
  int root = -1;
  bool controlled =
      false;           // the entry, or what a loop, conditional or call runs: reached from entry
  bool fused = false;  // called by a fusion
  int caller = -1;     // of a controlled one but the entry: computation and instruction
  int call_site = -1;
  absl::flat_hash_map<int64_t, int> by_id;

  absl::string_view name() const { return proto->name(); }
};

struct Graph {
  const xla::HloModuleProto* proto = nullptr;
  std::vector<Computation> computations;  // callees before callers
  int entry = -1;
  absl::flat_hash_map<int64_t, int> by_id;

  const Instruction& At(int computation, int instruction) const {
    return computations[computation].instructions[instruction];
  }
  const xla::ShapeProto& RootShape(int computation) const;
  const xla::ShapeProto& ShapeOf(int computation, int instruction) const {
    return At(computation, instruction).proto->shape();
  }
  // "'fusion.3' in 'main'", for messages.
  std::string Describe(int computation, int instruction) const;
};

// Computations that a while calls, in the order of its message.
inline constexpr int kBody = 0;
inline constexpr int kCondition = 1;

// InvalidArgument, which says what is wrong, if the module is malformed. Points into `module`.
absl::StatusOr<Graph> BuildGraph(const xla::HloModuleProto& module);

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_GRAPH_H_
