#include "simulator/hlo/shape_parser.h"

#include <limits>

#include "absl/strings/str_cat.h"

namespace mallocmuzero::hlo {
namespace {

constexpr char kDimension[] = "a dimension (a number that is not negative)";

bool ParseDims(Lexer& lexer, Shape& shape) {
  if (!lexer.Expect('[')) return false;
  if (lexer.Consume(']')) return true;
  do {
    if (lexer.Consume('<') && !lexer.Expect('=')) return false;
    lexer.SkipSpace();
    const char* const start = lexer.position();
    int64_t dim;
    if (!lexer.ReadInt(kDimension, dim)) return false;
    if (dim < 0) return lexer.FailAt(start, kDimension);
    if (shape.dims.size() == kMaxRank) {
      return lexer.FailAt(start, absl::StrCat("at most ", kMaxRank, " dimensions"));
    }
    shape.dims.push_back(dim);
  } while (lexer.Consume(','));
  return lexer.Expect(']');
}

bool ParseMinorToMajor(Lexer& lexer, Shape& shape) {
  const char* const start = lexer.position();
  const int64_t rank = std::ssize(shape.dims);
  uint64_t seen = 0;
  do {
    int32_t dim;
    if (!lexer.ReadInt32("a dimension number", 0, dim)) return false;
    if (dim >= rank || (seen >> dim & 1) != 0) {
      return lexer.FailAt(start, absl::StrCat("a permutation of ", rank, " dimension numbers"));
    }
    seen |= uint64_t{1} << dim;
    shape.layout.minor_to_major.push_back(dim);
  } while (lexer.Consume(','));
  return shape.layout.minor_to_major.size() == rank ||
         lexer.FailAt(start, absl::StrCat("a permutation of ", rank, " dimension numbers"));
}

bool ParseTile(Lexer& lexer, Tile& tile) {
  if (!lexer.Expect('(')) return false;
  do {
    if (tile.size() == kMaxRank) {
      return lexer.Fail(absl::StrCat("at most ", kMaxRank, " dimensions of a tile"));
    }
    if (lexer.Consume('*')) {
      tile.push_back(kCombineDimension);
      continue;
    }
    int32_t extent;
    if (!lexer.ReadInt32("a tile dimension (a positive number or '*')", 1, extent)) return false;
    tile.push_back(extent);
  } while (lexer.Consume(','));
  return lexer.Expect(')');
}

bool ParseTiles(Lexer& lexer, Layout& layout) {
  do {
    if (layout.tiles.size() == kMaxRank) {
      return lexer.Fail(absl::StrCat("at most ", kMaxRank, " tiles"));
    }
    if (!ParseTile(lexer, layout.tiles.emplace_back())) return false;
  } while (lexer.Peek() == '(');
  return true;
}

bool ParseParenthesised(Lexer& lexer, absl::string_view what, int32_t& value) {
  return lexer.Expect('(') && lexer.ReadInt32(what, 0, value) && lexer.Expect(')');
}

// Parses the part of a layout behind its colon: T(8,128)(2,1)E(4)S(1). Parts such as L(8), #(u32),
// *(u64), SC(0:8), P(...), M(16) and D(D,C) are skipped.
bool ParseLayoutSuffix(Lexer& lexer, Layout& layout) {
  while (true) {
    const char next = lexer.Peek();
    if (next == '}') return true;
    if (next == '#' || next == '*') {
      lexer.Consume(next);
      if (lexer.Peek() != '(') return lexer.Fail("'('");
      if (!lexer.SkipBalanced()) return false;
      continue;
    }
    const char* const start = lexer.position();
    const absl::string_view key = lexer.TakeName();
    bool ok;
    if (key == "T") {
      ok = ParseTiles(lexer, layout);
    } else if (key == "S") {
      ok = ParseParenthesised(lexer, "a memory space", layout.memory_space);
    } else if (key == "E") {
      ok = ParseParenthesised(lexer, "an element size in bits", layout.element_size_in_bits);
    } else if (!key.empty() && lexer.Peek() == '(') {
      ok = lexer.SkipBalanced();
    } else {
      ok = lexer.FailAt(start, "a part of a layout, such as T(8,128) or S(1)");
    }
    if (!ok) return false;
  }
}

bool ParseLayout(Lexer& lexer, Shape& shape) {
  if (!lexer.Expect('{')) return false;
  const char next = lexer.Peek();
  if (next != ':' && next != '}' && !ParseMinorToMajor(lexer, shape)) return false;
  if (lexer.Consume(':') && !ParseLayoutSuffix(lexer, shape.layout)) return false;
  return lexer.Expect('}');
}

bool ParseArray(Lexer& lexer, const char* start, absl::string_view type_name, Shape& shape) {
  const absl::optional<ElementType> type = ElementTypeFromName(type_name);
  if (!type.has_value()) return lexer.FailAt(start, "a shape");
  shape.element_type = *type;
  if (!ParseDims(lexer, shape)) return false;
  // A brace is a layout only if it comes right behind the dimensions. The body of a computation
  // opens with a brace, too, but after a space.
  if (*lexer.position() == '{' && !ParseLayout(lexer, shape)) return false;
  if (ShapeByteSize(shape) == std::numeric_limits<int64_t>::max()) {
    return lexer.FailAt(start, "a shape of less than 2^63 bits");
  }
  return true;
}

bool ParseShapeAtDepth(Lexer& lexer, int depth, Shape& shape) {
  lexer.SkipSpace();
  const char* const start = lexer.position();
  if (lexer.Consume('(')) {
    if (depth == kMaxTupleDepth) {
      return lexer.FailAt(start, absl::StrCat("at most ", kMaxTupleDepth, " nested tuples"));
    }
    shape.element_type = ElementType::kTuple;
    if (lexer.Consume(')')) return true;
    do {
      if (!ParseShapeAtDepth(lexer, depth + 1, shape.tuple_shapes.emplace_back())) return false;
    } while (lexer.Consume(','));
    return lexer.Expect(')');
  }
  const absl::string_view type_name = lexer.TakeName();
  if (type_name == "b" && depth < kMaxTupleDepth && lexer.Consume('(')) {
    return ParseShapeAtDepth(lexer, depth + 1, shape) && lexer.Expect(')');
  }
  return ParseArray(lexer, start, type_name, shape);
}

}  // namespace

bool ParseShape(Lexer& lexer, Shape& shape) { return ParseShapeAtDepth(lexer, 0, shape); }

bool ParseShapeIndex(Lexer& lexer, ShapeIndex& index) {
  if (!lexer.Expect('{')) return false;
  if (lexer.Consume('}')) return true;
  do {
    int32_t position;
    if (!lexer.ReadInt32("a tuple index", 0, position)) return false;
    index.push_back(position);
  } while (lexer.Consume(','));
  return lexer.Expect('}');
}

}  // namespace mallocmuzero::hlo
