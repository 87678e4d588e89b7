// Follows values through a module: finds which value every leaf of every scheduled instruction is,
// through moves, tuples, loops and branches.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_FLOW_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_FLOW_H_

#include <cstdint>
#include <vector>

#include "mallocmuzero/xla/hlo.pb.h"
#include "simulator/place_check/graph.h"
#include "simulator/place_check/shapes.h"

namespace mallocmuzero::place_check {

using ValueId = int;
inline constexpr ValueId kNoValue = -1;

enum class ValueKind : uint8_t {
  kParameter,     // A parameter of the entry.
  kResult,        // Made by an instruction that computes; also all that no rule below explains.
  kCarried,       // A loop's parameter, where passes change it.
  kLoopResult,    // A loop's result, where passes change it.
  kBranchResult,  // A conditional's result.
  kMoved,         // A copy's destination: the bytes of `source`.
  kPiece,         // A slice's destination: `range` of the bytes of `source`.
  kJoined,        // The result of ConcatBitcast.
  kViewed,        // A bitcast to another number of bytes.
};

struct Value {
  ValueKind kind = ValueKind::kResult;
  int computation = -1;  // where it is defined: for kCarried, the loop itself
  int instruction = -1;
  int leaf = -1;  // of that instruction's shape
  ValueId source =
      kNoValue;  // of kMoved, kPiece, kViewed; the initial one of kCarried, kLoopResult
  ByteRange range;
  const xla::ShapeProto* shape = nullptr;  // of the leaf
};

// Leaves of one shape, in order.
using LeafValues = std::vector<ValueId>;

class Flow {
 public:
  // `graph` must outlive the flow.
  explicit Flow(const Graph& graph);

  const Graph& graph() const { return graph_; }
  int size() const { return static_cast<int>(values_.size()); }
  const Value& value(ValueId id) const { return values_[id]; }

  // Values of the leaves of an instruction of a controlled computation, as many as its shape has.
  LeafValues Of(int computation, int instruction) const;
  LeafValues OfRoot(int computation) const;
  ValueId Leaf(int computation, int instruction, size_t leaf) const;

  // A loop's parameter that every pass hands on as it got it is the initial value itself.
  ValueId Resolve(ValueId id) const;

 private:
  void Run(int computation, const std::vector<LeafValues>& parameters);
  LeafValues Evaluate(int computation, int index);
  LeafValues Element(int computation, const Instruction& element) const;
  LeafValues CopyStart(int computation, int index);
  LeafValues SliceStart(int computation, int index);
  LeafValues Bitcast(int computation, int index);
  LeafValues Loop(int computation, int index);
  LeafValues Conditional(int computation, int index);
  LeafValues Call(int computation, int index);
  ValueId Add(ValueKind kind, int computation, int instruction, int leaf,
              ValueId source = kNoValue);
  LeafValues Fresh(ValueKind kind, int computation, int index);
  const LeafValues& Operand(int computation, int index, size_t operand) const;

  const Graph& graph_;
  std::vector<Value> values_;
  std::vector<ValueId> same_as_;                 // by value: what it was found to be, or itself
  std::vector<std::vector<LeafValues>> leaves_;  // by computation, instruction; before Resolve
};

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_FLOW_H_
