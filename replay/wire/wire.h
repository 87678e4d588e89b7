// Reads and writes items and the messages that carry them, without protobuf's copies of their
// payloads.

#ifndef MALLOCMUZERO_REPLAY_WIRE_WIRE_H_
#define MALLOCMUZERO_REPLAY_WIRE_WIRE_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/wire/item.h"

namespace mallocmuzero {

// Serializes a ReplayItem with the fields of `fields`, whose payload must be empty, and `payload`.
grpc::Slice WriteItem(const v1::ReplayItem& fields, absl::string_view payload);

// Returns the metadata of a serialized ReplayItem. InvalidArgument if the bytes are none, or, with
// the field and its valid values, if a shard does not accept the item.
absl::StatusOr<ItemMetadata> ReadItem(absl::string_view wire);

// Writes an InsertRequest: call AddItem any number of times, then Finish once. The message shares
// the bytes of the items. Not thread-safe.
class InsertRequestWriter {
 public:
  // Adds a serialized ReplayItem.
  void AddItem(const grpc::Slice& wire);

  grpc::ByteBuffer Finish(bool replace);

 private:
  std::vector<grpc::Slice> slices_;
};

// An InsertRequest. Items that are not valid are in `refusals` instead of `items`.
struct InsertMessage {
  std::vector<Item> items;
  std::vector<v1::InsertResponse::Refusal> refusals;
  bool replace = false;
  size_t bytes = 0;  // of `items`
};

// Parses an InsertRequest. InvalidArgument if the bytes are none, or if more than 10,000 items are
// not valid. Does not change `message`.
absl::StatusOr<InsertMessage> ReadInsertRequest(const grpc::ByteBuffer& message);

// Parses an UpdatePrioritiesRequest. InvalidArgument if the bytes are none, or if it has more than
// 65,536 updates. Leaves out unknown fields. Does not change `message`.
absl::StatusOr<v1::UpdatePrioritiesRequest> ReadUpdatePrioritiesRequest(
    const grpc::ByteBuffer& message);

// Writes a SampleResponse: call AddItem any number of times, then Finish once. Not thread-safe.
class SampleResponseWriter {
 public:
  // Adds a drawn item, `wire` being its serialized ReplayItem, and all of its draws.
  void AddItem(const grpc::Slice& wire, absl::Span<const v1::SampleResponse::Draw> draws);

  // The size of the message so far.
  size_t bytes() const { return bytes_; }

  // Adds the fields of `rest`, whose `drawn` must be empty, and returns the message.
  grpc::ByteBuffer Finish(const v1::SampleResponse& rest);

 private:
  void Flush();

  std::string text_;  // the bytes after the last slice
  std::vector<grpc::Slice> slices_;
  size_t bytes_ = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_WIRE_WIRE_H_
