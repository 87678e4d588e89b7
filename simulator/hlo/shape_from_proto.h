// Converts the shapes in XLA's messages to Shape.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_SHAPE_FROM_PROTO_H_
#define MALLOCMUZERO_SIMULATOR_HLO_SHAPE_FROM_PROTO_H_

#include "absl/status/statusor.h"
#include "mallocmuzero/xla/hlo.pb.h"
#include "simulator/hlo/shape.h"

namespace mallocmuzero::hlo {

// Converts a shape with its layout. A buffer becomes the array in it, as in text. Parts of a layout
// that Layout has no field for are dropped. InvalidArgument, one line without a file name, if the
// type is unknown, a number is out of range, or tuples nest deeper than kMaxTupleDepth. Does not
// check that minor_to_major is a permutation and that the size fits into 64 bits; ParseShape does.
absl::StatusOr<Shape> ShapeFromProto(const xla::ShapeProto& proto);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_SHAPE_FROM_PROTO_H_
