#include <grpcpp/support/slice.h>

#include <cstdint>
#include <string>

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
  grpc::Slice removed;  // freed without the lock
  const absl::MutexLock lock(&mutex_);
  bytes_ -= items_[slot].size();
  std::swap(removed, items_[slot]);
}

StoredBytes MemoryStorage::Get(Slot slot) {
  const absl::MutexLock lock(&mutex_);
  return StoredBytes(items_[slot]);
}

uint64_t MemoryStorage::bytes_in_memory() const {
  const absl::MutexLock lock(&mutex_);
  return bytes_;
}

absl::StatusOr<std::string> MemoryStorage::Checkpoint() {
  return absl::FailedPreconditionError(
      "mode: MEMORY keeps nothing on disk, must be DURABLE or DURABLE_SYNC for a checkpoint");
}

}  // namespace mallocmuzero
