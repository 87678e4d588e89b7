// Shapes of XLA's messages: comparison with and without memory spaces, leaves, sizes.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_SHAPES_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_SHAPES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "mallocmuzero/xla/hlo.pb.h"
#include "simulator/hlo/shape.h"

namespace mallocmuzero::place_check {

// True for a tuple.
bool IsTuple(const xla::ShapeProto& shape);

// Describes what makes the shape invalid, or returns "" if it is valid. All other functions require
// a valid shape.
std::string ShapeFault(const xla::ShapeProto& shape);

// The parts that are not tuples, in order; for an array, the array itself. The pointers point into
// `shape`.
std::vector<const xla::ShapeProto*> Leaves(const xla::ShapeProto& shape);

// Number of the parts that are not tuples.
size_t LeafCount(const xla::ShapeProto& shape);

// The n of S(n) of an array, its memory space.
int64_t SpaceOf(const xla::ShapeProto& leaf);

// Bytes of an array in its layout, saturated at INT64_MAX; 0 for a tuple or token.
int64_t ByteSize(const xla::ShapeProto& shape);

// True if two shapes are equal. SameButForSpaces ignores the memory spaces of their arrays.
bool SameShape(const xla::ShapeProto& a, const xla::ShapeProto& b);
bool SameButForSpaces(const xla::ShapeProto& a, const xla::ShapeProto& b);

// True if two shapes, which are the same except for spaces, differ only where one has an array in
// space 0 and the other in `fast_space`.
bool OnlyMoved(const xla::ShapeProto& a, const xla::ShapeProto& b, int64_t fast_space);

// The HLO text of the shape.
std::string Describe(const xla::ShapeProto& shape);

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_SHAPES_H_
