#include "replay/service/durable_storage.h"

#include <grpcpp/support/slice.h>
#include <sys/statvfs.h>

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

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "replay/service/item.h"
#include "replay/service/item_cache.h"
#include "replay/service/item_database.h"
#include "replay/service/segment_log.h"
#include "replay/service/slot_array.h"
#include "replay/service/storage.h"
#include "replay/service/wire.h"

namespace mallocmuzero {
namespace {

constexpr uint64_t kSmallestSegment = uint64_t{8} << 20;
constexpr uint64_t kLargestSegment = uint64_t{256} << 20;

// The reserve is at most the disk's size divided by this.
constexpr uint64_t kReservedPart = 20;

absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return absl::OkStatus();
  const std::string message = absl::StrCat("data_dir: ", folder, ": ", error.message());
  // A full disk is a passing condition: the shard may find room when it is started again.
  if (error == std::errc::no_space_on_device) return absl::ResourceExhaustedError(message);
  return absl::InvalidArgumentError(message);
}

class DurableStorageImpl final : public Storage {
 public:
  DurableStorageImpl(const DurableStorageOptions& options, std::unique_ptr<ItemDatabase> database,
                     std::unique_ptr<SegmentLog> segments)
      : options_(options),
        database_(std::move(database)),
        segments_(std::move(segments)),
        cache_(options.cache_bytes) {}

  bool on_disk() const override { return true; }
  absl::StatusOr<RecoveredShard> Recover() override;
  void Restore(Slot slot, uint64_t serial) override;
  absl::Status Commit(const StorageBatch& batch) override;
  void Publish(const StorageBatch& batch) override;
  std::vector<LostItem> Tidy() override;
  void Remove(Slot slot) override;
  std::vector<StoredBytes> Get(absl::Span<const Slot> slots) override;
  uint64_t bytes_on_disk() const override { return segments_->bytes() + database_->bytes(); }
  uint64_t bytes_in_memory() const override;
  absl::StatusOr<std::string> Checkpoint() override;
  std::string trouble() const override;

 private:
  struct Entry {
    uint64_t serial = 0;  // 0: a free slot
    SegmentPlace place;
  };

  // Items that move to another segment. Equal indices of the lists belong to the same item.
  struct Move {
    std::vector<LostItem> from;
    std::vector<SegmentPlace> old_places;
    std::vector<Item> items;
    std::vector<ItemDatabase::Record> records;
  };

  absl::Status CheckSpace(uint64_t bytes) const;
  absl::Status Store(const StorageBatch& batch);
  absl::Status MoveWorstSegment(std::vector<LostItem>& lost);
  absl::Status ReadSegment(uint32_t segment, Move& move, std::vector<LostItem>& lost);
  absl::Status MoveItems(Move& move);
  absl::Status CopyInto(const std::string& folder);

  const DurableStorageOptions options_;
  const std::unique_ptr<ItemDatabase> database_;
  const std::unique_ptr<SegmentLog> segments_;

  mutable absl::Mutex mutex_;
  SlotArray<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // by slot
  ItemCache cache_ ABSL_GUARDED_BY(mutex_);
  std::string trouble_ ABSL_GUARDED_BY(mutex_);       // why the last Commit failed
  std::string tidy_trouble_ ABSL_GUARDED_BY(mutex_);  // why the last Tidy failed

  // The places, by serial, of recovered items that have no slot yet, and of removed items whose
  // records are still in the database.
  absl::flat_hash_map<uint64_t, SegmentPlace> recovered_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, SegmentPlace> removed_ ABSL_GUARDED_BY(mutex_);

  // The places of the batch that Commit has stored and Publish will take over.
  std::vector<SegmentPlace> places_;
};

absl::StatusOr<RecoveredShard> DurableStorageImpl::Recover() {
  absl::StatusOr<ItemDatabase::Content> content = database_->Read();
  if (!content.ok()) return content.status();
  RecoveredShard shard{.evicted = std::move(content->evicted),
                       .counters = std::move(content->counters)};
  std::vector<uint64_t> lost;
  absl::flat_hash_set<ItemId> ids;
  const absl::MutexLock lock(&mutex_);
  for (ItemDatabase::Record& record : content->records) {
    // Two records have one id if a write reported an error but reached the disk: the client then
    // sent the item again.
    const bool is_new = ids.insert(record.metadata.id).second;
    if (!is_new || !segments_->Use(record.place)) {
      lost.push_back(record.serial);
      continue;
    }
    recovered_[record.serial] = record.place;
    shard.items.push_back({.serial = record.serial,
                           .metadata = std::move(record.metadata),
                           .bytes = record.place.bytes,
                           .priorities = std::move(record.priorities)});
  }
  shard.lost_items = lost.size();
  if (!lost.empty()) MMZ_RETURN_IF_ERROR(database_->Erase(lost));
  segments_->RemoveUnused();
  return shard;
}

void DurableStorageImpl::Restore(Slot slot, uint64_t serial) {
  const absl::MutexLock lock(&mutex_);
  const auto found = recovered_.find(serial);
  entries_.Include(slot);
  entries_[slot] = {.serial = serial, .place = found->second};
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

absl::Status DurableStorageImpl::Commit(const StorageBatch& batch) {
  absl::Status status = Store(batch);
  const absl::MutexLock lock(&mutex_);
  trouble_ = std::string(status.message());
  return status;
}

absl::Status DurableStorageImpl::Store(const StorageBatch& batch) {
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
    for (const SegmentPlace& place : *places) segments_->Release(place);
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

void DurableStorageImpl::Publish(const StorageBatch& batch) {
  const absl::MutexLock lock(&mutex_);
  for (size_t i = 0; i < batch.puts.size(); ++i) {
    const StorageBatch::Put& put = batch.puts[i];
    entries_.Include(put.slot);
    Entry& entry = entries_[put.slot];
    if (entry.serial == put.serial) segments_->Release(entry.place);
    entry = {.serial = put.serial, .place = places_[i]};
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
    found.emplace_back([file = segments_->File(place), place] { return file->Read(place); });
  }
  return found;
}

uint64_t DurableStorageImpl::bytes_in_memory() const {
  const absl::MutexLock lock(&mutex_);
  return cache_.bytes();
}

std::string DurableStorageImpl::trouble() const {
  const absl::MutexLock lock(&mutex_);
  return trouble_.empty() ? tidy_trouble_ : trouble_;
}

// A failure is only noted: the batch before is stored, whether or not there is room to move items.
std::vector<LostItem> DurableStorageImpl::Tidy() {
  std::vector<LostItem> lost;
  const absl::Status status = MoveWorstSegment(lost);
  const absl::MutexLock lock(&mutex_);
  tidy_trouble_ = std::string(status.message());
  return lost;
}

// A few items that stay long keep whole segment files whose other items have left. Moves the items
// of the segment with the smallest share in use to the current segment, so that its file can go.
absl::Status DurableStorageImpl::MoveWorstSegment(std::vector<LostItem>& lost) {
  const uint32_t segment = segments_->WorstSegment();
  if (segment == UINT32_MAX) return absl::OkStatus();
  Move move;
  absl::Status read = ReadSegment(segment, move, lost);
  MMZ_RETURN_IF_ERROR(MoveItems(move));
  return read;
}

// Reads a segment's items into `move`. An item that cannot be read does not hold back the others: a
// damaged item is added to `lost`, and a read error is returned after all items were tried.
absl::Status DurableStorageImpl::ReadSegment(uint32_t segment, Move& move,
                                             std::vector<LostItem>& lost) {
  {
    const absl::MutexLock lock(&mutex_);
    for (Slot slot = 0; slot < entries_.size(); ++slot) {
      const Entry& entry = entries_[slot];
      if (entry.serial == 0 || entry.place.segment != segment) continue;
      move.from.push_back({.slot = slot, .serial = entry.serial});
      move.old_places.push_back(entry.place);
    }
  }
  absl::Status status;
  size_t kept = 0;
  for (size_t i = 0; i < move.from.size(); ++i) {
    const LostItem from = move.from[i];
    const SegmentPlace place = move.old_places[i];
    const absl::StatusOr<grpc::Slice> slice = segments_->File(place)->Read(place);
    absl::StatusOr<ItemMetadata> metadata = slice.ok() ? ReadItem(ViewOf(*slice)) : slice.status();
    if (!metadata.ok()) {
      const bool damaged = slice.ok() || absl::IsDataLoss(slice.status());
      if (damaged) lost.push_back(from);
      if (!damaged) status = slice.status();
      continue;
    }
    Item& item = move.items.emplace_back();
    item.wire = *slice;
    item.crc32c = place.crc32c;
    move.records.push_back({.serial = from.serial, .metadata = *std::move(metadata)});
    move.from[kept] = from;
    move.old_places[kept++] = place;
  }
  move.from.resize(kept);
  move.old_places.resize(kept);
  return status;
}

absl::Status DurableStorageImpl::MoveItems(Move& move) {
  if (move.items.empty()) return absl::OkStatus();
  std::vector<const Item*> items;
  uint64_t bytes = 0;
  for (const Item& item : move.items) {
    items.push_back(&item);
    bytes += item.wire.size();
  }
  MMZ_RETURN_IF_ERROR(CheckSpace(bytes));
  const absl::StatusOr<std::vector<SegmentPlace>> places = segments_->Append(items);
  if (!places.ok()) return places.status();
  for (size_t i = 0; i < move.records.size(); ++i) move.records[i].place = (*places)[i];
  if (absl::Status status = database_->Move(move.records); !status.ok()) {
    for (const SegmentPlace& place : *places) segments_->Release(place);
    return status;
  }
  const absl::MutexLock lock(&mutex_);
  for (size_t i = 0; i < move.from.size(); ++i) {
    entries_[move.from[i].slot].place = (*places)[i];
    segments_->Release(move.old_places[i]);
  }
  return absl::OkStatus();
}

absl::Status DurableStorageImpl::CopyInto(const std::string& folder) {
  MMZ_RETURN_IF_ERROR(MakeFolder(absl::StrCat(folder, "/segments")));
  segments_->Pin();
  const absl::Cleanup unpin = [this] { segments_->Unpin(); };
  // The records are copied first. Every segment that they name is then linked, because no segment
  // is removed while the log is pinned.
  MMZ_RETURN_IF_ERROR(database_->CopyTo(absl::StrCat(folder, "/database")));
  return segments_->LinkInto(absl::StrCat(folder, "/segments"));
}

absl::StatusOr<std::string> DurableStorageImpl::Checkpoint() {
  std::string path =
      absl::StrCat(options_.folder, ".checkpoint-",
                   absl::FormatTime("%Y%m%dT%H%M%E6SZ", absl::Now(), absl::UTCTimeZone()));
  // An incomplete copy would open as a shard that has lost items, so only a complete one gets the
  // final name.
  const std::string unfinished = absl::StrCat(path, ".tmp");
  absl::Status status = CopyInto(unfinished);
  std::error_code error;
  if (status.ok()) std::filesystem::rename(unfinished, path, error);
  if (error) status = absl::UnavailableError(absl::StrCat(path, ": ", error.message()));
  if (status.ok()) return path;
  std::filesystem::remove_all(unfinished, error);
  return status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Storage>> DurableStorage::Open(
    const DurableStorageOptions& options) {
  const std::string segment_folder = absl::StrCat(options.folder, "/segments");
  MMZ_RETURN_IF_ERROR(MakeFolder(segment_folder));
  // The database is opened first, because its lock keeps other processes out of the folder.
  absl::StatusOr<std::unique_ptr<ItemDatabase>> database =
      ItemDatabase::Open(absl::StrCat(options.folder, "/database"), options.sync);
  if (!database.ok()) {
    return absl::Status(database.status().code(),
                        absl::StrCat(options.folder, ": ", database.status().message()));
  }
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
