// Edits of the shapes of a module message: which memory an array is in.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_SHAPE_EDIT_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_SHAPE_EDIT_H_

#include <cstdint>

#include "absl/types/span.h"
#include "mallocmuzero/xla/hlo.pb.h"
#include "simulator/hlo/shape.h"

namespace mallocmuzero::place {

// xla.PrimitiveType of what the edits need to know.
inline constexpr int32_t kTupleType = 13;
inline constexpr int32_t kU32Type = 8;

// The part of `shape` at `index`, or nullptr if there is none. Points into `shape`.
const xla::ShapeProto* SubShape(const xla::ShapeProto& shape, absl::Span<const int32_t> index);
xla::ShapeProto* MutableSubShape(xla::ShapeProto& shape, absl::Span<const int32_t> index);

// Puts the array at `index` into a memory space. The index must exist.
void SetMemorySpace(xla::ShapeProto& shape, absl::Span<const int32_t> index, int64_t space);

// Whether two shapes are equal but for the memory spaces of their arrays.
bool SameButForMemory(const xla::ShapeProto& a, const xla::ShapeProto& b);

// Whether two shapes are equal, memory spaces included.
bool SameShape(const xla::ShapeProto& a, const xla::ShapeProto& b);

// The tuple of two or more shapes, in order.
xla::ShapeProto TupleShape(absl::Span<const xla::ShapeProto> elements);

// The third element of copy-start's result: a sync flag, `u32[]{:S(2)}`.
xla::ShapeProto CopyContextShape();

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_SHAPE_EDIT_H_
