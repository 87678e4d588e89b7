// Dataflow of a flat schedule: which array values exist, which of them share a buffer, which are
// copies between memories, and which of them loops carry.
//
// A value is one array (a leaf of an instruction's shape) as computed by the instruction that
// defines it. get-tuple-element, tuple, bitcast, call and the unchanged elements of a loop only
// forward values. Values that must share an address form one storage: in-place updates
// (HloDataflowAnalysis::GetInPlaceInputOutputPairs in XLA), pieces joined by ConcatBitcast, results
// of a conditional. A copy between memories starts a new storage, which remembers its source.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_DATAFLOW_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_DATAFLOW_H_

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "simulator/import/analysis/schedule.h"

namespace mallocmuzero {

using ValueId = int32_t;

// One array that an instruction computes, or one array of its tuple (xla/service/hlo_value.h).
struct HloValue {
  int32_t instance = 0;
  hlo::InstructionIndex instruction = 0;
  int32_t leaf = 0;                   // index among the leaves of the instruction's shape
  const hlo::Shape* shape = nullptr;  // of that leaf; points into the module
  // the source, if the value is the target of an asynchronous copy; else -1
  ValueId copied_from = -1;
};

// One array that a loop carries and changes. Its four values must be in the same memory, at the
// same address, where the loop is entered, repeated and left.
struct CarriedValue {
  int32_t loop = 0;  // index into Schedule::loops
  ValueId initial = 0;
  ValueId parameter = 0;
  ValueId root = 0;
  ValueId result = 0;
};

// An operand and a leaf of the output that share an address, because the instruction updates in
// place.
struct InPlacePair {
  int32_t operand = 0;
  int32_t output_leaf = 0;
  int32_t operand_leaf = -1;  // of an operand that is a tuple; -1 if the operand is an array

  friend auto operator<=>(const InPlacePair&, const InPlacePair&) = default;
};

// For instructions by name: pairs that are not evident from the instruction's own text.
using InPlaceHints = absl::flat_hash_map<std::string, std::vector<InPlacePair>>;

// Fusions inside fusions are analysed down to this depth.
inline constexpr int kMaxFusionDepth = 16;

// The values, storages and carried values of one schedule.
class Dataflow {
 public:
  // Analyses `schedule`, which must outlive the result. InvalidArgument "FILE:LINE:1: ..." if an
  // instruction's operands do not fit its opcode (a tuple index out of range, a loop whose body
  // returns another shape than it takes, ...).
  static absl::StatusOr<Dataflow> Analyze(const Schedule& schedule, const InPlaceHints& hints,
                                          absl::string_view file_name);

  // The values of the leaves of an instruction's shape, in order.
  absl::Span<const ValueId> ValuesOf(int32_t instance, hlo::InstructionIndex instruction) const {
    return values_of_[instance][instruction];
  }

  const std::vector<HloValue>& values() const { return values_; }
  const std::vector<CarriedValue>& carried() const { return carried_; }

  // The storage of a value. Values with the same storage share an address.
  int32_t StorageOf(ValueId value) const { return storage_of_[value]; }
  int32_t storage_count() const { return storage_count_; }

 private:
  friend class DataflowBuilder;

  std::vector<HloValue> values_;
  // for each instance, instruction and leaf
  std::vector<std::vector<std::vector<ValueId>>> values_of_;
  std::vector<CarriedValue> carried_;
  std::vector<int32_t> storage_of_;
  int32_t storage_count_ = 0;
};

// Index of the array at `index` among the leaves of `shape`, or -1 if there is no array there.
int32_t LeafOrdinal(const hlo::Shape& shape, absl::Span<const int32_t> index);

// True if the instruction only renames values that others computed. It then takes no time and
// touches no memory (XLA's HloCostAnalysis assigns it no cost).
bool IsForwarding(hlo::Opcode opcode);

// True for the start and for the done of an asynchronous operation, respectively. A send and a recv
// are starts.
bool IsAsyncStart(hlo::Opcode opcode);
bool IsAsyncDone(hlo::Opcode opcode);

// True for an async-update that passes operands to an async-start without any. The operation begins
// at this update. v6e's compiler starts gathers on the SparseCore in this way.
bool BindsOperands(const hlo::Instruction& instruction);

// True for copy-start, slice-start, dynamic-slice-start and the like: asynchronous moves of one
// array.
bool IsAsyncCopyStart(const hlo::Instruction& instruction);

// True for a collective-permute of slices, and for the start of one; `instruction` must be in
// `computation`. Its operands are what the slices are from, what they fill, and the offsets in
// both. Each of the first two is an array or a tuple of arrays, and the second is overwritten with
// the result. A permute of four arrays is none: its result is a tuple of them
// (ShapeInference::InferCollectivePermuteShape in XLA).
bool IsPermuteOfSlices(const hlo::Computation& computation, const hlo::Instruction& instruction);

// True for the custom call that joins the pieces of a sliced prefetch to one array; it executes
// nothing.
bool IsConcatBitcast(const hlo::Instruction& instruction);

// The pairs that must share an address because of what the instruction is: dynamic-update-slice,
// scatter, set-dimension-size, ragged-all-to-all, a collective-permute of slices, a fusion that
// ends in one of these, output_to_operand_aliasing (XLA: AliasInfo::GetInPlaceInputOutputPairs).
// `instruction` must be in `computation`.
std::vector<InPlacePair> InPlacePairs(const hlo::Module& module,
                                      const hlo::Computation& computation,
                                      const hlo::Instruction& instruction);

// The same pairs, of an instruction that is a fusion.
std::vector<InPlacePair> InPlacePairsOfFusion(const hlo::Module& module,
                                              const hlo::Instruction& fusion);

// The pairs in the backend's aliasing_operands, ascending, each once. From each list come the pairs
// of each operand with the first output and of each output with the first operand; these are all
// pairs if the list has one output, as lists of the compiler do. Positions that the instruction
// does not have are left out. Buffer assignment also lists arrays that share a buffer by chance, so
// that a pair found in only one compile need not hold in another.
std::vector<InPlacePair> ListedPairs(const hlo::Instruction& instruction);

// The pairs that every module lists, if it has the instruction at all. These must share a buffer in
// every placement, for example a donated parameter and its new value.
InPlaceHints CommonListedPairs(absl::Span<const hlo::Module* const> modules);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_DATAFLOW_H_
