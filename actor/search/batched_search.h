// Runs the searches of many games together: each simulation is one batch for the network.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_BATCHED_SEARCH_H_
#define MALLOCMUZERO_ACTOR_SEARCH_BATCHED_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "actor/search/batch_histogram.h"
#include "actor/search/search.h"
#include "model/latent_model.h"

namespace mallocmuzero {

struct BatchedSearchStats {
  BatchHistogram root_batches;
  BatchHistogram step_batches;  // a row is a simulation
  double root_seconds = 0;      // in the network
  double step_seconds = 0;      // in the network
  double tree_seconds = 0;
};

// The constructor allocates all memory. Not thread-safe.
class BatchedSearch {
 public:
  // Both must outlive this. The model must have the search's actions, and its slots at least.
  BatchedSearch(Search& search, LatentModel& model);

  // Evaluates the positions of `games` in one batch. Row i of `observations`
  // [games, observation_size] and of the result belongs to games[i]. The result stays valid until
  // the next call of this class. Searches of `games` that are under way end; others go on.
  Evaluations EvaluateRoots(absl::Span<const uint32_t> games, absl::Span<const float> observations);

  // Begins the search of the game in row `row` of the latest EvaluateRoots. No other call but Begin
  // may come between the two.
  void Begin(size_t row, const RootOptions& options);

  // Runs one simulation, in one batch, for each of `games` that is not done. All must have begun.
  // False if all are done.
  bool Step(absl::Span<const uint32_t> games);

  // Calls EvaluateRoots, then Begin with options[i] for games[i], then Step until all are done.
  void Run(absl::Span<const uint32_t> games, absl::Span<const float> observations,
           absl::Span<const RootOptions> options);

  // Since the last ResetStats.
  const BatchedSearchStats& stats() const { return stats_; }
  void ResetStats() { stats_ = {}; }

 private:
  // The first rows of the buffers.
  Evaluations Rows(size_t rows);

  Search& search_;
  LatentModel& model_;
  std::vector<uint32_t> rows_;   // games, by row of EvaluateRoots
  std::vector<uint32_t> slots_;  // of their roots
  std::vector<uint32_t> active_;
  std::vector<LatentStep> steps_;
  std::vector<float> values_;
  std::vector<float> rewards_;
  std::vector<float> logits_;  // [games, actions]
  BatchedSearchStats stats_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SEARCH_BATCHED_SEARCH_H_
