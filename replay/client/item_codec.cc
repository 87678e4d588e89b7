#include "replay/client/item_codec.h"

#include <grpcpp/support/slice.h>
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/compression.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "replay/trajectory_buffer.h"
#include "replay/wire/item.h"
#include "replay/wire/wire.h"

namespace mallocmuzero {
namespace {

// A higher level makes games only 2% smaller and takes three times as long.
constexpr int kCompressionLevel = 3;

// The most bytes of a decompressed trajectory, so that a small item cannot fill the memory. The
// limit grows with the number of positions that an item claims; a position takes about 100 bytes.
constexpr int64_t kMaxTrajectoryBytes = int64_t{256} << 20;
constexpr int64_t kLeastMaxBytes = int64_t{1} << 20;
constexpr int64_t kMaxBytesOfPosition = 4096;

int64_t MaxTrajectoryBytes(const v1::ReplayItem& item) {
  return std::min(kMaxTrajectoryBytes,
                  kLeastMaxBytes + kMaxBytesOfPosition * int64_t{item.positions()});
}

// Returns `bytes` as a zstd frame, or an empty string if the frame would not be smaller.
std::string Compress(const std::string& bytes) {
  thread_local const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                                  &ZSTD_freeCCtx);
  // A frame that does not fit into the input's size is not worth keeping, so no more room is
  // needed.
  std::string frame(bytes.size(), '\0');
  const size_t size = ZSTD_compressCCtx(context.get(), frame.data(), frame.size(), bytes.data(),
                                        bytes.size(), kCompressionLevel);
  frame.resize(ZSTD_isError(size) != 0 || size >= bytes.size() ? 0 : size);
  return frame;
}

}  // namespace

absl::StatusOr<grpc::Slice> EncodeTrajectory(const v1::Trajectory& trajectory) {
  if (trajectory.id().size() != kItemIdBytes ||
      trajectory.program_sha256().size() != kProgramIdBytes || trajectory.actions().empty() ||
      std::ssize(trajectory.actions()) > int64_t{kMaxItemPositions}) {
    return absl::InvalidArgumentError(
        absl::StrCat("trajectory: an id of ", trajectory.id().size(),
                     " bytes, a program_sha256 of ", trajectory.program_sha256().size(), ", and ",
                     trajectory.actions().size(), " decisions; must be ", kItemIdBytes, ", ",
                     kProgramIdBytes, " and 1 to ", kMaxItemPositions));
  }
  v1::ReplayItem fields;
  fields.set_id(trajectory.id());
  fields.set_program_sha256(trajectory.program_sha256());
  fields.set_total_return(TotalReturn(trajectory).share());
  fields.set_positions(trajectory.actions().size());
  if (trajectory.has_window()) fields.set_own_positions(OwnDecisions(trajectory));
  const std::string bytes = trajectory.SerializeAsString();
  if (std::ssize(bytes) > MaxTrajectoryBytes(fields)) {
    return absl::InvalidArgumentError(
        absl::StrCat("trajectory: ", bytes.size(), " bytes for ", fields.positions(),
                     " decisions; must be at most ", MaxTrajectoryBytes(fields)));
  }
  const std::string frame = Compress(bytes);
  fields.set_encoding(frame.empty() ? v1::ReplayItem::TRAJECTORY : v1::ReplayItem::TRAJECTORY_ZSTD);
  grpc::Slice wire = WriteItem(fields, frame.empty() ? bytes : frame);
  if (wire.size() > kMaxPayloadBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "trajectory: ", wire.size(), " bytes compressed; must be at most ", kMaxPayloadBytes));
  }
  return wire;
}

absl::StatusOr<v1::Trajectory> DecodeTrajectory(const v1::ReplayItem& item) {
  const int64_t most_bytes = MaxTrajectoryBytes(item);
  if (std::ssize(item.payload()) > most_bytes) {
    return absl::InvalidArgumentError("payload: too large for its positions");
  }
  v1::Trajectory trajectory;
  bool parsed = false;
  if (item.encoding() == v1::ReplayItem::TRAJECTORY) {
    parsed = trajectory.ParseFromString(item.payload());
  } else if (item.encoding() == v1::ReplayItem::TRAJECTORY_ZSTD) {
    const absl::StatusOr<std::string> bytes = Decompress(item.payload(), "payload", most_bytes);
    if (!bytes.ok()) return bytes.status();
    parsed = trajectory.ParseFromString(*bytes);
  }
  if (!parsed) return absl::InvalidArgumentError("payload: not a trajectory");
  if (trajectory.id() != item.id() || trajectory.actions().size() != item.positions()) {
    return absl::InvalidArgumentError("payload: not the trajectory that its item says it is");
  }
  return trajectory;
}

}  // namespace mallocmuzero
