// Finds the operand that an instruction overwrites with its result.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_IN_PLACE_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_IN_PLACE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "simulator/place_check/graph.h"

namespace mallocmuzero::place_check {

// A leaf of an instruction's shape that takes the buffer of a leaf of an operand.
struct InPlacePair {
  size_t output_leaf;
  size_t operand;
  size_t operand_leaf;
};

// The number of the leaf of `shape` at `index`, or the number of leaves if there is none.
size_t LeafAt(const xla::ShapeProto& shape, const google::protobuf::RepeatedField<int64_t>& index);

// True for a collective-permute of slices, and for the start of one. Its operands are what the
// slices are from, what they fill, and the offsets in both. Each of the first two is an array or a
// tuple of arrays, and the second is overwritten with the result. A permute of four arrays is none:
// its result is a tuple of them (XLA: ShapeInference::InferCollectivePermuteShape).
bool IsPermuteOfSlices(const Graph& graph, int computation, const Instruction& instruction);

// The rules of in-place updates (XLA: AliasInfo::GetInPlaceInputOutputPairs). These work in place:
// dynamic-update-slice, scatter, set-dimension-size, ragged-all-to-all, a collective-permute of
// slices, and what output_operand_aliasing names. So do fusions that end in one of these on a
// parameter. Between the two may be a fusion that updates in place, but no other update. The done
// of an asynchronous operation has its results where the start made them.
class InPlaceRules {
 public:
  explicit InPlaceRules(const Graph& graph) : graph_(graph) {}

  // All in-place pairs of an instruction.
  std::vector<InPlacePair> Pairs(int computation, int instruction);

  // Those pairs of a fusion whose operands its computation returns as they are.
  std::vector<InPlacePair> PassedOn(int computation, int instruction);

 private:
  // The leaf of a parameter that a leaf of a fused computation's root overwrites or returns.
  struct Source {
    enum class Kind : uint8_t { kNone, kOverwritten, kReturned };

    Kind kind = Kind::kNone;
    size_t parameter = 0;
    size_t leaf = 0;
  };

  Source Trace(int computation, size_t leaf);
  Source TraceUncached(int computation, size_t leaf);

  const Graph& graph_;
  std::map<std::pair<int, size_t>, Source> traced_;
};

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_IN_PLACE_H_
