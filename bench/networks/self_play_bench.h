// Measures self-play against the search alone: `mallocmuzero bench self-play`.

#ifndef MALLOCMUZERO_BENCH_NETWORKS_SELF_PLAY_BENCH_H_
#define MALLOCMUZERO_BENCH_NETWORKS_SELF_PLAY_BENCH_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "mallocmuzero/v1/bench.pb.h"

namespace mallocmuzero::bench {

struct SelfPlayBenchOptions {
  std::string program;  // path
  std::string network = "tiny";
  std::string precision = "fp32";
  std::string device = "cpu";
  uint32_t simulations = 32;  // for each decision
  uint32_t batch = 128;       // games in flight on one thread
  uint32_t threads = 1;
  double seconds = 5;  // of self-play, and of each of three measurements of the search
};

// Errors name the file, or say which networks, precisions and devices there are.
absl::StatusOr<v1::SelfPlayBenchReport> BenchSelfPlay(const SelfPlayBenchOptions& options);

// More games of `decisions` decisions than `threads` threads play in `seconds` with `batch` games
// in flight each, within what memory holds.
uint64_t GamesToHaveReady(double seconds, uint32_t threads, uint32_t batch, uint32_t decisions);

}  // namespace mallocmuzero::bench

#endif  // MALLOCMUZERO_BENCH_NETWORKS_SELF_PLAY_BENCH_H_
