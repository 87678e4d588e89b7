// Replay's large messages, read and written without protobuf's copies: payloads are most of them.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_WIRE_H_
#define MALLOCMUZERO_REPLAY_SERVICE_WIRE_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/item.h"

namespace mallocmuzero {

// An InsertRequest. Items that can never be taken are in `refusals` instead of `items`.
struct InsertMessage {
  std::vector<Item> items;
  std::vector<v1::InsertResponse::Refusal> refusals;
  bool replace = false;
  size_t bytes = 0;  // of `items`
};

// InvalidArgument if the bytes are no InsertRequest. `message` is read, not changed.
absl::StatusOr<InsertMessage> ReadInsertRequest(const grpc::ByteBuffer& message);

// Metadata of a serialized ReplayItem. InvalidArgument, naming the field and what would be right,
// if it is none or one that a shard does not take.
absl::StatusOr<ItemMetadata> ReadItem(absl::string_view wire);

// Writes a SampleResponse: any number of AddItem, then Finish, once.
class SampleResponseWriter {
 public:
  // An item that was drawn, `wire` its serialized ReplayItem, and each of its draws.
  void AddItem(const grpc::Slice& wire, absl::Span<const v1::SampleResponse::Draw> draws);

  // Of the message so far.
  size_t bytes() const { return bytes_; }

  // Fields other than `drawn` are taken from `rest`.
  grpc::ByteBuffer Finish(const v1::SampleResponse& rest);

 private:
  void Flush();

  std::string text_;  // what follows the last slice
  std::vector<grpc::Slice> slices_;
  size_t bytes_ = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_WIRE_H_
