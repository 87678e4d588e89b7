#include "replay/client/item_writer.h"

#include <algorithm>
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
#include "absl/time/time.h"
#include "base/steady_clock.h"
#include "replay/client/metrics.h"
#include "replay/client/shard_address.h"
#include "replay/client/shard_roster.h"
#include "replay/client/shard_writer.h"
#include "rpc/peer_state.h"

namespace mallocmuzero {

ItemWriter::ItemWriter(const ItemWriterOptions& options)
    : options_(options),
      metrics_(options.registry),
      roster_(options.roster),
      awaits_roster_(options.awaits_roster) {
  const absl::MutexLock lock(&mutex_);
  for (const ShardAddress& shard : ActiveShards(roster_)) writers_.push_back(Connect(shard));
}

std::unique_ptr<ShardWriter> ItemWriter::Connect(const ShardAddress& shard) {
  const WriterMetrics::OfShard metrics = metrics_.Of(shard.name);
  return std::make_unique<ShardWriter>(
      shard, options_.security,
      ShardWriter::Events{.on_settled =
                              [this, metrics](const SpooledItem& item, bool acknowledged) {
                                OnSettled(metrics, item, acknowledged);
                              },
                          .on_connected = [metrics] { metrics.connected->Set(1); },
                          .on_lost_stream =
                              [metrics](size_t resent) {
                                metrics.connected->Set(0);
                                metrics.lost_streams->Increment();
                                metrics.resent->Increment(static_cast<double>(resent));
                              }});
}

bool ItemWriter::HasRoom(size_t bytes) const {
  return closing_ || spooled_ == 0 || spooled_ + bytes <= options_.spool_bytes;
}

bool ItemWriter::Write(SpooledItem item, bool by_id) {
  const size_t bytes = item.wire.size();
  const absl::MutexLock lock(&mutex_);
  if (!HasRoom(bytes)) {
    const absl::Time start = SteadyNow();
    const auto has_room = [this, bytes]()
                              ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return HasRoom(bytes); };
    ++blocked_;
    mutex_.Await(absl::Condition(&has_room));
    --blocked_;
    metrics_.blocked_seconds->Increment(absl::ToDoubleSeconds(SteadyNow() - start));
  }
  if (closing_) return false;
  spooled_ += bytes;
  metrics_.spooled_bytes->Set(static_cast<double>(spooled_));
  // The lock is still held, so that neither Close nor SetRoster can come between: after them the
  // shard's writer may have been stopped and emptied.
  Add(std::move(item), by_id);
  return true;
}

void ItemWriter::Force(SpooledItem item) {
  const absl::MutexLock lock(&mutex_);
  spooled_ += item.wire.size();
  metrics_.spooled_bytes->Set(static_cast<double>(spooled_));
  Add(std::move(item), /*by_id=*/true);
}

ShardWriter* ItemWriter::Find(absl::string_view name) const {
  for (const std::unique_ptr<ShardWriter>& writer : writers_) {
    if (writer->address().name == name) return writer.get();
  }
  return nullptr;
}

ShardWriter& ItemWriter::Choose(absl::string_view id, bool by_id) const {
  ShardWriter& selected = *writers_[ShardOfId(id, writers_.size())];
  if (by_id || !selected.is_slow()) return selected;
  std::vector<ShardWriter*> fast;
  for (const std::unique_ptr<ShardWriter>& writer : writers_) {
    if (writer->connected() && !writer->is_slow()) fast.push_back(writer.get());
  }
  return fast.empty() ? selected : *fast[ShardOfId(id, fast.size())];
}

void ItemWriter::Add(SpooledItem item, bool by_id) {
  if (item.shard.empty()) return Choose(item.id, by_id).Add(std::move(item));
  ShardWriter* writer = awaits_roster_ ? nullptr : Find(ShardOfGame(roster_, item.shard, item.id));
  if (writer != nullptr) return writer->Add(std::move(item));
  homeless_.push_back(std::move(item));
}

void ItemWriter::SetRoster(const v1::ShardRoster& roster) {
  const absl::MutexLock change(&changing_);
  Writers left;
  {
    const absl::MutexLock lock(&mutex_);
    if (closing_) return;
    roster_ = roster;
    awaits_roster_ = false;
    Writers writers;
    for (const ShardAddress& shard : ActiveShards(roster)) {
      const auto known = std::find_if(writers_.begin(), writers_.end(), [&](const auto& writer) {
        return writer != nullptr && writer->address() == shard;
      });
      writers.push_back(known == writers_.end() ? Connect(shard) : std::move(*known));
    }
    left = std::exchange(writers_, std::move(writers));
  }
  for (const std::unique_ptr<ShardWriter>& writer : left) {
    if (writer == nullptr) continue;
    std::deque<SpooledItem> items = writer->Stop();
    const absl::MutexLock lock(&mutex_);
    for (SpooledItem& item : items) {
      item.shard = writer->address().name;
      Add(std::move(item), /*by_id=*/true);
    }
    const std::string& name = writer->address().name;
    // An alert would take a shard that has left for one that no actor reaches.
    if (const ShardWriter* const next = Find(name); next == nullptr) {
      metrics_.Forget(name);
    } else {
      metrics_.Of(name).connected->Set(next->connected() ? 1 : 0);
    }
  }
  const absl::MutexLock lock(&mutex_);
  for (SpooledItem& item : std::exchange(homeless_, {})) Add(std::move(item), /*by_id=*/true);
}

void ItemWriter::OnSettled(const WriterMetrics::OfShard& metrics, const SpooledItem& item,
                           bool acknowledged) {
  {
    const absl::MutexLock lock(&mutex_);
    spooled_ -= item.wire.size();
    metrics_.spooled_bytes->Set(static_cast<double>(spooled_));
    ++(acknowledged ? acknowledged_ : refused_);
  }
  (acknowledged ? metrics.acknowledged : metrics.refused)->Increment();
  if (acknowledged && options_.on_acknowledged) options_.on_acknowledged(item);
  if (options_.on_settled) options_.on_settled(item);
}

void ItemWriter::Close(absl::Duration grace, absl::Duration patience) {
  const absl::Time deadline = SteadyNow() + grace;
  const absl::MutexLock lock(&mutex_);
  closing_ = true;
  bool moves = true;
  while (moves && spooled_ > 0) {
    const uint64_t settled = acknowledged_ + refused_;
    const auto has_moved = [this, settled]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return acknowledged_ + refused_ != settled;
    };
    moves = mutex_.AwaitWithTimeout(absl::Condition(&has_moved),
                                    std::min(patience, deadline - SteadyNow()));
  }
}

std::vector<SpooledItem> ItemWriter::TakeRest() {
  // Keeps the list as it is, so that the writers can be stopped without the other lock.
  const absl::MutexLock change(&changing_);
  std::vector<SpooledItem> rest;
  std::vector<ShardWriter*> writers;
  {
    const absl::MutexLock lock(&mutex_);
    rest = std::exchange(homeless_, {});
    for (const std::unique_ptr<ShardWriter>& writer : writers_) writers.push_back(writer.get());
  }
  for (ShardWriter* writer : writers) {
    for (SpooledItem& item : writer->Stop()) {
      item.shard = writer->address().name;
      rest.push_back(std::move(item));
    }
  }
  return rest;
}

size_t ItemWriter::spooled_bytes() const {
  const absl::MutexLock lock(&mutex_);
  return spooled_;
}

size_t ItemWriter::held_back() const {
  const absl::MutexLock lock(&mutex_);
  size_t items = 0;
  for (const std::unique_ptr<ShardWriter>& writer : writers_) items += writer->held_back();
  return items;
}

bool ItemWriter::blocked() const {
  const absl::MutexLock lock(&mutex_);
  return blocked_ > 0;
}

std::string ItemWriter::trouble() const {
  const absl::MutexLock lock(&mutex_);
  std::string text;
  const auto add = [&text](absl::string_view trouble) {
    if (!trouble.empty()) absl::StrAppend(&text, text.empty() ? "" : "; ", trouble);
  };
  for (const std::unique_ptr<ShardWriter>& writer : writers_) add(writer->trouble());
  if (!homeless_.empty()) {
    add(absl::StrCat("shard ", homeless_.front().shard, ": not known until the learner answers, ",
                     homeless_.size(), " trajectories wait"));
  }
  return text;
}

std::vector<PeerState> ItemWriter::peers() const {
  const absl::MutexLock lock(&mutex_);
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
