// Delivers items to one shard in order and keeps each until the shard has answered for it.

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
#include "absl/time/time.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/client/shard_address.h"
#include "rpc/backoff.h"
#include "rpc/peer_state.h"
#include "rpc/security.h"

namespace mallocmuzero {

// An item that waits for its shard.
struct SpooledItem {
  std::string id;          // of the item, 16 bytes
  grpc::Slice wire;        // a serialized ReplayItem
  bool replace = false;    // takes the place of the stored item with its id
  bool from_file = false;  // read from the spool file of an earlier writer

  // The name of the shard that the item belongs to, since that shard may have got it. Empty: any
  // shard may take it.
  std::string shard;
};

// Owns a thread and a connection. Does not bound the number of items; its owner must. Thread-safe.
class ShardWriter {
 public:
  // Called from any thread, without locks. Each item is settled once, when the shard has
  // acknowledged or refused it.
  struct Events {
    std::function<void(const SpooledItem&, bool acknowledged)> on_settled;
    std::function<void()> on_connected;
    // A stream that was open has ended; `resent` items will be sent again. Not called for a failed
    // attempt to open one.
    std::function<void(size_t resent)> on_lost_stream;
  };

  // Starts the thread, which connects once there is an item.
  ShardWriter(ShardAddress shard, std::shared_ptr<const Security> security, Events events);

  // Calls Stop.
  ~ShardWriter();

  // Queues an item without blocking.
  void Add(SpooledItem item);

  // Ends the stream, waits for the thread and returns the items that are not settled, in order.
  std::deque<SpooledItem> Stop();

  // The number of items that are not settled while the shard's stream is open; 0 while the shard is
  // away.
  size_t held_back() const;

  // Whether the shard's stream is open, and whether the shard has kept items waiting for a while
  // without an answer. The rate limiter of a shard makes it do so.
  bool connected() const;
  bool is_slow() const;

  // Why the shard's items cannot be delivered and how many wait, in a few words. Empty if the shard
  // is connected or nothing waits.
  std::string trouble() const;

  const ShardAddress& address() const { return shard_; }

  // The shard's name and why it could not be reached at the last attempt.
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
  size_t sent_ ABSL_GUARDED_BY(mutex_) = 0;              // items_[0, sent_) were sent
  std::deque<size_t> requests_ ABSL_GUARDED_BY(mutex_);  // items of each unanswered request
  std::string trouble_ ABSL_GUARDED_BY(mutex_);
  bool connected_ ABSL_GUARDED_BY(mutex_) = false;  // the current stream is open
  bool answered_ ABSL_GUARDED_BY(mutex_) = false;   // the current stream has had an answer
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  // When the stream was opened, the shard has answered, or the first of the waiting items has come,
  // whichever was last.
  absl::Time moved_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();  // by SteadyNow
  Backoff backoff_;                                                  // used by the thread only
  std::thread thread_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_SHARD_WRITER_H_
