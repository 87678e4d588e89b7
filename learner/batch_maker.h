// From drawn positions to the numbers that the networks are trained on.

#ifndef MALLOCMUZERO_LEARNER_BATCH_MAKER_H_
#define MALLOCMUZERO_LEARNER_BATCH_MAKER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "env/action.h"
#include "env/program_set.h"
#include "learner/return_baseline.h"
#include "mallocmuzero/v1/train.pb.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {

// Rows of training data, each a position and the `unroll` steps taken from it. All row-major.
// Steps behind the end of a game change nothing, whatever the action: reward 0, value 0, no policy.
// Their actions differ from row to row and step to step, as those of a search that looks there do.
struct UnrollBatch {
  size_t rows = 0;
  size_t unroll = 0;                // K
  std::vector<float> observations;  // [rows, kObservationSize], of the position
  std::vector<int64_t> actions;     // [rows, K]
  std::vector<float> rewards;       // [rows, K], in units of the baseline
  std::vector<float> values;        // [rows, K + 1], likewise
  std::vector<float> policies;      // [rows, K + 1, kActionCount]; zeros: no target
  std::vector<float> weights;       // [rows], importance weights, at most 1
  std::vector<PositionKey> keys;    // [rows], to hand priorities back

  // Of the positions reached, for the consistency of latent states; empty if that is off.
  // Observations [rows, K, kObservationSize], 0 behind the end; [rows, K]: 1 where the step leads
  // to a decision of the game, 0 behind its end.
  std::vector<float> next_observations;
  std::vector<float> reached;

  // Makes room; what is there is lost.
  void Resize(size_t new_rows, size_t new_unroll, bool with_next = false);
};

// What a program's values are measured by, by its SHA-256.
using Baselines = absl::flat_hash_map<std::string, ReturnBaseline>;

// One position of a batch. The policy's target is what was done if `imitate`, else what the search
// found.
struct BatchRow {
  DrawnPosition drawn;
  bool imitate = false;
  float weight = 1;
};

// Observations are made by playing the games again, each once for all its rows; where threads is
// above 1, on so many threads. Thread-compatible; the arguments must outlive it.
class BatchMaker {
 public:
  BatchMaker(const ProgramSet& programs, const Baselines& baselines,
             const v1::LearnerOptions& options, uint32_t threads);

  // Row i of `batch` is rows[i]. NotFound if a program is not in the set; InvalidArgument if the
  // decisions of a game are not what its program allows. Both name the program.
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

// Of the rows of a batch, how many are drawn from the best games, to be imitated.
size_t ImitatedRows(const v1::LearnerOptions& options, size_t rows);

// Weight (1 / (N x P)) ^ exponent of a row drawn with probability P from N positions.
double ImportanceWeight(double probability, double positions, double exponent);

// Weights (1 / (N x P)) ^ exponent of rows drawn with probability P from N positions, divided by
// their maximum.
std::vector<float> ImportanceWeights(absl::Span<const DrawnPosition> drawn, size_t positions,
                                     float exponent);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_BATCH_MAKER_H_
