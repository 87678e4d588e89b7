#include "replay/service/durable_storage.h"

#include <grpcpp/support/slice.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/file_io.h"
#include "base/make_folder.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "base/steady_clock.h"
#include "base/sync_folder.h"
#include "replay/service/durable_storage_impl.h"
#include "replay/service/item_database.h"
#include "replay/service/segment_log.h"
#include "replay/service/shard_copies.h"
#include "replay/service/slot.h"
#include "replay/service/storage.h"
#include "replay/wire/item.h"

namespace mallocmuzero {
namespace {

constexpr uint64_t kSmallestSegment = uint64_t{8} << 20;
constexpr uint64_t kLargestSegment = uint64_t{256} << 20;

constexpr absl::Duration kMeasureInterval = absl::Seconds(1);

// The reserve is at most the disk's size divided by this.
constexpr uint64_t kReservedPart = 20;

// Makes the names of a data folder, of what it contains and of the folders above it survive a power
// cut. Leaves out folders on other disks, and folders that only other users may read.
absl::Status SyncNames(const std::string& folder) {
  MMZ_RETURN_IF_ERROR(SyncFolder(folder));
  struct stat data {};
  struct stat above {};
  std::error_code error;
  std::filesystem::path path = std::filesystem::canonical(folder, error);
  if (error || stat(path.c_str(), &data) != 0) return absl::OkStatus();
  while (path.has_relative_path()) {
    path = path.parent_path();
    if (stat(path.c_str(), &above) != 0 || above.st_dev != data.st_dev) break;
    if (access(path.c_str(), R_OK) != 0) continue;
    MMZ_RETURN_IF_ERROR(SyncFolder(path.string()));
  }
  return absl::OkStatus();
}

}  // namespace

// A write that failed may have left a record in RocksDB's log. Such a record is stale if the game
// was stored again later, because the later record has a higher serial.
absl::StatusOr<RecoveredShard> DurableStorageImpl::Recover() {
  absl::StatusOr<ItemDatabase::Content> content = database_->Read(options_.most_evicted_ids);
  if (!content.ok()) return content.status();
  RecoveredShard shard{.evicted = std::move(content->evicted),
                       .counters = std::move(content->counters),
                       .ids_left_out = content->ids_left_out};
  absl::flat_hash_map<ItemId, uint64_t> evicted;  // the latest serial of each
  for (const StorageBatch::Eviction& eviction : shard.evicted) {
    uint64_t& serial = evicted[eviction.id];
    serial = std::max(serial, eviction.serial);
  }
  absl::flat_hash_set<ItemId> stored;
  std::vector<uint64_t> useless = content->damaged;  // serials
  absl::flat_hash_set<ItemId> without_bytes;
  const absl::MutexLock lock(&mutex_);
  std::reverse(content->records.begin(), content->records.end());
  for (ItemDatabase::Record& record : content->records) {
    const auto left = evicted.find(record.metadata.id);
    const bool is_stale = stored.contains(record.metadata.id) ||
                          (left != evicted.end() && left->second > record.serial);
    if (is_stale || !segments_->Use(record.place)) {
      useless.push_back(record.serial);
      if (!is_stale) without_bytes.insert(record.metadata.id);
      continue;
    }
    stored.insert(record.metadata.id);
    recovered_[record.serial] = {.serial = record.serial,
                                 .place = record.place,
                                 .total_return = record.metadata.total_return};
    shard.items.push_back({.serial = record.serial,
                           .metadata = std::move(record.metadata),
                           .bytes = record.place.bytes,
                           .priorities = std::move(record.priorities)});
  }
  std::reverse(shard.items.begin(), shard.items.end());
  shard.lost_items = content->damaged.size();
  for (const ItemId& id : without_bytes) shard.lost_items += stored.contains(id) ? 0 : 1;
  if (!useless.empty()) MMZ_RETURN_IF_ERROR(database_->Rewrite({}, useless, options_.sync));
  segments_->RemoveUnused();
  MeasureDisk();
  return shard;
}

void DurableStorageImpl::Restore(Slot slot, uint64_t serial) {
  const absl::MutexLock lock(&mutex_);
  const auto found = recovered_.find(serial);
  entries_.Include(slot);
  entries_[slot] = found->second;
  recovered_.erase(found);
}

absl::Status DurableStorageImpl::CheckSpace(uint64_t bytes) const {
  struct statvfs disk {};
  if (statvfs(options_.folder.c_str(), &disk) != 0) {
    return absl::UnavailableError(absl::StrCat(options_.folder, ": ", std::strerror(errno)));
  }
  const uint64_t free = uint64_t{disk.f_bavail} * disk.f_frsize;
  const uint64_t reserved =
      std::min(options_.reserved_bytes, uint64_t{disk.f_blocks} * disk.f_frsize / kReservedPart);
  if (free >= bytes + reserved) return absl::OkStatus();
  if (segments_->FreeSpares()) return CheckSpace(bytes);
  return absl::ResourceExhaustedError(absl::StrCat("disk full: ", free, " bytes free in ",
                                                   options_.folder, ", ", reserved,
                                                   " of them are kept for the database"));
}

// Measuring reads the sizes of all files, so it is not done for each group.
void DurableStorageImpl::MeasureDisk() {
  if (SteadyNow() - measured_ < kMeasureInterval) return;
  bytes_on_disk_ = segments_->bytes() + database_->bytes();
  measured_ = SteadyNow();
}

absl::Status DurableStorageImpl::Commit(const StorageBatch& batch) {
  const DiskWatch::Use use(*watch_);
  absl::Status status = Store(batch);
  MeasureDisk();
  const absl::MutexLock lock(&mutex_);
  trouble_ = std::string(status.message());
  return status;
}

absl::Status DurableStorageImpl::Store(const StorageBatch& batch) {
  MMZ_RETURN_IF_ERROR(UndoFailedWrite());
  std::vector<const Item*> items;
  uint64_t bytes = 0;
  for (const StorageBatch::Put& put : batch.puts) {
    items.push_back(&put.item);
    bytes += put.item.wire.size();
  }
  if (bytes > 0) MMZ_RETURN_IF_ERROR(CheckSpace(bytes));
  absl::StatusOr<std::vector<SegmentPlace>> places = segments_->Append(items);
  if (!places.ok()) return places.status();
  if (absl::Status status = database_->Write(batch, *places); !status.ok()) {
    for (size_t i = 0; i < batch.puts.size(); ++i) {
      failed_.push_back({{batch.puts[i].slot, batch.puts[i].serial}, (*places)[i]});
    }
    return status;
  }
  places_ = *std::move(places);
  std::vector<SegmentPlace> unused;
  {
    const absl::MutexLock lock(&mutex_);
    for (const StorageBatch::Eviction& evicted : batch.evictions) {
      const auto found = removed_.find(evicted.serial);
      if (found == removed_.end()) continue;
      unused.push_back(found->second);
      removed_.erase(found);
    }
  }
  for (const SegmentPlace& place : unused) segments_->Release(place);
  return absl::OkStatus();
}

// The records of a failed write may be in RocksDB's log and come back when the database is opened
// again. Overwrites the records of stored items with their current places and deletes the others.
// The failed places stay in use until the disk has this, so that no record names missing bytes.
absl::Status DurableStorageImpl::UndoFailedWrite() {
  if (failed_.empty()) return absl::OkStatus();
  Move stored;
  std::vector<uint64_t> erased;
  {
    const absl::MutexLock lock(&mutex_);
    for (const FailedPut& put : failed_) {
      const bool is_stored =
          put.item.slot < entries_.size() && entries_[put.item.slot].serial == put.item.serial;
      if (!is_stored) {
        erased.push_back(put.item.serial);
        continue;
      }
      stored.from.push_back(put.item);
      stored.old_places.push_back(entries_[put.item.slot].place);
      stored.returns.push_back(entries_[put.item.slot].total_return);
    }
  }
  std::vector<LostItem> damaged;  // found again when they are drawn
  MMZ_RETURN_IF_ERROR(ReadItems(stored, damaged));
  for (size_t i = 0; i < stored.records.size(); ++i) {
    stored.records[i].place = stored.old_places[i];
  }
  MMZ_RETURN_IF_ERROR(database_->Rewrite(stored.records, erased, options_.sync));
  for (const FailedPut& put : std::exchange(failed_, {})) segments_->Release(put.place);
  return absl::OkStatus();
}

void DurableStorageImpl::Publish(const StorageBatch& batch) {
  const absl::MutexLock lock(&mutex_);
  for (size_t i = 0; i < batch.puts.size(); ++i) {
    const StorageBatch::Put& put = batch.puts[i];
    entries_.Include(put.slot);
    Entry& entry = entries_[put.slot];
    if (entry.serial == put.serial) replaced_.push_back(entry.place);
    entry = {
        .serial = put.serial, .place = places_[i], .total_return = put.item.metadata.total_return};
    cache_.Put(put.slot, put.item.wire);
  }
}

void DurableStorageImpl::Remove(Slot slot) {
  const absl::MutexLock lock(&mutex_);
  removed_[entries_[slot].serial] = entries_[slot].place;
  entries_[slot] = {};
  cache_.Remove(slot);
}

std::vector<StoredBytes> DurableStorageImpl::Get(absl::Span<const Slot> slots) {
  std::vector<StoredBytes> found;
  found.reserve(slots.size());
  const absl::MutexLock lock(&mutex_);
  for (const Slot slot : slots) {
    if (const grpc::Slice* cached = cache_.Find(slot)) {
      found.emplace_back(*cached);
      continue;
    }
    const SegmentPlace place = entries_[slot].place;
    found.emplace_back([watch = watch_, file = segments_->File(place), place] {
      const DiskWatch::Use use(*watch);
      return file->Read(place);
    });
  }
  return found;
}

absl::Status DurableStorageImpl::Sync() {
  const DiskWatch::Use use(*watch_);
  // The records come last, so that none of them names bytes that the disk does not have.
  MMZ_RETURN_IF_ERROR(segments_->SyncAll());
  return database_->Sync();
}

uint64_t DurableStorageImpl::bytes_in_memory() const {
  const absl::MutexLock lock(&mutex_);
  return cache_.bytes();
}

std::string DurableStorageImpl::trouble() const {
  if (std::string hang = watch_->trouble(); !hang.empty()) return hang;
  const absl::MutexLock lock(&mutex_);
  return trouble_.empty() ? tidy_trouble_ : trouble_;
}

absl::Status DurableStorageImpl::CopyInto(const std::string& folder) {
  const std::string segment_folder = absl::StrCat(folder, "/segments");
  MMZ_RETURN_IF_ERROR(StatusAt("data_dir", MakeFolder(segment_folder)));
  segments_->Pin();
  const absl::Cleanup unpin = [this] { segments_->Unpin(); };
  // The records are copied first. Every segment that they name is then linked, because no segment
  // is removed while the log is pinned.
  MMZ_RETURN_IF_ERROR(database_->CopyTo(absl::StrCat(folder, "/database")));
  MMZ_RETURN_IF_ERROR(segments_->LinkInto(segment_folder));
  // The log itself syncs its files only in the mode DURABLE_SYNC.
  MMZ_RETURN_IF_ERROR(SyncFiles(segment_folder));
  return SyncFolder(folder);
}

absl::StatusOr<ShardCopy> DurableStorageImpl::Checkpoint() {
  const absl::MutexLock lock(&copy_mutex_);
  const std::string path = NewCopyPath(options_.folder);
  const std::string unfinished = UnfinishedCopyPath(path);
  absl::Status status = CopyInto(unfinished);
  if (status.ok()) status = FinishCopy(path);
  if (status.ok()) {
    return ShardCopy{.path = path,
                     .removed = RemoveOldCopies(options_.folder, options_.copies, path)};
  }
  std::error_code error;
  std::filesystem::remove_all(unfinished, error);
  return status;
}

absl::StatusOr<std::unique_ptr<Storage>> DurableStorage::Open(DurableStorageOptions options) {
  // The names of copies are made from the folder's name, which a slash at its end would hide.
  std::filesystem::path folder = std::filesystem::path(options.folder).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  options.folder = folder.string();
  const std::string segment_folder = absl::StrCat(options.folder, "/segments");
  MMZ_RETURN_IF_ERROR(StatusAt("data_dir", MakeFolder(segment_folder)));
  // The database is opened first, because its lock keeps other processes out of the folder.
  absl::StatusOr<std::unique_ptr<ItemDatabase>> database =
      ItemDatabase::Open(absl::StrCat(options.folder, "/database"), options.sync);
  if (!database.ok()) return StatusAt(options.folder, database.status());
  MMZ_RETURN_IF_ERROR(SyncNames(options.folder));
  RemoveUnfinishedCopies(options.folder);
  const uint64_t segment_bytes =
      options.segment_bytes > 0
          ? options.segment_bytes
          : std::clamp(options.max_bytes / 32, kSmallestSegment, kLargestSegment);
  absl::StatusOr<std::unique_ptr<SegmentLog>> segments = SegmentLog::Open(
      {.folder = segment_folder, .segment_bytes = segment_bytes, .sync = options.sync});
  if (!segments.ok()) return segments.status();
  return std::make_unique<DurableStorageImpl>(options, *std::move(database), *std::move(segments));
}

}  // namespace mallocmuzero
