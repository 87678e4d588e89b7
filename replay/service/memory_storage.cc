#include <grpcpp/support/slice.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "replay/service/storage.h"

namespace mallocmuzero {

void MemoryStorage::Publish(const StorageBatch& batch) {
  const absl::MutexLock lock(&mutex_);
  for (const StorageBatch::Put& put : batch.puts) {
    items_.Include(put.slot);
    bytes_ += put.item.wire.size() - items_[put.slot].size();
    items_[put.slot] = put.item.wire;
  }
}

void MemoryStorage::Remove(Slot slot) {
  grpc::Slice removed;  // declared before the lock, so that its bytes are freed after the lock
  const absl::MutexLock lock(&mutex_);
  bytes_ -= items_[slot].size();
  std::swap(removed, items_[slot]);
}

std::vector<StoredBytes> MemoryStorage::Get(absl::Span<const Slot> slots) {
  std::vector<StoredBytes> found;
  found.reserve(slots.size());
  const absl::MutexLock lock(&mutex_);
  for (const Slot slot : slots) items_.Prefetch(slot);
  for (const Slot slot : slots) __builtin_prefetch(items_[slot].begin());
  for (const Slot slot : slots) found.emplace_back(items_[slot]);
  return found;
}

uint64_t MemoryStorage::bytes_in_memory() const {
  const absl::MutexLock lock(&mutex_);
  return bytes_;
}

absl::StatusOr<ShardCopy> MemoryStorage::Checkpoint() {
  return absl::FailedPreconditionError(
      "mode: MEMORY keeps nothing on disk, must be DURABLE or DURABLE_SYNC for a checkpoint");
}

}  // namespace mallocmuzero
