// A module's messages with ids resolved to indices. The rest of the check works on these.

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

// How the check treats an instruction. An instruction of any other kind computes.
enum class Kind : uint8_t {
  kParameter,
  kTuple,
  kElement,  // get-tuple-element
  kBitcast,
  kCopyStart,
  kCopyDone,
  kBarrier,  // optimization-barrier, add-dependency: counts as computing, but passes its operand on
  kWhile,
  kConditional,
  kCall,
  kFusion,
  kCompute,
};

// True if instructions of this kind only pass values on. The placer may add and remove them.
bool IsForwarding(Kind kind);

// True if the computations that it calls run in schedules of their own, not as part of the
// instruction.
bool IsControl(Kind kind);

// One instruction, with its references as indices.
struct Instruction {
  const xla::HloInstructionProto* proto = nullptr;
  Kind kind = Kind::kCompute;
  // indices into the computation, all smaller than the instruction's own
  std::vector<int> operands;
  std::vector<int> control;  // indices of control predecessors, in any order
  std::vector<int> calls;  // indices of computations, all smaller than that of its own computation
  std::vector<int> users;  // one entry for every use

  absl::string_view name() const { return proto->name(); }
};

// True for the start and for the done of an all-gather or a collective-permute, respectively. The
// shape of a start is (operands, results, contexts), that of a done the results.
bool StartsStatedCollective(const Instruction& instruction);
bool EndsStatedCollective(const Instruction& instruction);

// True for a constant array whose literal is in the module. Two of them have the same value if they
// have the same attributes and shape.
bool IsLiteral(const Instruction& instruction);

// One computation, with its instructions in the order of the message.
struct Computation {
  const xla::HloComputationProto* proto = nullptr;
  std::vector<Instruction> instructions;
  std::vector<int> parameters;  // ordered by number
  int root = -1;
  bool controlled = false;  // the entry, or reached from it through loops, conditionals and calls
  bool fused = false;       // called by a fusion
  absl::flat_hash_map<int64_t, int> by_id;

  absl::string_view name() const { return proto->name(); }
};

// A whole module. Immutable after BuildGraph.
struct Graph {
  const xla::HloModuleProto* proto = nullptr;
  std::vector<Computation> computations;  // callees come before callers
  int entry = -1;
  absl::flat_hash_map<int64_t, int> by_id;

  const Instruction& At(int computation, int instruction) const {
    return computations[computation].instructions[instruction];
  }
  const xla::ShapeProto& RootShape(int computation) const;
  const xla::ShapeProto& ShapeOf(int computation, int instruction) const {
    return At(computation, instruction).proto->shape();
  }
  // Text for messages, such as "'fusion.3' in 'main'".
  std::string Describe(int computation, int instruction) const;
};

// Positions of a while's computations in its list of calls.
inline constexpr int kBody = 0;
inline constexpr int kCondition = 1;

// Builds the graph, which points into `module`. InvalidArgument, with a description, if the module
// is malformed.
absl::StatusOr<Graph> BuildGraph(const xla::HloModuleProto& module);

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_GRAPH_H_
