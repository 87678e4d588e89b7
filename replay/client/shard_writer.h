// Delivers items to one shard, in order, until they are acknowledged.

#ifndef MALLOCMUZERO_REPLAY_CLIENT_SHARD_WRITER_H_
#define MALLOCMUZERO_REPLAY_CLIENT_SHARD_WRITER_H_

#include <grpcpp/channel.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/client/shard_address.h"
#include "rpc/backoff.h"
#include "rpc/peer_state.h"
#include "rpc/security.h"

namespace mallocmuzero {

struct SpooledItem {
  grpc::Slice wire;  // a serialized ReplayItem
  bool replace = false;
  bool from_file = false;  // left by an earlier writer
};

// Thread-safe. Not bounded: its owner is.
class ShardWriter {
 public:
  // Called without locks, from any thread. An item is settled once: acknowledged, or refused.
  struct Events {
    std::function<void(const SpooledItem&, bool acknowledged)> on_settled;
    std::function<void()> on_connected;
    std::function<void(size_t resent)> on_lost_stream;  // after that, not for a failed attempt
  };

  ShardWriter(ShardAddress shard, std::shared_ptr<const Security> security, Events events);

  // Stops at once.
  ~ShardWriter();

  void Add(SpooledItem item);

  // Stops at once and returns what is not settled, in order.
  std::deque<SpooledItem> Stop();

  // Items not settled, if the shard's stream is open; 0 while the shard is away.
  size_t held_back() const;

  // Why the shard gets nothing, in a few words; empty: it does, or there is nothing for it.
  std::string trouble() const;

  // Why it was not reached at the last attempt; empty: it was, or there was none.
  PeerState peer() const;

 private:
  class Call;

  void Run();
  absl::Status RunStream();
  void Send(Call& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MaySend(const Call& call) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  absl::Status Settle(const v1::InsertResponse& response);
  void SetConnected();

  const ShardAddress shard_;
  const std::shared_ptr<const Security> security_;
  const Events events_;
  const std::shared_ptr<grpc::Channel> channel_;

  mutable absl::Mutex mutex_;
  absl::CondVar changed_;
  std::deque<SpooledItem> items_ ABSL_GUARDED_BY(mutex_);
  size_t sent_ ABSL_GUARDED_BY(mutex_) = 0;              // the first ones of items_
  std::deque<size_t> requests_ ABSL_GUARDED_BY(mutex_);  // items of each that is not answered
  std::string trouble_ ABSL_GUARDED_BY(mutex_);
  bool connected_ ABSL_GUARDED_BY(mutex_) = false;  // the stream in use is open
  bool answered_ ABSL_GUARDED_BY(mutex_) = false;   // by it
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Backoff backoff_;  // of the thread
  std::thread thread_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_SHARD_WRITER_H_
