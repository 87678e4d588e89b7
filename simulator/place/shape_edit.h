// Edits of the shapes in a module message: which memory an array is in.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_SHAPE_EDIT_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_SHAPE_EDIT_H_

#include <cstdint>

#include "absl/types/span.h"
#include "mallocmuzero/xla/hlo.pb.h"
#include "simulator/hlo/shape.h"

namespace mallocmuzero::place {

// The numbers of xla.PrimitiveType that the edits need.
inline constexpr int32_t kTupleType = 13;
inline constexpr int32_t kU32Type = 8;

// The part of `shape` at `index`, or nullptr if there is none. The pointer points into `shape`.
const xla::ShapeProto* SubShape(const xla::ShapeProto& shape, absl::Span<const int32_t> index);
xla::ShapeProto* MutableSubShape(xla::ShapeProto& shape, absl::Span<const int32_t> index);

// Sets the memory space of the array at `index`. The index must exist.
void SetMemorySpace(xla::ShapeProto& shape, absl::Span<const int32_t> index, int64_t space);

// True if two shapes are equal except for the memory spaces of their arrays.
bool SameButForMemory(const xla::ShapeProto& a, const xla::ShapeProto& b);

// True if two shapes are equal, memory spaces included.
bool SameShape(const xla::ShapeProto& a, const xla::ShapeProto& b);

// A tuple shape with these elements, two or more, in order.
xla::ShapeProto TupleShape(absl::Span<const xla::ShapeProto> elements);

// The shape of the third element of copy-start's result: a sync flag, `u32[]{:S(2)}`.
xla::ShapeProto CopyContextShape();

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_SHAPE_EDIT_H_
