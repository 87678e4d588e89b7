#include "replay/wire/wire.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/testing/items.h"
#include "replay/wire/crc32c.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;

// A buffer in slices of `piece` bytes, like one that comes from the network.
grpc::ByteBuffer Pieces(const std::string& bytes, size_t piece) {
  std::vector<grpc::Slice> slices;
  for (size_t i = 0; i < bytes.size(); i += piece) slices.emplace_back(bytes.substr(i, piece));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

TEST(ReadInsertRequest, GivesTheItemsHoweverTheBytesAreCut) {
  v1::InsertRequest request;
  for (uint64_t i = 0; i < 5; ++i) *request.add_items() = MakeReplayItem(i, 3, 0.5, 100 * i + 1);
  request.set_replace(true);
  const std::string bytes = request.SerializeAsString();
  for (const size_t piece : {1, 7, 100, 100000}) {
    const absl::StatusOr<InsertMessage> message = ReadInsertRequest(Pieces(bytes, piece));
    ASSERT_TRUE(message.ok()) << message.status();
    EXPECT_TRUE(message->replace);
    ASSERT_EQ(message->items.size(), 5);
    for (uint64_t i = 0; i < 5; ++i) {
      const Item& item = message->items[i];
      EXPECT_EQ(ViewOf(item.wire), request.items(i).SerializeAsString());
      EXPECT_EQ(item.crc32c, Crc32c(ViewOf(item.wire)));
      EXPECT_EQ(ViewOf(item.metadata.id), IdString(i));
      EXPECT_EQ(item.metadata.positions, 3);
      EXPECT_EQ(item.metadata.total_return, 0.5);
      EXPECT_EQ(item.metadata.program_sha256, std::string(32, 'p'));
    }
  }
}

TEST(ReadItem, AnItemThatDoesNotSayHowManyPositionsAreItsOwnHasAll) {
  v1::ReplayItem item = MakeReplayItem(0, 30);
  EXPECT_EQ(ReadItem(item.SerializeAsString())->own_positions, 30);
  item.set_own_positions(7);
  EXPECT_EQ(ReadItem(item.SerializeAsString())->own_positions, 7);
  EXPECT_EQ(ReadItem(item.SerializeAsString())->positions, 30);
  item.set_own_positions(31);
  EXPECT_THAT(ReadItem(item.SerializeAsString()).status().message(),
              HasSubstr("own_positions: 31, must be at most `positions`, 30"));
}

TEST(InsertRequestWriter, WritesWhatAShardReads) {
  std::vector<v1::ReplayItem> items;
  InsertRequestWriter writer;
  for (uint64_t i = 0; i < 3; ++i) {
    v1::ReplayItem fields = items.emplace_back(MakeReplayItem(i, 3, 0.5, 1000 * i + 1));
    fields.clear_payload();
    writer.AddItem(WriteItem(fields, items.back().payload()));
  }
  grpc::ByteBuffer buffer = writer.Finish(/*replace=*/true);
  const absl::StatusOr<InsertMessage> message = ReadInsertRequest(buffer);
  ASSERT_TRUE(message.ok()) << message.status();
  EXPECT_TRUE(message->replace);
  ASSERT_EQ(message->items.size(), 3);
  v1::InsertRequest request;
  ASSERT_TRUE(grpc::SerializationTraits<v1::InsertRequest>::Deserialize(&buffer, &request).ok());
  EXPECT_TRUE(request.replace());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ViewOf(message->items[i].wire), items[i].SerializeAsString());
    EXPECT_EQ(request.items(i).SerializeAsString(), items[i].SerializeAsString());
  }
}

TEST(ReadInsertRequest, RefusesBadItemsAndTakesTheOthers) {
  std::vector<std::string> fields;
  v1::InsertRequest request;
  const auto add = [&](const char* field) -> v1::ReplayItem& {
    fields.emplace_back(field);
    return *request.add_items() = MakeReplayItem(fields.size(), 1);
  };
  add("id").set_id("short");
  add("program_sha256").clear_program_sha256();
  add("total_return").set_total_return(std::nan(""));
  add("positions").set_positions(0);
  add("positions").set_positions(kMaxItemPositions + 1);
  add("encoding").set_encoding(v1::ReplayItem::ENCODING_UNSPECIFIED);
  add("payload").clear_payload();
  *request.add_items() = MakeReplayItem(100, kMaxItemPositions);
  const absl::StatusOr<InsertMessage> message =
      ReadInsertRequest(Pieces(request.SerializeAsString(), 64));
  ASSERT_TRUE(message.ok()) << message.status();
  ASSERT_EQ(message->refusals.size(), fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    EXPECT_EQ(message->refusals[i].index(), i);
    EXPECT_THAT(message->refusals[i].message(), HasSubstr(fields[i]));
  }
  ASSERT_EQ(message->items.size(), 1);
}

// An empty item has two bytes, and its refusal has many.
TEST(ReadInsertRequest, RefusesARequestOfManyBadItemsAsAWhole) {
  const auto read = [](int bad_items) {
    v1::InsertRequest request;
    for (int i = 0; i < bad_items; ++i) request.add_items();
    *request.add_items() = MakeReplayItem(1, 1);
    return ReadInsertRequest(Pieces(request.SerializeAsString(), 4096));
  };
  const absl::StatusOr<InsertMessage> some = read(10'000);
  ASSERT_TRUE(some.ok()) << some.status();
  EXPECT_EQ(some->refusals.size(), 10'000);
  EXPECT_EQ(some->items.size(), 1);
  const absl::Status many = read(100'000).status();
  EXPECT_EQ(many.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(many.message(), HasSubstr("items: more than 10000 are not valid"));
}

TEST(ReadInsertRequest, BytesThatAreNoRequestAreAnError) {
  EXPECT_TRUE(ReadInsertRequest(grpc::ByteBuffer()).ok());
  const std::string good = [] {
    v1::InsertRequest request;
    *request.add_items() = MakeReplayItem(1, 1, 0, 50);
    return request.SerializeAsString();
  }();
  for (size_t size = 1; size < good.size(); ++size) {
    EXPECT_FALSE(ReadInsertRequest(Pieces(good.substr(0, size), 16)).ok()) << size;
  }
  // A field of number 0 ends what can be read.
  EXPECT_FALSE(ReadInsertRequest(Pieces(good + std::string(1, '\0') + good, 16)).ok());
  // An item that claims a length of 4 GiB.
  EXPECT_FALSE(ReadInsertRequest(Pieces("\x0a\xff\xff\xff\xff\x0f", 16)).ok());
}

v1::UpdatePrioritiesRequest PriorityUpdates(int count) {
  v1::UpdatePrioritiesRequest request;
  for (int i = 0; i < count; ++i) {
    v1::UpdatePrioritiesRequest::Update& update = *request.add_updates();
    update.set_id(IdString(i));
    update.set_position(300 * i);
    update.set_priority(0.5 * i);
  }
  return request;
}

TEST(ReadUpdatePrioritiesRequest, GivesTheUpdatesHoweverTheBytesAreCut) {
  v1::UpdatePrioritiesRequest request = PriorityUpdates(5);
  request.add_updates();
  const std::string bytes = request.SerializeAsString();
  for (const size_t piece : {1, 7, 100, 100000}) {
    const absl::StatusOr<v1::UpdatePrioritiesRequest> message =
        ReadUpdatePrioritiesRequest(Pieces(bytes, piece));
    ASSERT_TRUE(message.ok()) << message.status();
    EXPECT_EQ(message->SerializeAsString(), bytes);
  }
}

TEST(ReadUpdatePrioritiesRequest, LeavesOutUnknownFields) {
  v1::UpdatePrioritiesRequest request = PriorityUpdates(1);
  const std::string known = request.SerializeAsString();
  request.GetReflection()->MutableUnknownFields(&request)->AddVarint(9, 7);
  v1::UpdatePrioritiesRequest::Update& update = *request.mutable_updates(0);
  update.GetReflection()->MutableUnknownFields(&update)->AddLengthDelimited(9, "more");
  const absl::StatusOr<v1::UpdatePrioritiesRequest> message =
      ReadUpdatePrioritiesRequest(Pieces(request.SerializeAsString(), 16));
  ASSERT_TRUE(message.ok()) << message.status();
  EXPECT_EQ(message->SerializeAsString(), known);
}

// An empty update has two bytes, and the object that it becomes has many.
TEST(ReadUpdatePrioritiesRequest, RefusesARequestOfManyUpdatesAsAWhole) {
  const auto read = [](int updates) {
    v1::UpdatePrioritiesRequest request;
    for (int i = 0; i < updates; ++i) request.add_updates();
    return ReadUpdatePrioritiesRequest(Pieces(request.SerializeAsString(), 4096));
  };
  const absl::StatusOr<v1::UpdatePrioritiesRequest> some = read(65'536);
  ASSERT_TRUE(some.ok()) << some.status();
  EXPECT_EQ(some->updates_size(), 65'536);
  const absl::Status many = read(65'537).status();
  EXPECT_EQ(many.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(many.message(), HasSubstr("updates: more than 65536 in one request"));
}

TEST(ReadUpdatePrioritiesRequest, BytesThatAreNoRequestAreAnError) {
  EXPECT_TRUE(ReadUpdatePrioritiesRequest(grpc::ByteBuffer()).ok());
  const std::string good = PriorityUpdates(1).SerializeAsString();
  for (size_t size = 1; size < good.size(); ++size) {
    EXPECT_FALSE(ReadUpdatePrioritiesRequest(Pieces(good.substr(0, size), 16)).ok()) << size;
  }
  // A field of number 0 ends what can be read.
  EXPECT_FALSE(ReadUpdatePrioritiesRequest(Pieces(good + std::string(1, '\0') + good, 16)).ok());
  // An update that claims a length of 4 GiB, and one whose id claims more bytes than the update.
  EXPECT_FALSE(ReadUpdatePrioritiesRequest(Pieces("\x0a\xff\xff\xff\xff\x0f", 16)).ok());
  EXPECT_FALSE(ReadUpdatePrioritiesRequest(Pieces("\x0a\x02\x0a\x7f", 16)).ok());
}

TEST(ReadItem, RefusesBytesBehindTheItem) {
  const std::string item = MakeReplayItem(1, 1).SerializeAsString();
  EXPECT_TRUE(ReadItem(item).ok());
  EXPECT_FALSE(ReadItem(item + std::string(1, '\0')).ok());
  EXPECT_FALSE(ReadItem(item + std::string(1, '\0') + item).ok());
}

TEST(ReadInsertRequest, RandomBytesDoNoHarm) {
  std::mt19937_64 random(1);
  v1::InsertRequest request;
  for (uint64_t i = 0; i < 3; ++i) *request.add_items() = MakeReplayItem(i, 2, 0.1, 40);
  const std::string good = request.SerializeAsString();
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      bytes[random() % bytes.size()] = random();
    }
    const absl::StatusOr<InsertMessage> message =
        ReadInsertRequest(Pieces(bytes, 1 + random() % 50));
    if (!message.ok()) continue;
    for (const Item& item : message->items) EXPECT_GT(item.metadata.positions, 0);
  }
}

TEST(SampleResponseWriter, WritesWhatProtobufReads) {
  SampleResponseWriter writer;
  // The writer copies the small item and shares the large one's slice.
  const std::vector<Item> items = {MakeItem(1, 5, 0.25, 100), MakeItem(2, 9, 0.75, 50000)};
  for (const Item& item : items) {
    std::vector<v1::SampleResponse::Draw> draws(2);
    draws[0].set_position(3);
    draws[0].set_probability(0.125);
    draws[1].set_position(0);
    draws[1].set_probability(0.5);
    writer.AddItem(item.wire, draws);
  }
  v1::SampleResponse rest;
  rest.set_selection(v1::BEST);
  rest.set_positions(14);
  rest.set_total_weight(2.5);
  const size_t bytes = writer.bytes();
  grpc::ByteBuffer buffer = writer.Finish(rest);
  EXPECT_EQ(buffer.Length(), bytes + rest.ByteSizeLong());
  v1::SampleResponse response;
  ASSERT_TRUE(grpc::SerializationTraits<v1::SampleResponse>::Deserialize(&buffer, &response).ok());
  ASSERT_EQ(response.drawn_size(), 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(response.drawn(i).item().SerializeAsString(), ViewOf(items[i].wire));
    ASSERT_EQ(response.drawn(i).draws_size(), 2);
    EXPECT_EQ(response.drawn(i).draws(0).position(), 3);
    EXPECT_EQ(response.drawn(i).draws(1).probability(), 0.5);
  }
  EXPECT_EQ(response.selection(), v1::BEST);
  EXPECT_EQ(response.positions(), 14);
  EXPECT_EQ(response.total_weight(), 2.5);
}

}  // namespace
}  // namespace mallocmuzero
