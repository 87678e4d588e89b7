// Plays programs with a network alone: `mallocmuzero bench play`.

#ifndef MALLOCMUZERO_BENCH_NETWORKS_PLAY_BENCH_H_
#define MALLOCMUZERO_BENCH_NETWORKS_PLAY_BENCH_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "env/program_set.h"
#include "mallocmuzero/v1/bench.pb.h"
#include "model/network.h"

namespace mallocmuzero::bench {

// Plays one game of each program without exploration, with `simulations` for each decision; 0: the
// policy alone decides.
absl::StatusOr<v1::PlayBenchReport> BenchPlay(const ProgramSet& programs, const Network& network,
                                              uint32_t simulations);

}  // namespace mallocmuzero::bench

#endif  // MALLOCMUZERO_BENCH_NETWORKS_PLAY_BENCH_H_
