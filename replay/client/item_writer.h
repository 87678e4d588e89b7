// Delivers items to the shards that their ids name, and bounds what waits.

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
  size_t spool_bytes = 0;
  prometheus::Registry* registry = nullptr;  // not owned

  // If given, called once for each item, from any thread, when its shard has taken or refused it.
  std::function<void(const SpooledItem&)> on_settled;

  // If given, called before that if the shard has taken it.
  std::function<void(const SpooledItem&)> on_acknowledged;
};

// Thread-safe.
class ItemWriter {
 public:
  explicit ItemWriter(const ItemWriterOptions& options);

  // `id` is the item's. Blocks while the spool is full, unless it is empty; false once closing.
  bool Write(absl::string_view id, SpooledItem item);

  // Writes without regard to what fits.
  void Force(absl::string_view id, SpooledItem item);

  // Lets nothing more in; what is blocked returns. Waits until all is settled, or `grace` is over.
  void Close(absl::Duration grace);

  // After Close: what is not settled.
  std::vector<SpooledItem> TakeRest();

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
