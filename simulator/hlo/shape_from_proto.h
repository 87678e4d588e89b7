// Converts shapes of XLA's messages to the simulator's.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_SHAPE_FROM_PROTO_H_
#define MALLOCMUZERO_SIMULATOR_HLO_SHAPE_FROM_PROTO_H_

#include "absl/status/statusor.h"
#include "mallocmuzero/xla/hlo.pb.h"
#include "simulator/hlo/shape.h"

namespace mallocmuzero::hlo {

// The shape with its layout. A buffer is taken as the array in it, as in text. Parts of a layout
// that Layout does not keep from text are dropped here, too. InvalidArgument, one line without a
// file name, if the type is unknown, a number is out of range, or tuples nest deeper than
// kMaxTupleDepth. ParseShape checks that minor_to_major is a permutation and that the size fits
// into 64 bits.
absl::StatusOr<Shape> ShapeFromProto(const xla::ShapeProto& proto);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_SHAPE_FROM_PROTO_H_
