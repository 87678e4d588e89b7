// Reads shapes and shape indices of HLO text.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_SHAPE_PARSER_H_
#define MALLOCMUZERO_SIMULATOR_HLO_SHAPE_PARSER_H_

#include "absl/strings/string_view.h"
#include "simulator/hlo/lexer.h"
#include "simulator/hlo/shape.h"

namespace mallocmuzero::hlo {

// Tuples in tuples that are accepted; real programs stay below 5.
inline constexpr int kMaxTupleDepth = 64;
// XLA itself goes far lower; the bound lets a bit mask check minor_to_major.
inline constexpr int kMaxRank = 64;

// Reads `bf16[8,128]{1,0:T(8,128)(2,1)S(1)}`, a tuple `(shape, ...)` or a buffer `b(shape)`, which
// is taken as the array in it. False with the lexer's error set if the text is no shape, nests
// deeper than kMaxTupleDepth, or an array's laid-out size in bytes does not fit into 64 bits.
bool ParseShape(Lexer& lexer, Shape& shape);

// Reads a shape index such as {} or {1,0}.
bool ParseShapeIndex(Lexer& lexer, ShapeIndex& index);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_SHAPE_PARSER_H_
