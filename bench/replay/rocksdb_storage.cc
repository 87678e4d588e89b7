#include "bench/replay/rocksdb_storage.h"

#include <grpcpp/support/slice.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/write_batch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "replay/service/slot.h"
#include "replay/service/slot_array.h"
#include "replay/service/storage.h"
#include "replay/wire/item.h"

namespace mallocmuzero::bench {
namespace {

enum Family : uint8_t { kIds, kItems, kFamilies };

absl::Status ToStatus(const rocksdb::Status& status) {
  return status.ok() ? absl::OkStatus() : absl::UnavailableError(status.ToString());
}

// Big-endian keys sort in the order of their numbers.
std::string KeyOf(uint64_t number) {
  std::string key;
  for (int shift = 56; shift >= 0; shift -= 8) key.push_back(number >> shift);
  return key;
}

rocksdb::Options DatabaseOptions() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.write_buffer_size = size_t{16} << 20;
  options.max_total_wal_size = uint64_t{512} << 20;
  options.max_background_jobs = 2;
  options.max_open_files = 128;
  options.compression = rocksdb::kNoCompression;
  options.avoid_unnecessary_blocking_io = true;
  return options;
}

// Of 16, 64 and 256 MiB, this buffer stores the most items. Garbage collection rewrites the oldest
// quarter of the blob files once half of their bytes are unused.
rocksdb::ColumnFamilyOptions ItemOptions(RocksDbLayout layout) {
  rocksdb::ColumnFamilyOptions options(DatabaseOptions());
  options.write_buffer_size = size_t{64} << 20;
  options.max_write_buffer_number = 4;
  if (layout == RocksDbLayout::kValues) return options;
  options.enable_blob_files = true;
  options.min_blob_size = 0;
  options.enable_blob_garbage_collection = true;
  options.blob_garbage_collection_age_cutoff = 0.25;
  options.blob_garbage_collection_force_threshold = 0.5;
  return options;
}

class RocksDbStorage final : public Storage {
 public:
  RocksDbStorage(std::unique_ptr<rocksdb::DB> db,
                 std::vector<rocksdb::ColumnFamilyHandle*> families, bool sync)
      : db_(std::move(db)), families_(std::move(families)), sync_(sync) {}

  ~RocksDbStorage() override {
    for (rocksdb::ColumnFamilyHandle* family : families_) {
      db_->DestroyColumnFamilyHandle(family).PermitUncheckedError();
    }
  }

  bool on_disk() const override { return true; }
  absl::StatusOr<RecoveredShard> Recover() override { return RecoveredShard(); }
  void Restore(Slot, uint64_t) override {}

  absl::Status Commit(const StorageBatch& batch) override {
    rocksdb::WriteBatch writes;
    rocksdb::Status status;
    const auto keep = [&](const rocksdb::Status& added) {
      if (!added.ok()) status = added;
    };
    for (const StorageBatch::Put& put : batch.puts) {
      const absl::string_view wire = ViewOf(put.item.wire);
      keep(writes.Put(families_[kItems], KeyOf(put.serial), {wire.data(), wire.size()}));
    }
    for (const StorageBatch::Eviction& evicted : batch.evictions) {
      const std::string serial = KeyOf(evicted.serial);
      keep(writes.Delete(families_[kItems], serial));
      keep(writes.Put(families_[kIds], absl::StrCat(KeyOf(evicted.forget_at), ViewOf(evicted.id)),
                      serial));
    }
    if (!status.ok()) return ToStatus(status);
    rocksdb::WriteOptions options;
    options.sync = sync_;
    return ToStatus(db_->Write(options, &writes));
  }

  void Publish(const StorageBatch& batch) override {
    const absl::MutexLock lock(&mutex_);
    for (const StorageBatch::Put& put : batch.puts) {
      serials_.Include(put.slot);
      serials_[put.slot] = put.serial;
    }
  }

  std::vector<LostItem> Tidy() override { return {}; }
  void Remove(Slot) override {}

  std::vector<StoredBytes> Get(absl::Span<const Slot> slots) override {
    std::vector<StoredBytes> found;
    const absl::MutexLock lock(&mutex_);
    for (const Slot slot : slots) {
      found.emplace_back([this, serial = serials_[slot]] { return Read(serial); });
    }
    return found;
  }

  absl::Status Sync() override { return ToStatus(db_->SyncWAL()); }
  uint64_t bytes_on_disk() const override { return 0; }
  uint64_t bytes_in_memory() const override { return 0; }
  absl::StatusOr<ShardCopy> Checkpoint() override {
    return absl::UnimplementedError("a storage for measurements");
  }
  std::string trouble() const override { return {}; }
  std::string hang() const override { return {}; }

 private:
  absl::StatusOr<grpc::Slice> Read(uint64_t serial) const {
    auto value = std::make_unique<std::string>();
    const rocksdb::Status status =
        db_->Get(rocksdb::ReadOptions(), families_[kItems], KeyOf(serial), value.get());
    if (!status.ok()) return ToStatus(status);
    std::string* const bytes = value.release();
    return grpc::Slice(
        bytes->data(), bytes->size(), [](void* kept) { delete static_cast<std::string*>(kept); },
        bytes);
  }

  const std::unique_ptr<rocksdb::DB> db_;
  const std::vector<rocksdb::ColumnFamilyHandle*> families_;  // by Family
  const bool sync_;
  absl::Mutex mutex_;
  SlotArray<uint64_t> serials_ ABSL_GUARDED_BY(mutex_);  // by slot
};

}  // namespace

absl::StatusOr<std::unique_ptr<Storage>> MakeRocksDbStorage(const std::string& folder,
                                                            RocksDbLayout layout, bool sync) {
  const rocksdb::Options options = DatabaseOptions();
  const std::vector<rocksdb::ColumnFamilyDescriptor> descriptors = {
      {rocksdb::kDefaultColumnFamilyName, rocksdb::ColumnFamilyOptions(options)},
      {"items", ItemOptions(layout)}};
  std::vector<rocksdb::ColumnFamilyHandle*> families;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status =
      rocksdb::DB::Open(rocksdb::DBOptions(options), folder, descriptors, &families, &db);
  if (!status.ok()) return ToStatus(status);
  return std::make_unique<RocksDbStorage>(std::unique_ptr<rocksdb::DB>(db), std::move(families),
                                          sync);
}

}  // namespace mallocmuzero::bench
