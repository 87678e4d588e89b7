// Measures updates of a learner: `mallocmuzero bench learner`.

#ifndef MALLOCMUZERO_BENCH_NETWORKS_LEARNER_BENCH_H_
#define MALLOCMUZERO_BENCH_NETWORKS_LEARNER_BENCH_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "mallocmuzero/v1/bench.pb.h"

namespace mallocmuzero::bench {

struct LearnerBenchOptions {
  std::string network = "tiny";
  std::string device = "cpu";
  bool mixed_precision = false;
  uint32_t rows = 256;  // of one update
  uint32_t unroll_steps = 5;
  bool consistency = false;
  uint32_t threads = 1;  // of LibTorch
  double seconds = 5;
};

// Updates a fresh network from batches of random numbers that are ready in memory, so that the
// time does not include drawing positions and playing games again. InvalidArgument, one line, if
// this machine has no such device, or if the batches take more memory than a measurement should.
absl::StatusOr<v1::LearnerBenchReport> BenchLearner(const LearnerBenchOptions& options);

}  // namespace mallocmuzero::bench

#endif  // MALLOCMUZERO_BENCH_NETWORKS_LEARNER_BENCH_H_
