// Measures how well values rank games: `mallocmuzero bench values`.

#ifndef MALLOCMUZERO_BENCH_NETWORKS_VALUE_BENCH_H_
#define MALLOCMUZERO_BENCH_NETWORKS_VALUE_BENCH_H_

#include <string>

#include "absl/status/statusor.h"
#include "env/program_set.h"
#include "mallocmuzero/v1/bench.pb.h"
#include "train/value_ranking.h"

namespace mallocmuzero::bench {

// Plays games of the programs and ranks them by the values of the checkpoint at the path. Errors
// name the checkpoint. `options.ranked` comes from the checkpoint.
absl::StatusOr<v1::ValueBenchReport> BenchValues(const std::string& checkpoint,
                                                 const ProgramSet& programs,
                                                 ValueRankingOptions options);

}  // namespace mallocmuzero::bench

#endif  // MALLOCMUZERO_BENCH_NETWORKS_VALUE_BENCH_H_
