#include "replay/client/item_writer.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "replay/client/metrics.h"
#include "replay/client/shard_address.h"
#include "replay/client/shard_writer.h"
#include "rpc/peer_state.h"

namespace mallocmuzero {

ItemWriter::ItemWriter(const ItemWriterOptions& options)
    : options_(options), metrics_(options.registry, options.shards) {
  for (size_t i = 0; i < options_.shards.size(); ++i) {
    writers_.push_back(std::make_unique<ShardWriter>(
        options_.shards[i], options_.security,
        ShardWriter::Events{
            .on_settled = [this, i](const SpooledItem& item,
                                    bool acknowledged) { OnSettled(i, item, acknowledged); },
            .on_connected = [this, i] { metrics_.connected[i]->Set(1); },
            .on_lost_stream =
                [this, i](size_t resent) {
                  metrics_.connected[i]->Set(0);
                  metrics_.lost_streams[i]->Increment();
                  metrics_.resent[i]->Increment(static_cast<double>(resent));
                }}));
  }
}

bool ItemWriter::HasRoom(size_t bytes) const {
  return closing_ || spooled_ == 0 || spooled_ + bytes <= options_.spool_bytes;
}

bool ItemWriter::Write(absl::string_view id, SpooledItem item) {
  const size_t bytes = item.wire.size();
  const absl::MutexLock lock(&mutex_);
  if (!HasRoom(bytes)) {
    const absl::Time start = absl::Now();
    const auto has_room = [this, bytes]()
                              ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return HasRoom(bytes); };
    ++blocked_;
    mutex_.Await(absl::Condition(&has_room));
    --blocked_;
    metrics_.blocked_seconds->Increment(absl::ToDoubleSeconds(absl::Now() - start));
  }
  if (closing_) return false;
  spooled_ += bytes;
  metrics_.spooled_bytes->Set(static_cast<double>(spooled_));
  // The lock is still held, so that Close cannot come between: after it the shard's writer may have
  // been stopped and emptied.
  Add(id, std::move(item));
  return true;
}

void ItemWriter::Force(absl::string_view id, SpooledItem item) {
  {
    const absl::MutexLock lock(&mutex_);
    spooled_ += item.wire.size();
  }
  Add(id, std::move(item));
}

void ItemWriter::Add(absl::string_view id, SpooledItem item) {
  writers_[ShardOfId(id, writers_.size())]->Add(std::move(item));
}

void ItemWriter::OnSettled(size_t shard, const SpooledItem& item, bool acknowledged) {
  {
    const absl::MutexLock lock(&mutex_);
    spooled_ -= item.wire.size();
    metrics_.spooled_bytes->Set(static_cast<double>(spooled_));
    ++(acknowledged ? acknowledged_ : refused_);
  }
  (acknowledged ? metrics_.acknowledged : metrics_.refused)[shard]->Increment();
  if (acknowledged && options_.on_acknowledged) options_.on_acknowledged(item);
  if (options_.on_settled) options_.on_settled(item);
}

void ItemWriter::Close(absl::Duration grace) {
  const absl::MutexLock lock(&mutex_);
  closing_ = true;
  const auto is_empty = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return spooled_ == 0; };
  mutex_.AwaitWithTimeout(absl::Condition(&is_empty), grace);
}

std::vector<SpooledItem> ItemWriter::TakeRest() {
  std::vector<SpooledItem> rest;
  for (const std::unique_ptr<ShardWriter>& writer : writers_) {
    for (SpooledItem& item : writer->Stop()) rest.push_back(std::move(item));
  }
  return rest;
}

size_t ItemWriter::spooled_bytes() const {
  const absl::MutexLock lock(&mutex_);
  return spooled_;
}

size_t ItemWriter::held_back() const {
  size_t items = 0;
  for (const std::unique_ptr<ShardWriter>& writer : writers_) items += writer->held_back();
  return items;
}

bool ItemWriter::blocked() const {
  const absl::MutexLock lock(&mutex_);
  return blocked_ > 0;
}

std::string ItemWriter::trouble() const {
  std::string text;
  for (const std::unique_ptr<ShardWriter>& writer : writers_) {
    const std::string trouble = writer->trouble();
    if (!trouble.empty()) absl::StrAppend(&text, text.empty() ? "" : "; ", trouble);
  }
  return text;
}

std::vector<PeerState> ItemWriter::peers() const {
  std::vector<PeerState> peers;
  for (const std::unique_ptr<ShardWriter>& writer : writers_) peers.push_back(writer->peer());
  return peers;
}

uint64_t ItemWriter::acknowledged() const {
  const absl::MutexLock lock(&mutex_);
  return acknowledged_;
}

uint64_t ItemWriter::refused() const {
  const absl::MutexLock lock(&mutex_);
  return refused_;
}

}  // namespace mallocmuzero
