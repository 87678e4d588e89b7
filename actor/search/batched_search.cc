#include "actor/search/batched_search.h"

#include <cassert>
#include <cstddef>

namespace mallocmuzero {

BatchedSearch::BatchedSearch(Search& search, LatentModel& model)
    : search_(search),
      model_(model),
      active_(search.games()),
      roots_(search.games()),
      steps_(search.games()),
      values_(search.games()),
      rewards_(search.games()),
      logits_(static_cast<size_t>(search.games()) * search.actions()) {
  assert(model.actions() == search.actions());
  assert(model.slots() >= search.slots());
}

Evaluations BatchedSearch::Rows(uint32_t rows) {
  return {.values = absl::MakeSpan(values_.data(), rows),
          .rewards = absl::MakeSpan(rewards_.data(), rows),
          .logits = absl::MakeSpan(logits_.data(), static_cast<size_t>(rows) * search_.actions())};
}

void BatchedSearch::Start(absl::Span<const uint32_t> games, absl::Span<const float> observations,
                          absl::Span<const RootOptions> options) {
  assert(games.size() <= search_.games());
  assert(options.size() == games.size());
  assert(observations.size() == games.size() * model_.observation_size());
  if (games.empty()) return;
  const auto rows = static_cast<uint32_t>(games.size());
  for (uint32_t i = 0; i < rows; ++i) roots_[i] = search_.RootSlot(games[i]);
  const Evaluations evaluations = Rows(rows);
  model_.EvaluateRoots(observations, absl::MakeConstSpan(roots_.data(), rows), evaluations);
  root_batches_.Add(rows);
  const size_t actions = search_.actions();
  for (uint32_t i = 0; i < rows; ++i) {
    search_.Start(games[i], values_[i], evaluations.logits.subspan(i * actions, actions),
                  options[i]);
  }
}

bool BatchedSearch::Step(absl::Span<const uint32_t> games) {
  assert(games.size() <= search_.games());
  uint32_t rows = 0;
  for (const uint32_t game : games) {
    assert(search_.Node(game, 0).visits > 0);  // it was started
    if (!search_.Done(game)) active_[rows++] = game;
  }
  if (rows == 0) return false;
  const absl::Span<const uint32_t> active(active_.data(), rows);
  const absl::Span<LatentStep> steps(steps_.data(), rows);
  const Evaluations evaluations = Rows(rows);
  search_.Select(active, steps);
  model_.EvaluateSteps(steps, evaluations);
  step_batches_.Add(rows);
  search_.Backup(active, evaluations);
  return true;
}

void BatchedSearch::Run(absl::Span<const uint32_t> games, absl::Span<const float> observations,
                        absl::Span<const RootOptions> options) {
  Start(games, observations, options);
  while (Step(games)) {
  }
}

}  // namespace mallocmuzero
