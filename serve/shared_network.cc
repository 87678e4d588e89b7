#include "serve/shared_network.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace mallocmuzero {

// The model of one search: a place in a lane.
class SharedNetwork::Member final : public LatentModel {
 public:
  Member(std::shared_ptr<SharedNetwork> network, BatchLane& lane)
      : network_(std::move(network)), lane_(lane), place_(lane.Enter()) {}
  ~Member() override { lane_.Leave(place_); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  uint32_t slots() const override { return lane_.slots(); }
  uint32_t actions() const override { return lane_.model().actions(); }
  uint32_t observation_size() const override { return lane_.model().observation_size(); }

  void EvaluateRoots(absl::Span<const float> observations, absl::Span<const uint32_t> roots,
                     const Evaluations& out) override {
    lane_.EvaluateRoots(place_, observations, roots, out);
  }
  void EvaluateSteps(absl::Span<const LatentStep> steps, const Evaluations& out) override {
    lane_.EvaluateSteps(place_, steps, out);
  }

 private:
  const std::shared_ptr<SharedNetwork> network_;  // keeps the lane alive
  BatchLane& lane_;
  const uint32_t place_;
};

absl::StatusOr<std::shared_ptr<SharedNetwork>> SharedNetwork::Create(
    const std::function<absl::StatusOr<std::unique_ptr<LatentModel>>(uint32_t slots)>& make_model,
    const SharingOptions& options) {
  const uint32_t evaluators = std::min(options.evaluators, options.models);
  const uint32_t places = (options.models + evaluators - 1) / evaluators;
  std::vector<std::unique_ptr<BatchLane>> lanes;
  for (uint32_t k = 0; k < evaluators; ++k) {
    absl::StatusOr<std::unique_ptr<LatentModel>> model = make_model(places * options.slots);
    if (!model.ok()) return model.status();
    lanes.push_back(std::make_unique<BatchLane>(*std::move(model), places, options.batch_wait,
                                                options.batched));
  }
  return absl::WrapUnique(new SharedNetwork(std::move(lanes)));
}

absl::StatusOr<std::unique_ptr<LatentModel>> SharedNetwork::MakeModel(uint32_t slots) {
  const absl::MutexLock lock(&mutex_);
  const auto fewest = std::max_element(
      lanes_.begin(), lanes_.end(),
      [](const auto& a, const auto& b) { return a->free_places() < b->free_places(); });
  BatchLane& lane = **fewest;
  if (slots > lane.slots()) {
    return absl::InvalidArgumentError(absl::StrCat("network: ", slots,
                                                   " latent states asked for, a search may have ",
                                                   lane.slots(), " on this server"));
  }
  if (lane.free_places() == 0) {
    return absl::ResourceExhaustedError("network: all places for searches are taken");
  }
  return std::make_unique<Member>(shared_from_this(), lane);
}

}  // namespace mallocmuzero
