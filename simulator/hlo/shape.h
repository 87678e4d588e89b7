// Array and tuple shapes of XLA's HLO text, with the layout that determines how many bytes they
// take.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_SHAPE_H_
#define MALLOCMUZERO_SIMULATOR_HLO_SHAPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"

namespace mallocmuzero::hlo {

// The primitive types of xla_data.proto, plus kTuple for a shape that has `tuple_shapes`.
enum class ElementType : uint8_t {
  kPred,
  kS1,
  kS2,
  kS4,
  kS8,
  kS16,
  kS32,
  kS64,
  kU1,
  kU2,
  kU4,
  kU8,
  kU16,
  kU32,
  kU64,
  kF4E2M1FN,
  kF8E3M4,
  kF8E4M3,
  kF8E4M3B11FNUZ,
  kF8E4M3FN,
  kF8E4M3FNUZ,
  kF8E5M2,
  kF8E5M2FNUZ,
  kF8E8M0FNU,
  kBF16,
  kF16,
  kF32,
  kF64,
  kC64,
  kC128,
  kToken,
  kOpaque,
  kTuple,
};

// Width of one element in bits: 4 for s4, 8 for pred, 128 for c128; 0 for token, opaque and tuple.
int ElementBits(ElementType type);

// The name in HLO text ("bf16", "f8e4m3fn", ...); "tuple" for kTuple.
absl::string_view ElementTypeName(ElementType type);

// The type with that name in HLO text, or nullopt. "tuple" is not a name in HLO text.
absl::optional<ElementType> ElementTypeFromName(absl::string_view name);

// One tile, most major dimension first. kCombineDimension ('*' in the text) means that the
// dimension is merged with the next more minor one before the rest of the tile applies.
using Tile = absl::InlinedVector<int64_t, 2>;
inline constexpr int64_t kCombineDimension = -1;

// The braces behind the dimensions, as in {1,0:T(8,128)(2,1)S(3)}. Parts that change neither size
// nor memory space (index and pointer types, tail padding, split configs, physical shapes, D(...)
// level types) are accepted and dropped.
struct Layout {
  absl::InlinedVector<int32_t, 6> minor_to_major;  // dimension numbers, most minor first
  absl::InlinedVector<Tile, 3> tiles;              // outermost tile first
  int32_t memory_space = 0;                        // the n of S(n); 0 means HBM
  int32_t element_size_in_bits = 0;                // the n of E(n); 0 means ElementBits of the type

  friend bool operator==(const Layout&, const Layout&) = default;
};

// The shape of an array, a token, an opaque value or a tuple.
struct Shape {
  ElementType element_type = ElementType::kTuple;
  // numbers of elements; a dynamic dimension `<=n` counts as its bound n
  absl::InlinedVector<int64_t, 4> dims;
  Layout layout;                    // of an array; if no layout is printed, row major without tiles
  std::vector<Shape> tuple_shapes;  // of a tuple; empty for ()

  bool IsTuple() const { return element_type == ElementType::kTuple; }

  friend bool operator==(const Shape&, const Shape&) = default;
};

// Path from a shape to one of its parts: {} is the shape itself, {1, 0} the first element of the
// second element of a tuple.
using ShapeIndex = absl::InlinedVector<int32_t, 2>;

// Product of the dimensions, saturated at INT64_MAX; 1 for a scalar, 0 for a tuple.
int64_t ElementCount(const Shape& shape);

// Bytes of an array in its layout, saturated at INT64_MAX. The most minor dimensions are rounded up
// to the first tile; sub-tiles such as the (2,1) of T(8,128)(2,1) add no padding (XLA:
// ShapeUtil::ArraySize). Elements have E(n) bits, or else the width of their type; elements of less
// than one byte are packed. 0 for a tuple, a token and an opaque value.
int64_t ShapeByteSize(const Shape& shape);

// Bytes of the pointer tables of a tuple and of all tuples in it (XLA:
// ShapeUtil::ByteSizeOfTupleIndexTable, summed over nested tuples); 0 for an array.
int64_t TuplePointerBytes(const Shape& shape, int64_t pointer_bytes);

// Number of the parts that are not tuples: 1 for an array.
int32_t LeafCount(const Shape& shape);

// Calls `visit` in order for each part that is not a tuple, with the part's index. For an array
// this is one call with the empty index. The index is valid only during the call.
void ForEachLeaf(const Shape& shape,
                 absl::FunctionRef<void(absl::Span<const int32_t>, const Shape&)> visit);

// The indices of all parts that are not tuples, in order.
std::vector<ShapeIndex> LeafIndices(const Shape& shape);

// The part of `shape` at `index`, or nullptr if there is none. Points into `shape`.
const Shape* SubShape(const Shape& shape, absl::Span<const int32_t> index);

// HLO text of the shape with its layout.
std::string ShapeToString(const Shape& shape);

// The same without memory spaces, so that it is equal in all compiles of one function.
std::string ShapeToStringWithoutMemory(Shape shape);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_SHAPE_H_
