// Which array value sits where: the values of a flat schedule, the buffers they share, the copies
// between memories, and what loops carry.
//
// A value is one array (a leaf of an instruction's shape), as the instruction that computes it
// defines it; get-tuple-element, tuple, bitcast, call and the unchanged elements of a loop only
// forward values. Values that must share an address form one storage: in-place updates
// (HloDataflowAnalysis::GetInPlaceInputOutputPairs in XLA), pieces joined by ConcatBitcast, results
// of a conditional. A copy between memories starts a new storage that remembers its source.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_DATAFLOW_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_DATAFLOW_H_

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "simulator/import/schedule.h"

namespace mallocmuzero {

using ValueId = int32_t;

// What an instruction makes, or an array in it (xla/service/hlo_value.h).
struct HloValue {
  int32_t instance = 0;
  hlo::InstructionIndex instruction = 0;
  int32_t leaf = 0;                   // ordinal among the leaves of the instruction's shape
  const hlo::Shape* shape = nullptr;  // of that leaf; points into the module
  ValueId copied_from = -1;           // of the target of an asynchronous copy: its source
};

// One array carried by a loop and changed in it. Values of the same group must be in the same
// memory, at the same address, where the loop is entered, repeated and left.
struct CarriedValue {
  int32_t loop = 0;  // index into Schedule::loops
  ValueId initial = 0;
  ValueId parameter = 0;
  ValueId root = 0;
  ValueId result = 0;
};

// (operand, output leaf) pairs that share an address because the instruction updates in place.
struct InPlacePair {
  int32_t operand = 0;  // an array
  int32_t output_leaf = 0;

  friend auto operator<=>(const InPlacePair&, const InPlacePair&) = default;
};

// By instruction name: pairs beyond those that an instruction's own text shows to be in place.
using InPlaceHints = absl::flat_hash_map<std::string, std::vector<InPlacePair>>;

// Fusions inside each other are looked into this deep.
inline constexpr int kMaxFusionDepth = 16;

class Dataflow {
 public:
  // Analyses `schedule`, which must outlive the result. InvalidArgument "FILE:LINE:1: ..." if an
  // instruction's operands do not fit what its opcode takes (a tuple index out of range, a loop
  // whose body returns another shape than it takes, ...).
  static absl::StatusOr<Dataflow> Analyze(const Schedule& schedule, const InPlaceHints& hints,
                                          absl::string_view file_name);

  // Values of the leaves of that instruction's shape, in order.
  absl::Span<const ValueId> ValuesOf(int32_t instance, hlo::InstructionIndex instruction) const {
    return values_of_[instance][instruction];
  }

  const std::vector<HloValue>& values() const { return values_; }
  const std::vector<CarriedValue>& carried() const { return carried_; }

  // Number of the storage of a value: values with the same number share an address.
  int32_t StorageOf(ValueId value) const { return storage_of_[value]; }
  int32_t storage_count() const { return storage_count_; }

 private:
  friend class DataflowBuilder;

  std::vector<HloValue> values_;
  std::vector<std::vector<std::vector<ValueId>>> values_of_;  // by instance, instruction, leaf
  std::vector<CarriedValue> carried_;
  std::vector<int32_t> storage_of_;
  int32_t storage_count_ = 0;
};

// Position of the array at `index` among the leaves of `shape`, or -1 if there is no array there.
int32_t LeafOrdinal(const hlo::Shape& shape, absl::Span<const int32_t> index);

// True if the instruction only names values that others computed: it takes no time and touches no
// memory (XLA's HloCostAnalysis gives it no cost).
bool IsForwarding(hlo::Opcode opcode);

// True for the start and the end of an asynchronous operation.
bool IsAsyncStart(hlo::Opcode opcode);
bool IsAsyncDone(hlo::Opcode opcode);

// True for an async-update that hands operands to an async-start that has none: that is where the
// operation begins. v6e's compiler starts gathers on the SparseCore in this way.
bool BindsOperands(const hlo::Instruction& instruction);

// True for copy-start and for slice-start, dynamic-slice-start and the like: asynchronous moves of
// one array.
bool IsAsyncCopyStart(const hlo::Instruction& instruction);

// Custom call without code that gives the pieces of a sliced prefetch one name.
bool IsConcatBitcast(const hlo::Instruction& instruction);

// The pairs that must share an address by what the instruction is: dynamic-update-slice, scatter,
// fusions that end in one, output_to_operand_aliasing.
std::vector<InPlacePair> InPlacePairs(const hlo::Module& module,
                                      const hlo::Instruction& instruction);

// The pairs of the backend's aliasing_operands, ascending, each once: of a list each operand with
// the first output and each output with the first operand, which is all of them for the one output
// that lists have. Positions that the instruction lacks are left out. Buffer assignment lists there
// what happens to share a buffer, so a pair of one compile alone need not hold in another.
std::vector<InPlacePair> ListedPairs(const hlo::Instruction& instruction);

// The pairs that all of the modules list wherever they have the instruction: those that must share
// a buffer in every placement, such as a donated parameter and its new value.
InPlaceHints CommonListedPairs(absl::Span<const hlo::Module* const> modules);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_DATAFLOW_H_
