#include "replay/client/item_codec.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "replay/testing/shards.h"
#include "replay/wire/item.h"
#include "replay/wire/wire.h"

namespace mallocmuzero {
namespace {

v1::ReplayItem ItemOf(const v1::Trajectory& trajectory) {
  const absl::StatusOr<grpc::Slice> wire = EncodeTrajectory(trajectory);
  EXPECT_TRUE(wire.ok()) << wire.status();
  v1::ReplayItem item;
  EXPECT_TRUE(item.ParseFromString(std::string(ViewOf(*wire))));
  return item;
}

TEST(ItemCodec, GivesBackTheTrajectory) {
  // A long one is compressed, a short one is not.
  for (const int length : {1, 500}) {
    const v1::Trajectory trajectory = MakeTrajectory(7, length, 0.25);
    const v1::ReplayItem item = ItemOf(trajectory);
    EXPECT_EQ(item.id(), trajectory.id());
    EXPECT_EQ(item.positions(), length);
    EXPECT_EQ(item.total_return(), 0.25);
    const absl::StatusOr<v1::Trajectory> decoded = DecodeTrajectory(item);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(decoded->SerializeAsString(), trajectory.SerializeAsString());
  }
  EXPECT_EQ(ItemOf(MakeTrajectory(7, 500)).encoding(), v1::ReplayItem::TRAJECTORY_ZSTD);
}

TEST(ItemCodec, OnlyTheDecisionsOfAWindowAreThePlayersOwn) {
  v1::Trajectory trajectory = MakeTrajectory(7, 50);
  EXPECT_EQ(ReadItem(ViewOf(*EncodeTrajectory(trajectory)))->own_positions, 50);
  trajectory.mutable_window()->set_begin(20);
  trajectory.mutable_window()->set_end(23);
  const absl::StatusOr<ItemMetadata> metadata = ReadItem(ViewOf(*EncodeTrajectory(trajectory)));
  EXPECT_EQ(metadata->own_positions, 3);
  EXPECT_EQ(metadata->positions, 50);
  EXPECT_EQ(DecodeTrajectory(ItemOf(trajectory))->SerializeAsString(),
            trajectory.SerializeAsString());
}

TEST(ItemCodec, RefusesAPayloadThatIsNotWhatItsItemSays) {
  const v1::ReplayItem good = ItemOf(MakeTrajectory(7, 20));
  const auto code = [](const v1::ReplayItem& item) {
    return DecodeTrajectory(item).status().code();
  };
  EXPECT_EQ(code(good), absl::StatusCode::kOk);
  v1::ReplayItem wrong = good;
  wrong.set_id(MakeTrajectory(8, 20).id());
  EXPECT_EQ(code(wrong), absl::StatusCode::kInvalidArgument);
  // A position behind the end of the game could be drawn.
  wrong = good;
  wrong.set_positions(21);
  EXPECT_EQ(code(wrong), absl::StatusCode::kInvalidArgument);
  wrong = good;
  wrong.mutable_payload()->pop_back();
  EXPECT_EQ(code(wrong), absl::StatusCode::kInvalidArgument);
  wrong = good;
  wrong.clear_encoding();
  EXPECT_EQ(code(wrong), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mallocmuzero
