#include "bench/networks/search_speed.h"

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "actor/search/batched_search.h"
#include "actor/search/search.h"
#include "actor/search/trivial_model.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "bench/networks/sampled_times.h"
#include "model/latent_model.h"
#include "model/on_device.h"
#include "model/tensors.h"
#include "view/format.h"

namespace mallocmuzero::bench {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Seconds of one batch of searches, root evaluations left out.
struct BatchTime {
  double all = 0;
  double network = 0;
};

SearchConfig ConfigOf(const SearchSpeedOptions& options) {
  return {.simulations = options.simulations, .discount = 0.997F};
}

// Searches of a batch of games over and over.
class SearchLoop {
 public:
  SearchLoop(const SearchSpeedOptions& options, std::unique_ptr<LatentModel> model)
      : search_(ConfigOf(options), options.batch, model->actions()),
        model_(std::move(model)),
        batched_(search_, *model_),
        games_(options.batch),
        observations_(size_t{options.batch} * model_->observation_size()),
        roots_(options.batch) {
    std::iota(games_.begin(), games_.end(), 0);
    for (float& number : observations_) number = static_cast<float>(random_.Unit());
  }

  BatchTime Run() {
    for (RootOptions& root : roots_) root.seed = random_.Next();
    batched_.ResetStats();
    const Clock::time_point start = Clock::now();
    batched_.Run(games_, observations_, roots_);
    for (const uint32_t game : games_) search_.Result(game);
    return {.all = SecondsSince(start) - batched_.stats().root_seconds,
            .network = batched_.stats().step_seconds};
  }

 private:
  Search search_;
  std::unique_ptr<LatentModel> model_;
  BatchedSearch batched_;
  Random random_{0};
  std::vector<uint32_t> games_;
  std::vector<float> observations_;
  std::vector<RootOptions> roots_;
};

// The network steps of a batch of searches without the searches: simulation k goes from node k to
// node k + 1.
class NetworkLoop {
 public:
  NetworkLoop(const SearchSpeedOptions& options, std::unique_ptr<LatentModel> model)
      : simulations_(options.simulations),
        model_(std::move(model)),
        steps_(options.batch),
        values_(options.batch),
        rewards_(options.batch),
        logits_(size_t{options.batch} * model_->actions()) {}

  BatchTime Run() {
    const Evaluations evaluations = {.values = absl::MakeSpan(values_),
                                     .rewards = absl::MakeSpan(rewards_),
                                     .logits = absl::MakeSpan(logits_)};
    const Clock::time_point start = Clock::now();
    for (uint32_t k = 0; k < simulations_; ++k) {
      for (uint32_t game = 0; game < steps_.size(); ++game) {
        const uint32_t slot = game * (simulations_ + 1) + k;
        steps_[game] = {
            .parent = slot, .child = slot + 1, .action = (game + k) % model_->actions()};
      }
      model_->EvaluateSteps(steps_, evaluations);
    }
    const double seconds = SecondsSince(start);
    return {.all = seconds, .network = seconds};
  }

 private:
  uint32_t simulations_;
  std::unique_ptr<LatentModel> model_;
  std::vector<LatentStep> steps_;
  std::vector<float> values_;
  std::vector<float> rewards_;
  std::vector<float> logits_;
};

struct LoopSpeed {
  double batches_per_second = 0;
  BatchTime total;
};

// Runs a loop once to warm up, then for so many seconds, once at least. The median, as one batch
// that another program interrupted says nothing.
template <class Loop>
LoopSpeed Repeat(Loop& loop, double seconds) {
  loop.Run();
  LoopSpeed speed;
  SampledTimes times;
  const Clock::time_point start = Clock::now();
  do {
    const BatchTime time = loop.Run();
    times.Add(time.all);
    speed.total.all += time.all;
    speed.total.network += time.network;
  } while (SecondsSince(start) < seconds);
  speed.batches_per_second = 1 / times.Median();
  return speed;
}

// One loop a thread, all at the same time. Errors are those of OnDevice.
template <class Loop>
absl::StatusOr<LoopSpeed> RepeatOnThreads(std::vector<std::unique_ptr<Loop>>& loops,
                                          double seconds) {
  std::vector<LoopSpeed> speeds(loops.size());
  std::vector<absl::Status> statuses(loops.size());
  const auto repeat = [&](size_t t) {
    SetComputeThreads(1);
    statuses[t] = OnDevice("a batch of searches", [&] { speeds[t] = Repeat(*loops[t], seconds); });
  };
  std::vector<std::thread> others;
  for (size_t t = 1; t < loops.size(); ++t) others.emplace_back(repeat, t);
  repeat(0);
  for (std::thread& other : others) other.join();
  for (const absl::Status& status : statuses) MMZ_RETURN_IF_ERROR(status);
  LoopSpeed sum;
  for (const LoopSpeed& speed : speeds) {
    sum.batches_per_second += speed.batches_per_second;
    sum.total.all += speed.total.all;
    sum.total.network += speed.total.network;
  }
  return sum;
}

// Uniform with variance 1 / inputs. The heads of a fresh network are 0, and all its trees the same.
absl::Status SetRandomWeights(Network& network) {
  Random random(0);
  std::vector<NamedTensor> weights = network.ExportWeights();
  for (NamedTensor& tensor : weights) {
    if (tensor.shape.size() < 2) continue;
    const double bound = std::sqrt(3 / static_cast<double>(tensor.shape[1]));
    for (size_t k = 0; k < tensor.bytes.size(); k += sizeof(float)) {
      const auto weight = static_cast<float>((2 * random.Unit() - 1) * bound);
      std::memcpy(&tensor.bytes[k], &weight, sizeof(weight));
    }
  }
  return network.ImportWeights(weights);
}

absl::Status CheckMemory(const SearchSpeedOptions& options) {
  constexpr double kMost = 4.0 * 1024 * 1024 * 1024;
  constexpr double kNodeBytes = 1024;  // more than a node of kMaxSearchActions takes
  const double searches = static_cast<double>(options.batch) * options.threads;
  const double nodes = searches * (options.simulations + 1.0);
  const double bytes = nodes * (kNodeBytes + sizeof(float) * options.network.latent()) +
                       searches * sizeof(float) * options.network.observation_size();
  if (bytes <= kMost) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a --batch of ", options.batch, " with ",
      view::FormatCounted(options.simulations, "simulation"), " on ",
      view::FormatCounted(options.threads, "thread"), " may take ", view::FormatBytes(bytes),
      ", at most ", view::FormatBytes(kMost), " are used; make one of them smaller"));
}

// One loop a thread, each with a model of its own.
template <class Loop, class MakeModel>
absl::StatusOr<LoopSpeed> Measure(const SearchSpeedOptions& options, const MakeModel& make_model) {
  std::vector<std::unique_ptr<Loop>> loops;
  for (uint32_t t = 0; t < options.threads; ++t) {
    absl::StatusOr<std::unique_ptr<LatentModel>> model = make_model();
    if (!model.ok()) return model.status();
    MMZ_RETURN_IF_ERROR(OnDevice("the trees of a batch of searches", [&] {
      loops.push_back(std::make_unique<Loop>(options, *std::move(model)));
    }));
  }
  return RepeatOnThreads(loops, options.seconds);
}

}  // namespace

absl::StatusOr<SearchSpeed> MeasureSearchSpeed(const SearchSpeedOptions& options) {
  const uint32_t actions = options.network.actions();
  MMZ_RETURN_IF_ERROR(CheckSearch(ConfigOf(options), options.batch, actions));
  MMZ_RETURN_IF_ERROR(CheckMemory(options));
  const absl::StatusOr<std::unique_ptr<Network>> network = Network::Create(options.network, 0);
  if (!network.ok()) return network.status();
  MMZ_RETURN_IF_ERROR(SetRandomWeights(**network));
  const absl::StatusOr<std::shared_ptr<const NetworkSnapshot>> snapshot =
      (*network)->Snapshot(options.evaluation);
  if (!snapshot.ok()) return snapshot.status();

  const uint32_t slots = options.batch * (options.simulations + 1);
  const auto real = [&] { return NetworkSnapshot::MakeLatentModel(*snapshot, slots); };
  const auto trivial = [&]() -> absl::StatusOr<std::unique_ptr<LatentModel>> {
    return std::make_unique<TrivialModel>(slots, actions);
  };
  const absl::StatusOr<LoopSpeed> search = Measure<SearchLoop>(options, real);
  if (!search.ok()) return search.status();
  const absl::StatusOr<LoopSpeed> network_only = Measure<NetworkLoop>(options, real);
  if (!network_only.ok()) return network_only.status();
  const absl::StatusOr<LoopSpeed> tree_only = Measure<SearchLoop>(options, trivial);
  if (!tree_only.ok()) return tree_only.status();
  const double simulations = static_cast<double>(options.batch) * options.simulations;
  return SearchSpeed{.search = simulations * search->batches_per_second,
                     .network_only = simulations * network_only->batches_per_second,
                     .tree_only = simulations * tree_only->batches_per_second,
                     .tree_share = 1 - search->total.network / search->total.all};
}

}  // namespace mallocmuzero::bench
