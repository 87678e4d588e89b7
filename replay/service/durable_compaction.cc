// The part of the durable storage that moves items out of segments that are mostly unused.

#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "replay/service/durable_storage_impl.h"
#include "replay/service/item_database.h"
#include "replay/service/segment_log.h"
#include "replay/service/slot.h"
#include "replay/service/storage.h"
#include "replay/wire/item.h"
#include "replay/wire/wire.h"

namespace mallocmuzero {

// A failure is only noted: the batch before is stored, whether or not there is room to move items.
std::vector<LostItem> DurableStorageImpl::Tidy() {
  const DiskWatch::Use use(*watch_);
  for (const SegmentPlace& place : std::exchange(replaced_, {})) segments_->Release(place);
  std::vector<LostItem> lost;
  const absl::Status status = MoveWorstSegment(lost);
  const absl::MutexLock lock(&mutex_);
  tidy_trouble_ = std::string(status.message());
  return lost;
}

// A few items that stay long keep whole segment files whose other items have left. Moves the items
// of the segment with the smallest share in use to the current segment, so that its file can go.
absl::Status DurableStorageImpl::MoveWorstSegment(std::vector<LostItem>& lost) {
  MMZ_RETURN_IF_ERROR(UndoFailedWrite());
  const uint32_t segment = segments_->WorstSegment();
  if (segment == UINT32_MAX) return absl::OkStatus();
  Move move;
  absl::Status read = ReadSegment(segment, move, lost);
  MMZ_RETURN_IF_ERROR(MoveItems(move));
  return read;
}

absl::Status DurableStorageImpl::ReadSegment(uint32_t segment, Move& move,
                                             std::vector<LostItem>& lost) {
  {
    const absl::MutexLock lock(&mutex_);
    for (Slot slot = 0; slot < entries_.size(); ++slot) {
      const Entry& entry = entries_[slot];
      if (entry.serial == 0 || entry.place.segment != segment) continue;
      move.from.push_back({.slot = slot, .serial = entry.serial});
      move.old_places.push_back(entry.place);
      move.returns.push_back(entry.total_return);
    }
  }
  return ReadItems(move, lost);
}

// Reads the items and records of move.from from move.old_places; records keep move.returns. An item
// that cannot be read does not hold back the others: a damaged item is added to `lost`, and a read
// error is returned after all items were tried.
absl::Status DurableStorageImpl::ReadItems(Move& move, std::vector<LostItem>& lost) const {
  absl::Status status;
  size_t kept = 0;
  for (size_t i = 0; i < move.from.size(); ++i) {
    const SlotItem from = move.from[i];
    const SegmentPlace place = move.old_places[i];
    const std::shared_ptr<const SegmentFile> file = segments_->File(place);
    const absl::StatusOr<grpc::Slice> slice = file->Read(place);
    absl::StatusOr<ItemMetadata> metadata = slice.ok() ? ReadItem(ViewOf(*slice)) : slice.status();
    if (!metadata.ok()) {
      const absl::Status why =
          slice.ok() ? StatusAt(file->path(), metadata.status()) : slice.status();
      const bool damaged = slice.ok() || absl::IsDataLoss(why);
      if (damaged) lost.push_back({from, std::string(why.message())});
      if (!damaged) status = why;
      continue;
    }
    Item& item = move.items.emplace_back();
    item.wire = *slice;
    item.crc32c = place.crc32c;
    metadata->total_return = move.returns[i];
    move.records.push_back({.serial = from.serial, .metadata = *std::move(metadata)});
    move.from[kept] = from;
    move.returns[kept] = move.returns[i];
    move.old_places[kept++] = place;
  }
  move.from.resize(kept);
  move.old_places.resize(kept);
  move.returns.resize(kept);
  return status;
}

// The old bytes may have been on the disk for long, so a power cut must not lose the items. The old
// bytes go only once the disk has the new ones and their records.
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
  absl::Status status = options_.sync ? absl::OkStatus() : segments_->Sync(places->front());
  if (status.ok()) status = database_->Rewrite(move.records, {}, /*sync=*/true);
  if (!status.ok()) {
    for (size_t i = 0; i < move.from.size(); ++i) {
      failed_.push_back({move.from[i], (*places)[i]});
    }
    return status;
  }
  {
    const absl::MutexLock lock(&mutex_);
    for (size_t i = 0; i < move.from.size(); ++i) {
      entries_[move.from[i].slot].place = (*places)[i];
    }
  }
  for (const SegmentPlace& place : move.old_places) segments_->Release(place);
  return absl::OkStatus();
}

}  // namespace mallocmuzero
