// Storage on disk: its items survive the process.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_DURABLE_STORAGE_H_
#define MALLOCMUZERO_REPLAY_SERVICE_DURABLE_STORAGE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "replay/service/shard_copies.h"
#include "replay/service/storage.h"

namespace mallocmuzero {

struct DurableStorageOptions {
  std::string folder;          // made if it does not exist
  bool sync = false;           // if true, a committed batch also survives a power cut
  uint64_t cache_bytes = 0;    // of recently used items kept in memory
  uint64_t max_bytes = 0;      // the most that the shard holds; sets the size of segment files
  uint64_t segment_bytes = 0;  // size of a segment file; 0: chosen by max_bytes

  // The most ids of evicted items that are read at the start; the latest are read.
  uint64_t most_evicted_ids = UINT64_MAX;

  // Older copies are removed when a new one is made.
  CopyLimits copies;

  // How long the disk may take for a write or a read until the storage says that it hangs.
  absl::Duration patience = absl::Seconds(5);

  // Items are refused while the free bytes of the disk would fall below this reserve or a twentieth
  // of the disk, whichever is less. RocksDB must never find the disk full.
  uint64_t reserved_bytes = uint64_t{64} << 20;
};

// The bytes of items are appended once to segment files (segment_log.h); a small record of each
// item is in RocksDB. An item is stored once its record is, and the record is written after the
// bytes. RocksDB alone would write each item twice, to its log and to a table.
class DurableStorage {
 public:
  // Opens or makes the data folder. InvalidArgument if the folder has another format's data, cannot
  // be made, or is open in another process; ResourceExhausted if the disk is full; DataLoss if the
  // database is damaged. Messages name the folder.
  static absl::StatusOr<std::unique_ptr<Storage>> Open(DurableStorageOptions options);
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_DURABLE_STORAGE_H_
