// Delivers items to the shards of a list that may change, and bounds the bytes that wait.

#ifndef MALLOCMUZERO_REPLAY_CLIENT_ITEM_WRITER_H_
#define MALLOCMUZERO_REPLAY_CLIENT_ITEM_WRITER_H_

#include <prometheus/registry.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/shards.pb.h"
#include "replay/client/metrics.h"
#include "replay/client/shard_address.h"
#include "replay/client/shard_writer.h"
#include "rpc/peer_state.h"
#include "rpc/security.h"

namespace mallocmuzero {

struct ItemWriterOptions {
  v1::ShardRoster roster;  // at least one active shard

  // If true, items with a shard wait for SetRoster; see ReplayWriterOptions.
  bool awaits_roster = false;
  std::shared_ptr<const Security> security;
  // The most bytes of items that are not settled.
  size_t spool_bytes = 0;
  prometheus::Registry* registry = nullptr;  // not owned

  // If given, called once for each item when its shard has acknowledged or refused it. Called from
  // any thread, without locks.
  std::function<void(const SpooledItem&)> on_settled;

  // If given, called before `on_settled` for each item that its shard has acknowledged.
  std::function<void(const SpooledItem&)> on_acknowledged;
};

// An item is settled once its shard has acknowledged or refused it. An item that was given to a
// shard stays with it, because the shard may have stored it and only the answer may be missing.
// Other items go to the shard that their id selects, unless that shard is slow and another one is
// not. Each shard has a rate limiter of its own, and a shard that holds items back must not hold
// back the others. A new shard with few games is such a shard. Thread-safe.
class ItemWriter {
 public:
  // Starts a thread for each shard.
  explicit ItemWriter(const ItemWriterOptions& options);

  // Takes an item. Blocks while it does not fit into the spool; an empty spool takes an item of any
  // size. With `by_id` the id alone selects the shard, so that all writers choose the same one.
  // Returns false, and does not take the item, after Close was called.
  bool Write(SpooledItem item, bool by_id = false);

  // Takes an item without blocking, even if it exceeds the spool.
  void Force(SpooledItem item);

  // Takes over another list of shards. Items that wait for a shard that has left go to its heirs.
  // Items for a shard that is not in the list wait until a list has it. Blocks until the streams to
  // shards that have left are closed. Has no effect after Close.
  void SetRoster(const v1::ShardRoster& roster);

  // Makes blocked and later calls of Write return false, then blocks until all items are settled,
  // `grace` has passed, or no item was settled for the time `patience`.
  void Close(absl::Duration grace, absl::Duration patience);

  // Stops all delivery and returns the items that are not settled, with their shards. Call after
  // Close.
  std::vector<SpooledItem> TakeRest();

  // These do what the functions of ReplayWriter with the same names do.
  size_t spooled_bytes() const;
  size_t held_back() const;
  bool blocked() const;
  std::string trouble() const;
  std::vector<PeerState> peers() const;  // the shards
  uint64_t acknowledged() const;
  uint64_t refused() const;

 private:
  using Writers = std::vector<std::unique_ptr<ShardWriter>>;

  void OnSettled(const WriterMetrics::OfShard& metrics, const SpooledItem& item, bool acknowledged);
  bool HasRoom(size_t bytes) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void Add(SpooledItem item, bool by_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ShardWriter& Choose(absl::string_view id, bool by_id) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  ShardWriter* Find(absl::string_view name) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  std::unique_ptr<ShardWriter> Connect(const ShardAddress& shard);

  const ItemWriterOptions options_;
  WriterMetrics metrics_;

  absl::Mutex changing_;  // held while the list changes, and before mutex_
  mutable absl::Mutex mutex_;
  v1::ShardRoster roster_ ABSL_GUARDED_BY(mutex_);
  bool awaits_roster_ ABSL_GUARDED_BY(mutex_);
  size_t spooled_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t blocked_ ABSL_GUARDED_BY(mutex_) = 0;  // threads in Write
  uint64_t acknowledged_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;

  // Items of shards that are not in the list, or while the list is awaited.
  std::vector<SpooledItem> homeless_ ABSL_GUARDED_BY(mutex_);

  Writers writers_ ABSL_GUARDED_BY(mutex_);  // of the active shards, in their order
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_ITEM_WRITER_H_
