// A storage that leaves the bytes of items to RocksDB, to compare it with a shard's own storage.

#ifndef MALLOCMUZERO_BENCH_REPLAY_ROCKSDB_STORAGE_H_
#define MALLOCMUZERO_BENCH_REPLAY_ROCKSDB_STORAGE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "replay/service/storage.h"

namespace mallocmuzero::bench {

// Where RocksDB keeps the bytes once they leave its log.
enum class RocksDbLayout : uint8_t {
  kBlobFiles,  // in blob files, with garbage collection of these
  kValues      // in the tables, beside the keys
};

// Makes an empty storage in a folder that does not exist. It survives a kill, with `sync` also a
// power cut, and has no recovery, copies or mending, which a measurement does not need.
absl::StatusOr<std::unique_ptr<Storage>> MakeRocksDbStorage(const std::string& folder,
                                                            RocksDbLayout layout, bool sync);

}  // namespace mallocmuzero::bench

#endif  // MALLOCMUZERO_BENCH_REPLAY_ROCKSDB_STORAGE_H_
