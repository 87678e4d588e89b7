// How much a replay shard takes and gives: a server and clients as processes of their own.

#ifndef MALLOCMUZERO_BENCH_REPLAY_REPLAY_LOAD_H_
#define MALLOCMUZERO_BENCH_REPLAY_REPLAY_LOAD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "replay/service/storage.h"

namespace mallocmuzero::bench {

// Opens a storage in a folder that does not exist.
using OpenStorage =
    std::function<absl::StatusOr<std::unique_ptr<Storage>>(const std::string& folder)>;

struct ReplayLoadOptions {
  v1::ReplayShard::Mode mode = v1::ReplayShard::MEMORY;
  std::string data_dir;   // of durable modes: empty or not there; deleted in the end
  size_t item_bytes = 0;  // of the payload, random
  uint32_t clients = 0;
  uint64_t items = 0;            // that the shard holds, and has before it is measured
  double seconds = 0;            // of each of the two measurements, after one of warming up
  double patience_seconds = 10;  // with a shard that takes no inserts, such as with a full disk
  OpenStorage open_storage;      // null: the storage of the mode
  std::function<bool()> stop = [] { return false; };  // asked often; true: as soon as possible
};

struct LoadRate {
  double per_second = 0;  // items, all clients together
  double p50_ms = 0;
  double p99_ms = 0;
  double other_cores = 0;  // processor time that everything else took meanwhile, in cores
};

struct ReplayLoad {
  // Until the acknowledgement, from the call on.
  LoadRate inserts;

  // Of a call that draws `batch` positions; what is drawn ahead makes it short.
  LoadRate samples;
  uint32_t batch = 0;

  double server_rss_bytes = 0;
};

// Forks: call it before gRPC or threads are in use. Unavailable if a process fails, saying why;
// Cancelled if `stop` has ended it.
absl::StatusOr<ReplayLoad> MeasureReplayLoad(const ReplayLoadOptions& options);

}  // namespace mallocmuzero::bench

#endif  // MALLOCMUZERO_BENCH_REPLAY_REPLAY_LOAD_H_
