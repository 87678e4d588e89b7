// Runs the searches of many games in step, with one batch for the network a simulation.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_BATCHED_SEARCH_H_
#define MALLOCMUZERO_ACTOR_SEARCH_BATCHED_SEARCH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "actor/search/batch_histogram.h"
#include "actor/search/search.h"
#include "model/latent_model.h"

namespace mallocmuzero {

// Nothing is allocated after construction. Not thread-safe.
class BatchedSearch {
 public:
  // Both must outlive this. The model must have the search's actions, and its slots at least.
  BatchedSearch(Search& search, LatentModel& model);

  // Begins the searches of `games`, in one batch: row i of `observations`
  // [games, observation_size] and options[i] are of games[i]. Others go on where they are.
  void Start(absl::Span<const uint32_t> games, absl::Span<const float> observations,
             absl::Span<const RootOptions> options);

  // One simulation for each of `games`, all of them started, that is not done, in one batch. False
  // if all are done.
  bool Step(absl::Span<const uint32_t> games);

  // Start, then Step until all of `games` are done.
  void Run(absl::Span<const uint32_t> games, absl::Span<const float> observations,
           absl::Span<const RootOptions> options);

  const BatchHistogram& root_batches() const { return root_batches_; }
  const BatchHistogram& step_batches() const { return step_batches_; }

 private:
  // The first rows of the buffers.
  Evaluations Rows(uint32_t rows);

  Search& search_;
  LatentModel& model_;
  std::vector<uint32_t> active_;
  std::vector<uint32_t> roots_;
  std::vector<LatentStep> steps_;
  std::vector<float> values_;
  std::vector<float> rewards_;
  std::vector<float> logits_;  // [games, actions]
  BatchHistogram root_batches_;
  BatchHistogram step_batches_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SEARCH_BATCHED_SEARCH_H_
