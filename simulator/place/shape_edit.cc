#include "simulator/place/shape_edit.h"

#include "google/protobuf/util/message_differencer.h"

namespace mallocmuzero::place {
namespace {

using google::protobuf::util::MessageDifferencer;

// The memory space in which libtpu keeps sync flags.
constexpr int64_t kSyncFlagSpace = 2;

void ClearMemorySpaces(xla::ShapeProto& shape) {
  if (shape.has_layout()) shape.mutable_layout()->clear_memory_space();
  for (xla::ShapeProto& part : *shape.mutable_tuple_shapes()) ClearMemorySpaces(part);
}

}  // namespace

const xla::ShapeProto* SubShape(const xla::ShapeProto& shape, absl::Span<const int32_t> index) {
  const xla::ShapeProto* part = &shape;
  for (const int32_t i : index) {
    if (i < 0 || i >= part->tuple_shapes_size()) return nullptr;
    part = &part->tuple_shapes(i);
  }
  return part;
}

xla::ShapeProto* MutableSubShape(xla::ShapeProto& shape, absl::Span<const int32_t> index) {
  xla::ShapeProto* part = &shape;
  for (const int32_t i : index) {
    if (i < 0 || i >= part->tuple_shapes_size()) return nullptr;
    part = part->mutable_tuple_shapes(i);
  }
  return part;
}

void SetMemorySpace(xla::ShapeProto& shape, absl::Span<const int32_t> index, int64_t space) {
  MutableSubShape(shape, index)->mutable_layout()->set_memory_space(space);
}

bool SameShape(const xla::ShapeProto& a, const xla::ShapeProto& b) {
  return MessageDifferencer::Equals(a, b);
}

bool SameButForMemory(const xla::ShapeProto& a, const xla::ShapeProto& b) {
  xla::ShapeProto x = a;
  xla::ShapeProto y = b;
  ClearMemorySpaces(x);
  ClearMemorySpaces(y);
  return SameShape(x, y);
}

xla::ShapeProto TupleShape(absl::Span<const xla::ShapeProto> elements) {
  xla::ShapeProto shape;
  shape.set_element_type(kTupleType);
  for (const xla::ShapeProto& element : elements) *shape.add_tuple_shapes() = element;
  return shape;
}

xla::ShapeProto CopyContextShape() {
  xla::ShapeProto shape;
  shape.set_element_type(kU32Type);
  xla::LayoutProto& layout = *shape.mutable_layout();
  layout.set_memory_space(kSyncFlagSpace);
  layout.set_tail_padding_alignment_in_elements(1);
  return shape;
}

}  // namespace mallocmuzero::place
