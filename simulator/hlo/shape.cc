#include "simulator/hlo/shape.h"

#include <array>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/enums.h"

namespace mallocmuzero::hlo {
namespace {

struct ElementTypeInfo {
  absl::string_view name;
  int bits;
};

// Indexed by ElementType.
constexpr std::array<ElementTypeInfo, Underlying(ElementType::kTuple) + 1> kTypes = {{
    {"pred", 8},
    {"s1", 1},
    {"s2", 2},
    {"s4", 4},
    {"s8", 8},
    {"s16", 16},
    {"s32", 32},
    {"s64", 64},
    {"u1", 1},
    {"u2", 2},
    {"u4", 4},
    {"u8", 8},
    {"u16", 16},
    {"u32", 32},
    {"u64", 64},
    {"f4e2m1fn", 4},
    {"f8e3m4", 8},
    {"f8e4m3", 8},
    {"f8e4m3b11fnuz", 8},
    {"f8e4m3fn", 8},
    {"f8e4m3fnuz", 8},
    {"f8e5m2", 8},
    {"f8e5m2fnuz", 8},
    {"f8e8m0fnu", 8},
    {"bf16", 16},
    {"f16", 16},
    {"f32", 32},
    {"f64", 64},
    {"c64", 64},
    {"c128", 128},
    {"token", 0},
    {"opaque", 0},
    {"tuple", 0},
}};

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

int64_t SaturatingMultiply(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? kMax : product;
}

int64_t SaturatingRoundUp(int64_t value, int64_t multiple) {
  if (multiple <= 1) return value;
  const int64_t rest = value % multiple;
  if (rest == 0) return value;
  return value > kMax - (multiple - rest) ? kMax : value + (multiple - rest);
}

// The dimensions to which the tile applies, most minor first: permuted by the layout, and merged
// where the tile says kCombineDimension.
absl::InlinedVector<int64_t, 6> PhysicalDims(const Shape& shape, const Tile& tile) {
  absl::InlinedVector<int64_t, 6> dims;
  const auto& minor_to_major = shape.layout.minor_to_major;
  const int64_t rank = std::ssize(shape.dims);
  int64_t merged = 1;
  for (int i = 0; i < rank; ++i) {
    const int dim = minor_to_major.size() == rank ? minor_to_major[i] : rank - 1 - i;
    merged = SaturatingMultiply(merged, shape.dims[dim]);
    // The tile's entry for the next more major dimension says whether that dimension merges with
    // this one.
    const int64_t next = std::ssize(tile) - 2 - i;
    if (next >= 0 && tile[next] == kCombineDimension && i + 1 < rank) continue;
    dims.push_back(merged);
    merged = 1;
  }
  return dims;
}

int64_t PaddedElementCount(const Shape& shape) {
  if (shape.layout.tiles.empty()) return ElementCount(shape);
  const Tile& tile = shape.layout.tiles.front();
  const absl::InlinedVector<int64_t, 6> dims = PhysicalDims(shape, tile);
  int64_t count = 1;
  size_t next = 0;
  for (auto extent = tile.rbegin(); extent != tile.rend(); ++extent) {
    if (*extent == kCombineDimension) continue;
    count =
        SaturatingMultiply(count, SaturatingRoundUp(next < dims.size() ? dims[next] : 1, *extent));
    ++next;
  }
  for (; next < dims.size(); ++next) count = SaturatingMultiply(count, dims[next]);
  return count;
}

void VisitLeaves(const Shape& shape, ShapeIndex& index,
                 absl::FunctionRef<void(absl::Span<const int32_t>, const Shape&)> visit) {
  if (!shape.IsTuple()) {
    visit(index, shape);
    return;
  }
  index.push_back(0);
  for (const Shape& part : shape.tuple_shapes) {
    VisitLeaves(part, index, visit);
    ++index.back();
  }
  index.pop_back();
}

std::string LayoutToString(const Layout& layout) {
  std::string text = absl::StrJoin(layout.minor_to_major, ",");
  std::string suffix;
  for (const Tile& tile : layout.tiles) {
    absl::StrAppend(&suffix, suffix.empty() ? "T(" : "(",
                    absl::StrJoin(tile, ",",
                                  [](std::string* out, int64_t extent) {
                                    if (extent == kCombineDimension) {
                                      out->push_back('*');
                                    } else {
                                      absl::StrAppend(out, extent);
                                    }
                                  }),
                    ")");
  }
  if (layout.element_size_in_bits != 0) {
    absl::StrAppend(&suffix, "E(", layout.element_size_in_bits, ")");
  }
  if (layout.memory_space != 0) absl::StrAppend(&suffix, "S(", layout.memory_space, ")");
  if (!suffix.empty()) absl::StrAppend(&text, ":", suffix);
  return text.empty() ? text : absl::StrCat("{", text, "}");
}

void ClearMemorySpaces(Shape& shape) {
  shape.layout.memory_space = 0;
  for (Shape& part : shape.tuple_shapes) ClearMemorySpaces(part);
}

}  // namespace

int ElementBits(ElementType type) { return kTypes[Underlying(type)].bits; }

absl::string_view ElementTypeName(ElementType type) { return kTypes[Underlying(type)].name; }

absl::optional<ElementType> ElementTypeFromName(absl::string_view name) {
  for (size_t i = 0; i + 1 < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<ElementType>(i);
  }
  return absl::nullopt;
}

int64_t ElementCount(const Shape& shape) {
  if (shape.IsTuple()) return 0;
  int64_t count = 1;
  for (const int64_t dim : shape.dims) count = SaturatingMultiply(count, dim);
  return count;
}

int64_t ShapeByteSize(const Shape& shape) {
  const int type_bits = ElementBits(shape.element_type);
  if (type_bits == 0) return 0;
  const int64_t bits =
      shape.layout.element_size_in_bits > 0 ? shape.layout.element_size_in_bits : type_bits;
  const int64_t total = SaturatingMultiply(PaddedElementCount(shape), bits);
  return total == kMax ? kMax : SaturatingRoundUp(total, 8) / 8;
}

int64_t TuplePointerBytes(const Shape& shape, int64_t pointer_bytes) {
  if (!shape.IsTuple()) return 0;
  int64_t bytes = pointer_bytes * std::ssize(shape.tuple_shapes);
  for (const Shape& part : shape.tuple_shapes) bytes += TuplePointerBytes(part, pointer_bytes);
  return bytes;
}

int32_t LeafCount(const Shape& shape) {
  if (!shape.IsTuple()) return 1;
  int32_t count = 0;
  for (const Shape& part : shape.tuple_shapes) count += LeafCount(part);
  return count;
}

void ForEachLeaf(const Shape& shape,
                 absl::FunctionRef<void(absl::Span<const int32_t>, const Shape&)> visit) {
  ShapeIndex index;
  VisitLeaves(shape, index, visit);
}

std::vector<ShapeIndex> LeafIndices(const Shape& shape) {
  std::vector<ShapeIndex> indices;
  ForEachLeaf(shape, [&](absl::Span<const int32_t> index, const Shape&) {
    indices.emplace_back(index.begin(), index.end());
  });
  return indices;
}

const Shape* SubShape(const Shape& shape, absl::Span<const int32_t> index) {
  const Shape* part = &shape;
  for (const int32_t i : index) {
    if (!part->IsTuple() || i < 0 || i >= part->tuple_shapes.size()) return nullptr;
    part = &part->tuple_shapes[i];
  }
  return part;
}

std::string ShapeToString(const Shape& shape) {
  if (shape.IsTuple()) {
    return absl::StrCat("(",
                        absl::StrJoin(shape.tuple_shapes, ", ",
                                      [](std::string* out, const Shape& part) {
                                        out->append(ShapeToString(part));
                                      }),
                        ")");
  }
  return absl::StrCat(ElementTypeName(shape.element_type), "[", absl::StrJoin(shape.dims, ","), "]",
                      LayoutToString(shape.layout));
}

std::string ShapeToStringWithoutMemory(Shape shape) {
  ClearMemorySpaces(shape);
  return ShapeToString(shape);
}

}  // namespace mallocmuzero::hlo
