#include "rpc/request_bytes.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>

#include <string>

#include "gtest/gtest.h"
#include "mallocmuzero/v1/replay.pb.h"

namespace mallocmuzero {
namespace {

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

TEST(RequestBytes, ASmallRequestHasFourKibibytesAtMost) {
  EXPECT_TRUE(CheckSmall(BufferOf("")).ok());
  EXPECT_TRUE(CheckSmall(BufferOf(std::string(4096, 'x'))).ok());
  const grpc::Status status = CheckSmall(BufferOf(std::string(4097, 'x')));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "the request has 4097 bytes, at most 4096 expected");
}

TEST(RequestBytes, AMessageIsParsedAsItWasSent) {
  v1::RateLimit sent;
  sent.set_min_positions(64);
  const grpc::ByteBuffer bytes = BufferOf(sent.SerializeAsString());
  v1::RateLimit limit;
  limit.set_error_buffer(1);
  for (int time = 0; time < 2; ++time) {  // the bytes stay as they are
    ASSERT_TRUE(ParseRequest(bytes, limit).ok());
    EXPECT_EQ(limit.min_positions(), 64);
    EXPECT_EQ(limit.error_buffer(), 0);
  }
  // No bytes are a message without fields.
  ASSERT_TRUE(ParseRequest(BufferOf(""), limit).ok());
  EXPECT_EQ(limit.min_positions(), 0);
  const grpc::Status status = ParseRequest(BufferOf("\x7f"), limit);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "not a RateLimit");
}

TEST(ToByteBuffer, WritesWhatProtobufReads) {
  v1::UpdatePrioritiesResponse message;
  message.set_updated(12);
  grpc::ByteBuffer buffer = ToByteBuffer(message);
  v1::UpdatePrioritiesResponse read;
  ASSERT_TRUE(
      grpc::SerializationTraits<v1::UpdatePrioritiesResponse>::Deserialize(&buffer, &read).ok());
  EXPECT_EQ(read.updated(), 12);
}

}  // namespace
}  // namespace mallocmuzero
