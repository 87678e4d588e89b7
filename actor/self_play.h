// Games played by the network and a search, many at a time.

#ifndef MALLOCMUZERO_ACTOR_SELF_PLAY_H_
#define MALLOCMUZERO_ACTOR_SELF_PLAY_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/search/batch_histogram.h"
#include "actor/search/batched_search.h"
#include "actor/search/search.h"
#include "env/program_set.h"
#include "mallocmuzero/v1/train.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "model/latent_model.h"

namespace mallocmuzero {

// The search that the options describe. InvalidArgument names a field that is out of range, however
// many games are in flight.
absl::StatusOr<SearchConfig> MakeSearchConfig(const v1::SearchOptions& options);

// One game to play.
struct GameTask {
  const PlayedProgram* program = nullptr;
  std::string id;     // of the trajectory
  uint64_t seed = 0;  // of everything random in it

  // Shares of the decisions: explored (Exploration; noise is the search's Gumbel noise, or a draw
  // from the policy if there is none), and searched although nothing is explored. An explored
  // decision is searched.
  float explored = 0;
  float searched = 1;

  // From this access on nothing is explored.
  uint32_t explored_until = std::numeric_limits<uint32_t>::max();

  // If given, its decisions are taken again, whatever the search finds; the trajectory has its id.
  // A whole game of `program`: one from elsewhere has passed CheckRecordedGame.
  std::shared_ptr<const v1::Trajectory> again;
};

struct SelfPlayStats {
  uint64_t games = 0;
  uint64_t decisions = 0;
  uint64_t searches = 0;
  uint64_t simulations = 0;
  BatchHistogram batches;   // of the network: positions and latent states
  double game_seconds = 0;  // rules and observations
  double network_seconds = 0;
  double tree_seconds = 0;

  void Add(const SelfPlayStats& other);
};

// Makes a model with so many latent slots.
using ModelMaker = std::function<absl::StatusOr<std::unique_ptr<LatentModel>>(uint32_t slots)>;

// Plays on one thread. Games in flight advance together, one decision at a time, so that the
// network sees one batch for all of them; where only some decisions are searched, a game waits with
// its own until there are enough for a batch. The same tasks give the same games.
class SelfPlay {
 public:
  // `games` is how many are in flight at most. InvalidArgument if there is no such search, or the
  // model is not for this build's game; ResourceExhausted if there is no memory for the trees; or
  // the error of `make_model`.
  static absl::StatusOr<std::unique_ptr<SelfPlay>> Create(const SearchConfig& config,
                                                          uint32_t games,
                                                          const ModelMaker& make_model);
  ~SelfPlay();

  // Plays all tasks and returns their trajectories in order; `network_step` is written into them.
  // If `stop` becomes true, games not finished are left out. Tasks' programs must stay.
  std::vector<v1::Trajectory> Play(absl::Span<const GameTask> tasks, uint64_t network_step,
                                   const std::function<bool()>& stop);

  // Of all games since the last call.
  SelfPlayStats TakeStats();

 private:
  // A game in flight.
  struct Seat;

  SelfPlay(const SearchConfig& config, uint32_t games, std::unique_ptr<LatentModel> model);

  // What the network makes of the seats' positions, by row.
  Evaluations EvaluateRoots(absl::Span<const uint32_t> seats);

  // How the decision in row `row` of `roots` is to be taken; begins its search, if it is searched.
  void PlanDecision(uint32_t seat, size_t row, const Evaluations& roots);

  // Takes the planned decision. A game that ends with it moves to its task's place in `played`.
  void Decide(uint32_t seat, std::vector<v1::Trajectory>& played);

  Search search_;
  std::unique_ptr<LatentModel> model_;
  BatchedSearch batched_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::vector<float> observations_;  // of a batch, by row

  // But for what batched_ counts.
  SelfPlayStats stats_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SELF_PLAY_H_
