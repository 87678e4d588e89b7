// A trajectory as a shard handles it: its metadata and its serialized bytes, which it never parses.

#ifndef MALLOCMUZERO_REPLAY_WIRE_ITEM_H_
#define MALLOCMUZERO_REPLAY_WIRE_ITEM_H_

#include <grpcpp/support/slice.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace mallocmuzero {

inline constexpr size_t kItemIdBytes = 16;
inline constexpr size_t kProgramIdBytes = 32;  // SHA-256

// The most bytes of one serialized item, well below kMaxMessageBytes of rpc/protocol.h.
inline constexpr uint32_t kMaxPayloadBytes = 32 << 20;

// The most decisions of one trajectory.
inline constexpr uint32_t kMaxItemPositions = 1 << 20;

using ItemId = std::array<char, kItemIdBytes>;

// The fields of a ReplayItem that a shard uses.
struct ItemMetadata {
  ItemId id = {};
  std::string program_sha256;
  double total_return = 0;
  uint32_t positions = 0;
  uint32_t own_positions = 0;  // 1 to `positions`; only of an item that arrives
};

// A trajectory to be stored.
struct Item {
  ItemMetadata metadata;

  // The serialized ReplayItem with its payload. Copies of a slice share its bytes.
  grpc::Slice wire;

  // The checksum of `wire`, computed on arrival, while the bytes are in the processor's cache.
  uint32_t crc32c = 0;
};

// Views of the bytes, valid as long as the argument.
inline absl::string_view ViewOf(const ItemId& id) { return {id.data(), id.size()}; }

inline absl::string_view ViewOf(const grpc::Slice& slice) {
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_WIRE_ITEM_H_
