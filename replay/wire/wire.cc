#include "replay/wire/wire.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/size32.h"
#include "base/status_macros.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/wire/crc32c.h"
#include "replay/wire/item.h"

namespace mallocmuzero {
namespace {

using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using WireFormat = google::protobuf::internal::WireFormatLite;
using PriorityUpdate = v1::UpdatePrioritiesRequest::Update;

// Items up to this size are copied into the message, which is cheaper than a slice of their own.
constexpr size_t kCopiedBytes = 8 << 10;

constexpr size_t kMaxVarintBytes = 10;

// The most items of a request that are refused one by one. An item may have two bytes, so that
// without a bound a request would make refusals of fifty times its size.
constexpr size_t kMostRefusals = 10'000;

// The most updates of a request. An update may have two bytes, so that without a bound a request
// would make objects of thirty times its size.
constexpr int kMostUpdates = 65'536;

constexpr uint32_t Tag(int field, WireFormat::WireType type) {
  return WireFormat::MakeTag(field, type);
}

constexpr uint32_t kItemsTag =
    Tag(v1::InsertRequest::kItemsFieldNumber, WireFormat::WIRETYPE_LENGTH_DELIMITED);
constexpr uint32_t kReplaceTag =
    Tag(v1::InsertRequest::kReplaceFieldNumber, WireFormat::WIRETYPE_VARINT);
constexpr uint32_t kUpdatesTag =
    Tag(v1::UpdatePrioritiesRequest::kUpdatesFieldNumber, WireFormat::WIRETYPE_LENGTH_DELIMITED);

// The tag and the length of a field take at most this many bytes.
constexpr size_t kMaxHeadBytes = 2 * kMaxVarintBytes;

// The fields of a ReplayItem, with only the length of its payload.
struct ItemFields {
  std::string id;
  std::string program;
  double total_return = 0;
  uint32_t positions = 0;
  uint32_t own_positions = 0;
  uint32_t encoding = 0;
  int payload_bytes = 0;
};

bool ReadBytes(CodedInputStream& input, std::string& bytes) {
  int length = 0;
  return input.ReadVarintSizeAsInt(&length) && input.ReadString(&bytes, length);
}

bool ReadDouble(CodedInputStream& input, double& value) {
  uint64_t bits = 0;
  if (!input.ReadLittleEndian64(&bits)) return false;
  value = std::bit_cast<double>(bits);
  return true;
}

bool ReadField(CodedInputStream& input, uint32_t tag, ItemFields& fields) {
  switch (tag) {
    case Tag(v1::ReplayItem::kIdFieldNumber, WireFormat::WIRETYPE_LENGTH_DELIMITED):
      return ReadBytes(input, fields.id);
    case Tag(v1::ReplayItem::kProgramSha256FieldNumber, WireFormat::WIRETYPE_LENGTH_DELIMITED):
      return ReadBytes(input, fields.program);
    case Tag(v1::ReplayItem::kTotalReturnFieldNumber, WireFormat::WIRETYPE_FIXED64):
      return ReadDouble(input, fields.total_return);
    case Tag(v1::ReplayItem::kPositionsFieldNumber, WireFormat::WIRETYPE_VARINT):
      return input.ReadVarint32(&fields.positions);
    case Tag(v1::ReplayItem::kOwnPositionsFieldNumber, WireFormat::WIRETYPE_VARINT):
      return input.ReadVarint32(&fields.own_positions);
    case Tag(v1::ReplayItem::kEncodingFieldNumber, WireFormat::WIRETYPE_VARINT):
      return input.ReadVarint32(&fields.encoding);
    case Tag(v1::ReplayItem::kPayloadFieldNumber, WireFormat::WIRETYPE_LENGTH_DELIMITED):
      return input.ReadVarintSizeAsInt(&fields.payload_bytes) && input.Skip(fields.payload_bytes);
    default:
      return WireFormat::SkipField(&input, tag);
  }
}

bool ReadField(CodedInputStream& input, uint32_t tag, PriorityUpdate& update) {
  switch (tag) {
    case Tag(PriorityUpdate::kIdFieldNumber, WireFormat::WIRETYPE_LENGTH_DELIMITED):
      return ReadBytes(input, *update.mutable_id());
    case Tag(PriorityUpdate::kPositionFieldNumber, WireFormat::WIRETYPE_VARINT): {
      uint32_t position = 0;
      const bool ok = input.ReadVarint32(&position);
      update.set_position(position);
      return ok;
    }
    case Tag(PriorityUpdate::kPriorityFieldNumber, WireFormat::WIRETYPE_FIXED64): {
      double priority = 0;
      const bool ok = ReadDouble(input, priority);
      update.set_priority(priority);
      return ok;
    }
    default:
      return WireFormat::SkipField(&input, tag);
  }
}

// Reads all fields of a serialized message. Returns false if the bytes are no message.
template <typename Fields>
bool ReadFields(absl::string_view wire, Fields& fields) {
  CodedInputStream input(reinterpret_cast<const uint8_t*>(wire.data()), Size32(wire));
  while (const uint32_t tag = input.ReadTag()) {
    if (!ReadField(input, tag, fields)) return false;
  }
  return input.ConsumedEntireMessage();
}

absl::Status Check(const ItemFields& fields) {
  const auto fail = [](absl::string_view field, const auto& is, absl::string_view right) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": ", is, ", must be ", right));
  };
  if (fields.id.size() != kItemIdBytes) {
    return fail("id", absl::StrCat(fields.id.size(), " bytes"),
                absl::StrCat(kItemIdBytes, " bytes"));
  }
  if (fields.program.size() != kProgramIdBytes) {
    return fail("program_sha256", absl::StrCat(fields.program.size(), " bytes"),
                absl::StrCat(kProgramIdBytes, " bytes"));
  }
  if (!std::isfinite(fields.total_return)) {
    return fail("total_return", fields.total_return, "finite");
  }
  if (fields.positions == 0 || fields.positions > kMaxItemPositions) {
    return fail("positions", fields.positions, absl::StrCat("1 to ", kMaxItemPositions));
  }
  if (fields.own_positions > fields.positions) {
    return fail("own_positions", fields.own_positions,
                absl::StrCat("at most `positions`, ", fields.positions));
  }
  if (fields.encoding != v1::ReplayItem::TRAJECTORY &&
      fields.encoding != v1::ReplayItem::TRAJECTORY_ZSTD) {
    return fail("encoding", fields.encoding, "TRAJECTORY or TRAJECTORY_ZSTD");
  }
  if (fields.payload_bytes == 0) return fail("payload", "empty", "a trajectory");
  return absl::OkStatus();
}

// Reads the value of a field whose tag was read.
using FieldReader = absl::FunctionRef<absl::Status(uint32_t tag, CodedInputStream& input)>;

// Calls `read` for each field of a request until it fails. Returns its error, or `broken` if the
// bytes are no message.
absl::Status ReadRequest(const grpc::ByteBuffer& message, const absl::Status& broken,
                         FieldReader read) {
  if (message.Length() == 0) return absl::OkStatus();
  // ProtoBufferReader takes a non-const buffer but does not change it.
  grpc::ProtoBufferReader reader(const_cast<grpc::ByteBuffer*>(&message));
  if (!reader.status().ok()) return broken;
  CodedInputStream input(&reader);
  while (const uint32_t tag = input.ReadTag()) MMZ_RETURN_IF_ERROR(read(tag, input));
  return input.ConsumedEntireMessage() ? absl::OkStatus() : broken;
}

absl::Status NoInsert() { return absl::InvalidArgumentError("not an InsertRequest"); }
absl::Status NoUpdate() { return absl::InvalidArgumentError("not an UpdatePrioritiesRequest"); }

// Reads the next item of a request into a slice of its own, so that a stored item does not keep the
// memory of the whole message.
absl::Status ReadNextItem(CodedInputStream& input, uint32_t index, InsertMessage& request) {
  uint32_t length = 0;
  if (!input.ReadVarint32(&length) || length > kMaxPayloadBytes) return NoInsert();
  grpc::Slice wire(length);
  // Writing is safe: no other slice shares these bytes yet.
  if (!input.ReadRaw(const_cast<uint8_t*>(wire.begin()), length)) return NoInsert();
  absl::StatusOr<ItemMetadata> metadata = ReadItem(ViewOf(wire));
  if (metadata.ok()) {
    const uint32_t crc32c = Crc32c(ViewOf(wire));
    request.items.push_back({*std::move(metadata), std::move(wire), crc32c});
    request.bytes += length;
    return absl::OkStatus();
  }
  if (request.refusals.size() >= kMostRefusals) {
    return absl::InvalidArgumentError(
        absl::StrCat("items: more than ", kMostRefusals, " are not valid"));
  }
  v1::InsertResponse::Refusal& refusal = request.refusals.emplace_back();
  refusal.set_index(index);
  refusal.set_message(std::string(metadata.status().message()));
  return absl::OkStatus();
}

void AppendVarint(uint64_t value, std::string& text) {
  uint8_t bytes[kMaxVarintBytes];
  const uint8_t* end = CodedOutputStream::WriteVarint64ToArray(value, bytes);
  text.append(reinterpret_cast<const char*>(bytes), end - bytes);
}

}  // namespace

grpc::Slice WriteItem(const v1::ReplayItem& fields, absl::string_view payload) {
  constexpr uint32_t kPayloadTag =
      Tag(v1::ReplayItem::kPayloadFieldNumber, WireFormat::WIRETYPE_LENGTH_DELIMITED);
  const size_t fields_bytes = fields.ByteSizeLong();
  const uint32_t payload_bytes = payload.size();
  grpc::Slice wire(fields_bytes + CodedOutputStream::VarintSize32(kPayloadTag) +
                   CodedOutputStream::VarintSize32(payload_bytes) + payload.size());
  // Writing is safe: no other slice shares these bytes yet.
  uint8_t* out = const_cast<uint8_t*>(wire.begin());
  out = fields.SerializeWithCachedSizesToArray(out);
  out = CodedOutputStream::WriteTagToArray(kPayloadTag, out);
  out = CodedOutputStream::WriteVarint32ToArray(payload_bytes, out);
  std::memcpy(out, payload.data(), payload.size());
  return wire;
}

void InsertRequestWriter::AddItem(const grpc::Slice& wire) {
  uint8_t head[kMaxHeadBytes];
  uint8_t* out = CodedOutputStream::WriteTagToArray(kItemsTag, head);
  out = CodedOutputStream::WriteVarint32ToArray(wire.size(), out);
  slices_.emplace_back(head, out - head);
  slices_.push_back(wire);
}

grpc::ByteBuffer InsertRequestWriter::Finish(bool replace) {
  if (replace) {
    uint8_t head[kMaxHeadBytes];
    uint8_t* out = CodedOutputStream::WriteTagToArray(kReplaceTag, head);
    out = CodedOutputStream::WriteVarint32ToArray(1, out);
    slices_.emplace_back(head, out - head);
  }
  return grpc::ByteBuffer(slices_.data(), slices_.size());
}

absl::StatusOr<ItemMetadata> ReadItem(absl::string_view wire) {
  ItemFields fields;
  if (!ReadFields(wire, fields)) return absl::InvalidArgumentError("not a ReplayItem");
  if (absl::Status status = Check(fields); !status.ok()) return status;
  ItemMetadata metadata{
      .program_sha256 = std::move(fields.program),
      .total_return = fields.total_return,
      .positions = fields.positions,
      .own_positions = fields.own_positions == 0 ? fields.positions : fields.own_positions};
  std::memcpy(metadata.id.data(), fields.id.data(), kItemIdBytes);
  return metadata;
}

absl::StatusOr<InsertMessage> ReadInsertRequest(const grpc::ByteBuffer& message) {
  InsertMessage request;
  uint32_t index = 0;
  const auto read = [&](uint32_t tag, CodedInputStream& input) -> absl::Status {
    if (tag == kItemsTag) return ReadNextItem(input, index++, request);
    if (tag != kReplaceTag) {
      return WireFormat::SkipField(&input, tag) ? absl::OkStatus() : NoInsert();
    }
    uint64_t replace = 0;
    if (!input.ReadVarint64(&replace)) return NoInsert();
    request.replace = replace != 0;
    return absl::OkStatus();
  };
  MMZ_RETURN_IF_ERROR(ReadRequest(message, NoInsert(), read));
  return request;
}

absl::StatusOr<v1::UpdatePrioritiesRequest> ReadUpdatePrioritiesRequest(
    const grpc::ByteBuffer& message) {
  v1::UpdatePrioritiesRequest request;
  std::string update;
  const auto read = [&](uint32_t tag, CodedInputStream& input) -> absl::Status {
    if (tag != kUpdatesTag) {
      return WireFormat::SkipField(&input, tag) ? absl::OkStatus() : NoUpdate();
    }
    if (request.updates_size() == kMostUpdates) {
      return absl::InvalidArgumentError(
          absl::StrCat("updates: more than ", kMostUpdates, " in one request"));
    }
    const bool ok = ReadBytes(input, update) && ReadFields(update, *request.add_updates());
    return ok ? absl::OkStatus() : NoUpdate();
  };
  MMZ_RETURN_IF_ERROR(ReadRequest(message, NoUpdate(), read));
  return request;
}

void SampleResponseWriter::AddItem(const grpc::Slice& wire,
                                   absl::Span<const v1::SampleResponse::Draw> draws) {
  constexpr uint32_t kDrawnTag =
      Tag(v1::SampleResponse::kDrawnFieldNumber, WireFormat::WIRETYPE_LENGTH_DELIMITED);
  constexpr uint32_t kItemTag =
      Tag(v1::SampleResponse::Drawn::kItemFieldNumber, WireFormat::WIRETYPE_LENGTH_DELIMITED);
  constexpr uint32_t kDrawTag =
      Tag(v1::SampleResponse::Drawn::kDrawsFieldNumber, WireFormat::WIRETYPE_LENGTH_DELIMITED);
  size_t length = 1 + CodedOutputStream::VarintSize64(wire.size()) + wire.size();
  for (const v1::SampleResponse::Draw& draw : draws) {
    const size_t draw_bytes = draw.ByteSizeLong();
    length += 1 + CodedOutputStream::VarintSize64(draw_bytes) + draw_bytes;
  }
  const size_t before = text_.size();
  AppendVarint(kDrawnTag, text_);
  AppendVarint(length, text_);
  bytes_ += text_.size() - before + length;
  // The draws come first, since the order of fields is free and the item's slice can then follow
  // the text directly.
  for (const v1::SampleResponse::Draw& draw : draws) {
    AppendVarint(kDrawTag, text_);
    AppendVarint(draw.GetCachedSize(), text_);
    draw.AppendPartialToString(&text_);
  }
  AppendVarint(kItemTag, text_);
  AppendVarint(wire.size(), text_);
  if (wire.size() <= kCopiedBytes) {
    text_.append(reinterpret_cast<const char*>(wire.begin()), wire.size());
  } else {
    Flush();
    slices_.push_back(wire);
  }
}

void SampleResponseWriter::Flush() {
  if (text_.empty()) return;
  slices_.emplace_back(text_.data(), text_.size());
  text_.clear();
}

grpc::ByteBuffer SampleResponseWriter::Finish(const v1::SampleResponse& rest) {
  rest.AppendPartialToString(&text_);
  Flush();
  return grpc::ByteBuffer(slices_.data(), slices_.size());
}

}  // namespace mallocmuzero
