// Measures a replay shard under load: `mallocmuzero bench replay`.

#ifndef MALLOCMUZERO_BENCH_REPLAY_REPLAY_BENCH_H_
#define MALLOCMUZERO_BENCH_REPLAY_REPLAY_BENCH_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "bench/replay/replay_load.h"
#include "mallocmuzero/v1/bench.pb.h"

namespace mallocmuzero::bench {

inline constexpr char kMemoryMode[] = "memory";
inline constexpr char kDurableMode[] = "durable";
inline constexpr char kDurableSyncMode[] = "durable_sync";

struct ReplayBenchOptions {
  uint64_t item_bytes = 40000;
  uint32_t clients = 1;
  std::string mode = kMemoryMode;  // one of the three above
  uint64_t items = 0;              // that the shard holds; 0: 800 MB of them, 100,000 if small
  double seconds = 5;              // of inserts, and of samples
  double patience_seconds = 10;    // with a shard that takes no inserts, such as with a full disk
  std::string data_dir;      // for items of durable modes; empty: the system's for temporary files
  OpenStorage open_storage;  // null: the storage of the mode
  std::function<bool()> stop = [] { return false; };  // asked often; true: as soon as possible
};

// Forks, so no thread may run yet. Removes its files in the end. InvalidArgument if there is no
// folder for them; Unavailable if a process fails or the shard takes no inserts; Cancelled if
// `stop` has ended it.
absl::StatusOr<v1::ReplayBenchReport> BenchReplay(const ReplayBenchOptions& options);

// `data_dir`, or the system's folder for temporary files if that is empty; InvalidArgument if there
// is none.
absl::StatusOr<std::string> FolderForItems(const std::string& data_dir);

}  // namespace mallocmuzero::bench

#endif  // MALLOCMUZERO_BENCH_REPLAY_REPLAY_BENCH_H_
