#include "actor/search/batched_search.h"

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "actor/search/stopwatch.h"

namespace mallocmuzero {

BatchedSearch::BatchedSearch(Search& search, LatentModel& model)
    : search_(search),
      model_(model),
      rows_(search.games()),
      slots_(search.games()),
      active_(search.games()),
      steps_(search.games()),
      values_(search.games()),
      rewards_(search.games()),
      logits_(size_t{search.games()} * search.actions()) {
  assert(model.actions() == search.actions());
  assert(model.slots() >= search.slots());
}

Evaluations BatchedSearch::Rows(size_t rows) {
  return {.values = absl::MakeSpan(values_).first(rows),
          .rewards = absl::MakeSpan(rewards_).first(rows),
          .logits = absl::MakeSpan(logits_).first(rows * search_.actions())};
}

Evaluations BatchedSearch::EvaluateRoots(absl::Span<const uint32_t> games,
                                         absl::Span<const float> observations) {
  assert(games.size() <= search_.games());
  assert(observations.size() == games.size() * model_.observation_size());
  const size_t rows = games.size();
  const Evaluations evaluations = Rows(rows);
  if (rows == 0) return evaluations;
  for (size_t row = 0; row < rows; ++row) {
    rows_[row] = games[row];
    slots_[row] = search_.RootSlot(games[row]);
  }
  const Stopwatch watch(stats_.root_seconds);
  model_.EvaluateRoots(observations, absl::MakeConstSpan(slots_).first(rows), evaluations);
  stats_.root_batches.Add(rows);
  return evaluations;
}

void BatchedSearch::Begin(size_t row, const RootOptions& options) {
  const Stopwatch watch(stats_.tree_seconds);
  const size_t actions = search_.actions();
  search_.Start(rows_[row], values_[row],
                absl::MakeConstSpan(logits_).subspan(row * actions, actions), options);
}

bool BatchedSearch::Step(absl::Span<const uint32_t> games) {
  assert(games.size() <= search_.games());
  size_t rows = 0;
  for (const uint32_t game : games) {
    assert(search_.Node(game, 0).visits > 0);  // it was begun
    if (!search_.Done(game)) active_[rows++] = game;
  }
  if (rows == 0) return false;
  const absl::Span<const uint32_t> active = absl::MakeConstSpan(active_).first(rows);
  const absl::Span<LatentStep> steps = absl::MakeSpan(steps_).first(rows);
  const Evaluations evaluations = Rows(rows);
  {
    const Stopwatch watch(stats_.tree_seconds);
    search_.Select(active, steps);
  }
  {
    const Stopwatch watch(stats_.step_seconds);
    model_.EvaluateSteps(steps, evaluations);
  }
  stats_.step_batches.Add(rows);
  const Stopwatch watch(stats_.tree_seconds);
  search_.Backup(active, evaluations);
  return true;
}

void BatchedSearch::Run(absl::Span<const uint32_t> games, absl::Span<const float> observations,
                        absl::Span<const RootOptions> options) {
  assert(options.size() == games.size());
  EvaluateRoots(games, observations);
  for (size_t row = 0; row < games.size(); ++row) Begin(row, options[row]);
  while (Step(games)) {
  }
}

}  // namespace mallocmuzero
