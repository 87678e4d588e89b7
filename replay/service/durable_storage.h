// Items that survive the process.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_DURABLE_STORAGE_H_
#define MALLOCMUZERO_REPLAY_SERVICE_DURABLE_STORAGE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "replay/service/storage.h"

namespace mallocmuzero {

struct DurableStorageOptions {
  std::string folder;          // made if it is not there
  bool sync = false;           // a batch also survives a power cut
  uint64_t cache_bytes = 0;    // of items kept in memory, those used last
  uint64_t max_bytes = 0;      // that the shard will hold: sets the size of files
  uint64_t segment_bytes = 0;  // 0: chosen by max_bytes

  // Ids of evicted items that are read at the start, the latest.
  uint64_t most_evicted_ids = UINT64_MAX;

  // How long the disk may take for a write or a read until the storage says that it hangs.
  absl::Duration patience = absl::Seconds(5);

  // No item is written while fewer bytes are free on the disk, or fewer than a twentieth of it if
  // that is less: the database must never find it full.
  uint64_t reserved_bytes = uint64_t{64} << 20;
};

// Bytes of items are appended to files (segment_log.h), once; what is known of them, small, is in a
// RocksDB beside. An item is there once its record is, which is written after its bytes. In
// RocksDB alone each item would be written twice, to its log and to a table.
class DurableStorage {
 public:
  // InvalidArgument if the folder is another format's or another process has it open.
  static absl::StatusOr<std::unique_ptr<Storage>> Open(const DurableStorageOptions& options);
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_DURABLE_STORAGE_H_
