// Follows values through a module: finds the value of every leaf of every scheduled instruction,
// through moves, tuples, loops and branches.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_FLOW_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_FLOW_H_

#include <cstdint>
#include <vector>

#include "base/size32.h"
#include "mallocmuzero/xla/hlo.pb.h"
#include "simulator/place_check/graph.h"
#include "simulator/place_check/in_place.h"
#include "simulator/place_check/shapes.h"

namespace mallocmuzero::place_check {

using ValueId = int;
inline constexpr ValueId kNoValue = -1;

enum class ValueKind : uint8_t {
  kParameter,     // A parameter of the entry computation.
  kResult,        // Made by an instruction that computes, or of unknown origin.
  kCarried,       // A loop's parameter that passes change.
  kLoopResult,    // A loop's result that passes change.
  kBranchResult,  // A conditional's result.
  kMoved,         // The destination of a copy: the bytes of `source`.
  kViewed,        // A bitcast to a shape with another number of bytes.
};

// One array in the module.
struct Value {
  ValueKind kind = ValueKind::kResult;
  int computation = -1;  // where it is defined; for kCarried, the loop itself
  int instruction = -1;
  int leaf = -1;  // of that instruction's shape
  // of kMoved, kViewed; the initial value of kCarried, kLoopResult
  ValueId source = kNoValue;
  ValueId viewed = kNoValue;               // of kViewed: the first source that is no kViewed
  const xla::ShapeProto* shape = nullptr;  // of the leaf

  // Whether this instruction makes the value, instead of passing it on.
  bool IsMadeBy(int in_computation, int index) const {
    return computation == in_computation && instruction == index;
  }
};

// Values of the leaves of one shape, in order.
using LeafValues = std::vector<ValueId>;

// All values of one module. Immutable.
class Flow {
 public:
  // `graph` must outlive the flow.
  explicit Flow(const Graph& graph);

  const Graph& graph() const { return graph_; }
  int size() const { return Size32(values_); }
  const Value& value(ValueId id) const { return values_[id]; }

  // Values of the leaves of an instruction's shape, in order. The computation must be a controlled
  // one.
  LeafValues Of(int computation, int instruction) const;
  LeafValues OfRoot(int computation) const;
  ValueId Leaf(int computation, int instruction, size_t leaf) const;

  // Follows values that are the same: a loop's parameter that every pass returns unchanged is the
  // initial value itself.
  ValueId Resolve(ValueId id) const;

  // The value that is in memory: what Resolve returns, or for a bitcast to another number of bytes
  // its operand, which has the bitcast's buffer.
  ValueId Stored(ValueId id) const;

 private:
  void Run(int computation, const std::vector<LeafValues>& parameters);
  LeafValues Evaluate(int computation, int index);
  LeafValues Element(int computation, const Instruction& element) const;
  LeafValues CopyStart(int computation, int index);
  LeafValues Bitcast(int computation, int index);
  LeafValues Compute(int computation, int index);
  LeafValues Fusion(int computation, int index);
  LeafValues Loop(int computation, int index);
  LeafValues Conditional(int computation, int index);
  LeafValues Call(int computation, int index);
  ValueId Add(ValueKind kind, int computation, int instruction, int leaf,
              ValueId source = kNoValue);
  LeafValues Fresh(ValueKind kind, int computation, int index);
  const LeafValues& Operand(int computation, int index, size_t operand) const;

  const Graph& graph_;
  InPlaceRules in_place_;
  std::vector<Value> values_;
  std::vector<ValueId> same_as_;  // for each value the value that it equals, or itself
  // for each computation and instruction; before Resolve
  std::vector<std::vector<LeafValues>> leaves_;
};

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_FLOW_H_
