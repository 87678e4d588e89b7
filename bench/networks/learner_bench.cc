#include "bench/networks/learner_bench.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/percentile.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "env/action.h"
#include "env/observation_layout.h"
#include "learner/batch_maker.h"
#include "learner/learner.h"
#include "mallocmuzero/v1/network.pb.h"
#include "mallocmuzero/v1/train.pb.h"
#include "model/network.h"
#include "train/train_config.h"
#include "view/format.h"

namespace mallocmuzero::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Updates that are not measured: the first ones allocate memory and load kernels.
constexpr int kWarmUpUpdates = 10;

// Batches in memory, used in turn. Rows of one batch would stay in the processor's caches.
constexpr size_t kBatches = 4;

// InvalidArgument if the observations of all batches take more memory than a measurement should.
absl::Status CheckBatchMemory(const LearnerBenchOptions& options) {
  constexpr double kMost = 16.0 * 1024 * 1024 * 1024;
  const double observations = options.rows * (options.consistency ? 1.0 + options.unroll_steps : 1);
  const double bytes = kBatches * sizeof(float) * kObservationSize * observations;
  if (bytes <= kMost) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(options.rows, " --rows with ", options.unroll_steps,
                   " steps and --consistency take ", view::FormatBytes(bytes), ", at most ",
                   view::FormatBytes(kMost), " are used; make one of them smaller"));
}

UnrollBatch RandomBatch(const LearnerBenchOptions& options, Random& random) {
  UnrollBatch batch;
  batch.Resize(options.rows, options.unroll_steps, options.consistency);
  const auto signed_unit = [&random] { return static_cast<float>(2 * random.Unit() - 1); };
  for (auto* numbers : {&batch.observations, &batch.next_observations}) {
    for (float& number : *numbers) number = signed_unit();
  }
  for (float& value : batch.values) value = signed_unit();
  for (float& reward : batch.rewards) reward = 0.1F * signed_unit();
  for (float& reached : batch.reached) reached = 1;
  for (int64_t& action : batch.actions) action = random.Next() % kActionCount;
  for (size_t step = 0; step < batch.policies.size(); step += kActionCount) {
    batch.policies[step + random.Next() % kActionCount] = 1;
  }
  return batch;
}

v1::LearnerOptions OptionsOf(const LearnerBenchOptions& options, v1::LearnerOptions learner) {
  learner.set_batch_size(options.rows);
  learner.set_unroll_steps(options.unroll_steps);
  learner.set_mixed_precision(options.mixed_precision);
  learner.set_consistency_weight(options.consistency ? 1.0F : 0.0F);
  return learner;
}

// Milliseconds of each update. An update reads its losses at its end,
// so a device has then finished it.
absl::StatusOr<std::vector<double>> MeasureUpdates(Learner& learner,
                                                   const std::vector<UnrollBatch>& batches,
                                                   const LearnerBenchOptions& options) {
  size_t next = 0;
  const auto update = [&] {
    return learner.Update(batches[next++ % kBatches], 0, options.rows).status();
  };
  for (int k = 0; k < kWarmUpUpdates; ++k) MMZ_RETURN_IF_ERROR(update());
  std::vector<double> times;
  const Clock::time_point start = Clock::now();
  const std::chrono::duration<double> limit(options.seconds);
  Clock::time_point before = start;
  do {
    MMZ_RETURN_IF_ERROR(update());
    const Clock::time_point now = Clock::now();
    times.push_back(std::chrono::duration<double, std::milli>(now - before).count());
    before = now;
  } while (before - start < limit);
  return times;
}

}  // namespace

absl::StatusOr<v1::LearnerBenchReport> BenchLearner(const LearnerBenchOptions& options) {
  const absl::StatusOr<Device> device = ParseDevice(options.device);
  if (!device.ok()) return device.status();
  MMZ_RETURN_IF_ERROR(CheckBatchMemory(options));
  const absl::StatusOr<v1::TrainConfig> config = DefaultTrainConfig(options.network);
  if (!config.ok()) return config.status();
  const absl::StatusOr<std::unique_ptr<Network>> network = Network::Create(config->network(), 0);
  if (!network.ok()) return network.status();
  SetComputeThreads(static_cast<int>(options.threads));
  const absl::StatusOr<std::unique_ptr<Learner>> learner =
      Learner::Create(**network, OptionsOf(options, config->learner()), *device);
  if (!learner.ok()) return learner.status();
  Random random(0);
  std::vector<UnrollBatch> batches;
  for (size_t k = 0; k < kBatches; ++k) batches.push_back(RandomBatch(options, random));
  const absl::StatusOr<std::vector<double>> times = MeasureUpdates(**learner, batches, options);
  if (!times.ok()) return times.status();

  double total_ms = 0;
  for (const double time : *times) total_ms += time;
  const double per_second = 1000 * static_cast<double>(times->size()) / total_ms;
  v1::LearnerBenchReport report;
  report.set_network(options.network);
  report.set_weights(static_cast<double>((*network)->ParameterCount()));
  report.set_device(options.device);
  report.set_mixed_precision(options.mixed_precision);
  report.set_rows(options.rows);
  report.set_unroll_steps(options.unroll_steps);
  report.set_consistency(options.consistency);
  report.set_threads(options.threads);
  report.set_seconds(options.seconds);
  report.set_updates_per_second(per_second);
  report.set_rows_per_second(per_second * options.rows);
  report.set_update_p50_ms(Percentile(*times, 0.5));
  report.set_update_p99_ms(Percentile(*times, 0.99));
  return report;
}

}  // namespace mallocmuzero::bench
