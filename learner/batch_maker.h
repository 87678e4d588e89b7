// Makes the numbers that the networks are trained on from drawn positions.

#ifndef MALLOCMUZERO_LEARNER_BATCH_MAKER_H_
#define MALLOCMUZERO_LEARNER_BATCH_MAKER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "env/action.h"
#include "env/program_set.h"
#include "learner/return_baseline.h"
#include "mallocmuzero/v1/train.pb.h"
#include "replay/drawn_position.h"

namespace mallocmuzero {

// Rows of training data. A row is a position and the `unroll` steps taken from it. All arrays are
// row-major. A step after the end of a game has reward 0, value 0 and no policy, whatever its
// action is. The actions of such steps differ from row to row and from step to step, because a
// search tries every action there.
struct UnrollBatch {
  size_t rows = 0;
  size_t unroll = 0;                // K
  std::vector<float> observations;  // [rows, kObservationSize], of the position
  std::vector<int64_t> actions;     // [rows, K]
  std::vector<float> rewards;       // [rows, K], numbers of NetworkValue
  std::vector<float> values;        // [rows, K + 1], numbers of NetworkValue
  std::vector<float> policies;      // [rows, K + 1, kActionCount]; zeros: no target
  std::vector<float> weights;       // [rows], of the rows in the loss

  // The positions that the steps reach, for the consistency of latent states; empty if that is off.
  // next_observations [rows, K, kObservationSize] is 0 after the end of the game. reached [rows, K]
  // is 1 if the step leads to a decision of the game and 0 after the end.
  std::vector<float> next_observations;
  std::vector<float> reached;

  // Makes room. All contents are lost.
  void Resize(size_t new_rows, size_t new_unroll, bool with_next = false);
};

// The baseline of each program, by the program's SHA-256.
using Baselines = absl::flat_hash_map<std::string, ReturnBaseline>;

// One position of a batch. With `imitate` the policy's target is the action that was taken;
// otherwise it is the policy that the search found.
struct BatchRow {
  DrawnPosition drawn;
  bool imitate = false;
  float weight = 1;
};

// Plays the games again to make observations, each game once for all its rows, on `threads`
// threads. Thread-compatible. The arguments must outlive it.
class BatchMaker {
 public:
  BatchMaker(const ProgramSet& programs, const Baselines& baselines,
             const v1::LearnerOptions& options, uint32_t threads);

  // Makes row i of `batch` from rows[i]. NotFound if a program is not in the set; InvalidArgument,
  // naming the program, if the decisions of a game are not legal.
  absl::Status Fill(absl::Span<const BatchRow> rows, UnrollBatch& batch) const;

 private:
  class Targets;

  absl::Status FillFromGame(absl::Span<const BatchRow> rows, absl::Span<const size_t> same_game,
                            UnrollBatch& batch) const;
  absl::Status WriteObservations(const PlayedProgram& program, absl::Span<const BatchRow> rows,
                                 absl::Span<const size_t> same_game, UnrollBatch& batch) const;
  static void FillTargets(const BatchRow& row, const Targets& targets, size_t index,
                          UnrollBatch& batch);

  const ProgramSet& programs_;
  const Baselines& baselines_;
  const v1::LearnerOptions& options_;
  uint32_t threads_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_BATCH_MAKER_H_
