#include "simulator/place_check/shapes.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

namespace mallocmuzero::place_check {
namespace {

using hlo::ElementType;

constexpr int kTupleType = 13;      // xla.PrimitiveType
constexpr int kMaxShapeDepth = 50;  // most tuples inside each other; real shapes have 3
constexpr int64_t kMaxExtent = int64_t{1} << 48;

// Indexed by xla.PrimitiveType, the numbers of xla_data.proto.
constexpr ElementType kElementTypes[] = {
    ElementType::kTuple,  // 0 is no type
    ElementType::kPred,
    ElementType::kS8,
    ElementType::kS16,
    ElementType::kS32,
    ElementType::kS64,
    ElementType::kU8,
    ElementType::kU16,
    ElementType::kU32,
    ElementType::kU64,
    ElementType::kF16,
    ElementType::kF32,
    ElementType::kF64,
    ElementType::kTuple,
    ElementType::kOpaque,
    ElementType::kC64,
    ElementType::kBF16,
    ElementType::kToken,
    ElementType::kC128,
    ElementType::kF8E5M2,
    ElementType::kF8E4M3FN,
    ElementType::kS4,
    ElementType::kU4,
    ElementType::kF8E4M3B11FNUZ,
    ElementType::kF8E5M2FNUZ,
    ElementType::kF8E4M3FNUZ,
    ElementType::kS2,
    ElementType::kU2,
    ElementType::kF8E4M3,
    ElementType::kF8E3M4,
    ElementType::kS1,
    ElementType::kU1,
    ElementType::kF4E2M1FN,
    ElementType::kF8E8M0FNU,
};
constexpr int kElementTypeCount = std::size(kElementTypes);

std::string LayoutFault(const xla::ShapeProto& shape) {
  const xla::LayoutProto& layout = shape.layout();
  const int rank = shape.dimensions_size();
  if (layout.minor_to_major_size() != 0 && layout.minor_to_major_size() != rank) {
    return "a layout whose rank differs";
  }
  std::vector<bool> seen(rank, false);
  for (const int64_t dim : layout.minor_to_major()) {
    if (dim < 0 || dim >= rank || seen[dim]) return "a layout that is not a permutation";
    seen[dim] = true;
  }
  for (const xla::TileProto& tile : layout.tiles()) {
    for (const int64_t extent : tile.dimensions()) {
      const bool combine = extent == std::numeric_limits<int64_t>::min();
      if (!combine && (extent < 1 || extent > kMaxExtent)) return "a tile that is not positive";
    }
  }
  if (layout.element_size_in_bits() < 0 || layout.element_size_in_bits() > 1024) {
    return "an invalid element size";
  }
  return "";
}

std::string FaultBelow(const xla::ShapeProto& shape, int depth) {
  if (depth > kMaxShapeDepth) return "tuples nested too deep";
  if (shape.element_type() < 1 || shape.element_type() >= kElementTypeCount) {
    return absl::StrCat("unknown element type ", shape.element_type());
  }
  if (!IsTuple(shape) && shape.tuple_shapes_size() > 0)
    return "tuple elements in a shape that is no tuple";
  for (const xla::ShapeProto& part : shape.tuple_shapes()) {
    std::string fault = FaultBelow(part, depth + 1);
    if (!fault.empty()) return fault;
  }
  for (const int64_t extent : shape.dimensions()) {
    if (extent < 0 || extent > kMaxExtent) return absl::StrCat("dimension of ", extent);
  }
  return IsTuple(shape) ? "" : LayoutFault(shape);
}

hlo::Shape ArrayShape(const xla::ShapeProto& proto) {
  hlo::Shape shape;
  shape.element_type = kElementTypes[proto.element_type()];
  shape.dims.assign(proto.dimensions().begin(), proto.dimensions().end());
  for (const int64_t dim : proto.layout().minor_to_major()) {
    shape.layout.minor_to_major.push_back(dim);
  }
  for (const xla::TileProto& tile : proto.layout().tiles()) {
    hlo::Tile& extents = shape.layout.tiles.emplace_back();
    for (const int64_t extent : tile.dimensions()) {
      extents.push_back(extent < 0 ? hlo::kCombineDimension : extent);
    }
  }
  shape.layout.memory_space = proto.layout().memory_space();
  shape.layout.element_size_in_bits = proto.layout().element_size_in_bits();
  return shape;
}

void AppendLeaves(const xla::ShapeProto& shape, std::vector<const xla::ShapeProto*>& leaves) {
  if (!IsTuple(shape)) {
    leaves.push_back(&shape);
    return;
  }
  for (const xla::ShapeProto& part : shape.tuple_shapes()) AppendLeaves(part, leaves);
}

// The serialised array. Equal for equal arrays, including fields that this build does not know.
std::string ArrayBytes(xla::ShapeProto array, bool with_space) {
  if (!with_space) array.mutable_layout()->clear_memory_space();
  array.mutable_layout();
  const auto& dynamic = array.is_dynamic_dimension();
  if (std::find(dynamic.begin(), dynamic.end(), true) == dynamic.end()) {
    array.clear_is_dynamic_dimension();
  }
  return array.SerializeAsString();
}

bool Same(const xla::ShapeProto& a, const xla::ShapeProto& b, bool with_space) {
  if (a.element_type() != b.element_type() || a.tuple_shapes_size() != b.tuple_shapes_size()) {
    return false;
  }
  if (!IsTuple(a)) return ArrayBytes(a, with_space) == ArrayBytes(b, with_space);
  for (int i = 0; i < a.tuple_shapes_size(); ++i) {
    if (!Same(a.tuple_shapes(i), b.tuple_shapes(i), with_space)) return false;
  }
  return true;
}

}  // namespace

bool IsTuple(const xla::ShapeProto& shape) { return shape.element_type() == kTupleType; }

std::string ShapeFault(const xla::ShapeProto& shape) { return FaultBelow(shape, 0); }

std::vector<const xla::ShapeProto*> Leaves(const xla::ShapeProto& shape) {
  std::vector<const xla::ShapeProto*> leaves;
  AppendLeaves(shape, leaves);
  return leaves;
}

size_t LeafCount(const xla::ShapeProto& shape) {
  if (!IsTuple(shape)) return 1;
  size_t count = 0;
  for (const xla::ShapeProto& part : shape.tuple_shapes()) count += LeafCount(part);
  return count;
}

int64_t SpaceOf(const xla::ShapeProto& leaf) { return leaf.layout().memory_space(); }

int64_t ByteSize(const xla::ShapeProto& shape) {
  return IsTuple(shape) ? 0 : hlo::ShapeByteSize(ArrayShape(shape));
}

bool SameShape(const xla::ShapeProto& a, const xla::ShapeProto& b) { return Same(a, b, true); }

bool SameButForSpaces(const xla::ShapeProto& a, const xla::ShapeProto& b) {
  return Same(a, b, false);
}

bool OnlyMoved(const xla::ShapeProto& a, const xla::ShapeProto& b, int64_t fast_space) {
  if (IsTuple(a)) {
    for (int i = 0; i < std::min(a.tuple_shapes_size(), b.tuple_shapes_size()); ++i) {
      if (!OnlyMoved(a.tuple_shapes(i), b.tuple_shapes(i), fast_space)) return false;
    }
    return true;
  }
  const auto placeable = [&](int64_t space) { return space == 0 || space == fast_space; };
  return SpaceOf(a) == SpaceOf(b) || (placeable(SpaceOf(a)) && placeable(SpaceOf(b)));
}

std::string Describe(const xla::ShapeProto& shape) {
  if (!IsTuple(shape)) return hlo::ShapeToString(ArrayShape(shape));
  if (shape.tuple_shapes_size() > 8) {
    return absl::StrCat("a tuple of ", shape.tuple_shapes_size(), " elements");
  }
  std::string text = "(";
  for (const xla::ShapeProto& part : shape.tuple_shapes()) {
    absl::StrAppend(&text, text.size() > 1 ? ", " : "", Describe(part));
  }
  return absl::StrCat(text, ")");
}

}  // namespace mallocmuzero::place_check
