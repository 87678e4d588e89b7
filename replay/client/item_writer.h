// Delivers items to the shards that their ids select, and bounds the bytes that wait.

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
#include "replay/client/metrics.h"
#include "replay/client/shard_address.h"
#include "replay/client/shard_writer.h"
#include "rpc/peer_state.h"
#include "rpc/security.h"

namespace mallocmuzero {

struct ItemWriterOptions {
  std::vector<ShardAddress> shards;  // at least one
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

// An item is settled once its shard has acknowledged or refused it. Thread-safe.
class ItemWriter {
 public:
  // Starts a thread for each shard.
  explicit ItemWriter(const ItemWriterOptions& options);

  // Takes an item with the id `id`. Blocks while it does not fit into the spool; an empty spool
  // takes an item of any size. Returns false, and does not take the item, after Close was called.
  bool Write(absl::string_view id, SpooledItem item);

  // Takes an item without blocking, even if it exceeds the spool.
  void Force(absl::string_view id, SpooledItem item);

  // Makes blocked and later calls of Write return false, then blocks until all items are settled or
  // `grace` has passed.
  void Close(absl::Duration grace);

  // Stops all delivery and returns the items that are not settled. Call after Close.
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
  void OnSettled(size_t shard, const SpooledItem& item, bool acknowledged);
  bool HasRoom(size_t bytes) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void Add(absl::string_view id, SpooledItem item);

  const ItemWriterOptions options_;
  WriterMetrics metrics_;

  mutable absl::Mutex mutex_;
  size_t spooled_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t blocked_ ABSL_GUARDED_BY(mutex_) = 0;  // threads in Write
  uint64_t acknowledged_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;

  std::vector<std::unique_ptr<ShardWriter>> writers_;  // by shard
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_ITEM_WRITER_H_
