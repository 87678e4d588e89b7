// Requests that a service gets as bytes, so that it checks the caller and their size before it
// makes a message of them. Unknown fields of two bytes each take many times their size in memory.
// Such a service also answers with bytes.

#ifndef MALLOCMUZERO_RPC_REQUEST_BYTES_H_
#define MALLOCMUZERO_RPC_REQUEST_BYTES_H_

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace mallocmuzero {

// The most bytes of a request with no more than a few numbers.
inline constexpr size_t kMostSmallRequestBytes = 4 << 10;

// RESOURCE_EXHAUSTED if a request of so many bytes is larger than a small one.
inline grpc::Status CheckSmall(size_t bytes) {
  if (bytes <= kMostSmallRequestBytes) return grpc::Status::OK;
  return {grpc::StatusCode::RESOURCE_EXHAUSTED,
          absl::StrCat("the request has ", bytes, " bytes, at most ", kMostSmallRequestBytes,
                       " expected")};
}
inline grpc::Status CheckSmall(const grpc::ByteBuffer& request) {
  return CheckSmall(request.Length());
}

// Parses a request. INVALID_ARGUMENT if the bytes are no such message.
template <typename Message>
grpc::Status ParseRequest(const grpc::ByteBuffer& request, Message& message) {
  message.Clear();
  if (request.Length() == 0) return grpc::Status::OK;
  // ProtoBufferReader takes a non-const buffer but does not change it.
  grpc::ProtoBufferReader reader(const_cast<grpc::ByteBuffer*>(&request));
  if (reader.status().ok() && message.ParseFromZeroCopyStream(&reader)) return grpc::Status::OK;
  return {grpc::StatusCode::INVALID_ARGUMENT,
          absl::StrCat("not a ", message.GetDescriptor()->name())};
}

// Serializes a small message; the bytes are copied.
inline grpc::ByteBuffer ToByteBuffer(const google::protobuf::MessageLite& message) {
  const grpc::Slice bytes(message.SerializeAsString());
  return grpc::ByteBuffer(&bytes, 1);
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_REQUEST_BYTES_H_
