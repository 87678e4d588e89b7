// Reads shapes and shape indices of HLO text.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_SHAPE_PARSER_H_
#define MALLOCMUZERO_SIMULATOR_HLO_SHAPE_PARSER_H_

#include "absl/strings/string_view.h"
#include "simulator/hlo/lexer.h"
#include "simulator/hlo/shape.h"

namespace mallocmuzero::hlo {

// Most tuples inside each other; real programs stay below 5.
inline constexpr int kMaxTupleDepth = 64;
// Most dimensions, most tiles, and most dimensions of a tile. The bound allows a bit mask to check
// minor_to_major; XLA's own bound is far lower.
inline constexpr int kMaxRank = 64;

// Reads `bf16[8,128]{1,0:T(8,128)(2,1)S(1)}`, a tuple `(shape, ...)` or a buffer `b(shape)`, which
// becomes the array in it. Returns false, with the lexer's error set, if the text is no shape,
// tuples nest deeper than kMaxTupleDepth, or the size of an array in its layout does not fit into
// 64 bits.
bool ParseShape(Lexer& lexer, Shape& shape);

// Reads a shape index such as {} or {1,0}.
bool ParseShapeIndex(Lexer& lexer, ShapeIndex& index);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_SHAPE_PARSER_H_
