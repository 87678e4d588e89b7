#include "simulator/hlo/shape_from_proto.h"

#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "simulator/hlo/shape_parser.h"

namespace mallocmuzero::hlo {
namespace {

constexpr int32_t kTupleType = 13;
constexpr int32_t kBufferType = 34;

struct NumberedType {
  int32_t number;
  ElementType type;
};

// The numbers of xla.PrimitiveType in xla/xla_data.proto.
constexpr std::array kNumberedTypes = {
    NumberedType{1, ElementType::kPred},        NumberedType{2, ElementType::kS8},
    NumberedType{3, ElementType::kS16},         NumberedType{4, ElementType::kS32},
    NumberedType{5, ElementType::kS64},         NumberedType{6, ElementType::kU8},
    NumberedType{7, ElementType::kU16},         NumberedType{8, ElementType::kU32},
    NumberedType{9, ElementType::kU64},         NumberedType{10, ElementType::kF16},
    NumberedType{11, ElementType::kF32},        NumberedType{12, ElementType::kF64},
    NumberedType{14, ElementType::kOpaque},     NumberedType{15, ElementType::kC64},
    NumberedType{16, ElementType::kBF16},       NumberedType{17, ElementType::kToken},
    NumberedType{18, ElementType::kC128},       NumberedType{19, ElementType::kF8E5M2},
    NumberedType{20, ElementType::kF8E4M3FN},   NumberedType{21, ElementType::kS4},
    NumberedType{22, ElementType::kU4},         NumberedType{23, ElementType::kF8E4M3B11FNUZ},
    NumberedType{24, ElementType::kF8E5M2FNUZ}, NumberedType{25, ElementType::kF8E4M3FNUZ},
    NumberedType{26, ElementType::kS2},         NumberedType{27, ElementType::kU2},
    NumberedType{28, ElementType::kF8E4M3},     NumberedType{29, ElementType::kF8E3M4},
    NumberedType{30, ElementType::kS1},         NumberedType{31, ElementType::kU1},
    NumberedType{32, ElementType::kF4E2M1FN},   NumberedType{33, ElementType::kF8E8M0FNU},
};

absl::Status Expected(absl::string_view field, absl::string_view expected, int64_t found) {
  return absl::InvalidArgumentError(
      absl::StrCat("shape.", field, ": expected ", expected, ", found ", found));
}

absl::Status FillDimensions(const xla::ShapeProto& proto, Shape& shape) {
  if (proto.dimensions_size() > kMaxRank) {
    return Expected("dimensions", absl::StrCat("at most ", kMaxRank), proto.dimensions_size());
  }
  for (const int64_t dimension : proto.dimensions()) {
    if (dimension < 0) return Expected("dimensions", "no negative number", dimension);
    shape.dims.push_back(dimension);
  }
  return absl::OkStatus();
}

absl::Status FillTiles(const xla::LayoutProto& proto, Layout& layout) {
  constexpr int64_t kCombine = std::numeric_limits<int64_t>::min();  // '*' in text
  for (const xla::TileProto& tile : proto.tiles()) {
    Tile& extents = layout.tiles.emplace_back();
    for (const int64_t extent : tile.dimensions()) {
      const bool combines = extent == kCombine;
      if (!combines && (extent < 1 || extent > std::numeric_limits<int32_t>::max())) {
        return Expected("layout.tiles", "a positive 32-bit number", extent);
      }
      extents.push_back(combines ? kCombineDimension : extent);
    }
    if (extents.empty()) return Expected("layout.tiles", "at least one dimension", 0);
  }
  return absl::OkStatus();
}

absl::Status FillLayout(const xla::LayoutProto& proto, Shape& shape) {
  constexpr absl::string_view kNotNegative = "a 32-bit number that is not negative";
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
  const auto rank = std::ssize(shape.dims);
  for (const int64_t dimension : proto.minor_to_major()) {
    if (dimension < 0 || dimension >= rank) {
      return Expected("layout.minor_to_major", absl::StrCat("one of ", rank, " dimensions"),
                      dimension);
    }
    shape.layout.minor_to_major.push_back(dimension);
  }
  const int64_t space = proto.memory_space();
  if (space < 0 || space > kLargest) return Expected("layout.memory_space", kNotNegative, space);
  const int64_t bits = proto.element_size_in_bits();
  if (bits < 0 || bits > kLargest) {
    return Expected("layout.element_size_in_bits", kNotNegative, bits);
  }
  shape.layout.memory_space = space;
  shape.layout.element_size_in_bits = bits;
  return FillTiles(proto, shape.layout);
}

absl::Status Fill(const xla::ShapeProto& proto, int depth, Shape& shape) {
  if (depth > kMaxTupleDepth) {
    return Expected("tuple_shapes", absl::StrCat("at most ", kMaxTupleDepth, " nested tuples"),
                    depth);
  }
  if (proto.element_type() == kTupleType) {
    shape.element_type = ElementType::kTuple;
    for (const xla::ShapeProto& part : proto.tuple_shapes()) {
      absl::Status status = Fill(part, depth + 1, shape.tuple_shapes.emplace_back());
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  if (proto.element_type() == kBufferType && proto.tuple_shapes_size() == 1) {
    return Fill(proto.tuple_shapes(0), depth + 1, shape);
  }
  for (const NumberedType& known : kNumberedTypes) {
    if (known.number != proto.element_type()) continue;
    shape.element_type = known.type;
    absl::Status status = FillDimensions(proto, shape);
    return status.ok() ? FillLayout(proto.layout(), shape) : status;
  }
  return Expected("element_type", "the number of an xla.PrimitiveType", proto.element_type());
}

}  // namespace

absl::StatusOr<Shape> ShapeFromProto(const xla::ShapeProto& proto) {
  Shape shape;
  absl::Status status = Fill(proto, 0, shape);
  if (!status.ok()) return status;
  return shape;
}

}  // namespace mallocmuzero::hlo
