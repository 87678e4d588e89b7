// Games that are played by the network and a search, many at a time.

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
#include "actor/incumbents.h"
#include "actor/search/batch_histogram.h"
#include "actor/search/batched_search.h"
#include "actor/search/search.h"
#include "env/program_set.h"
#include "mallocmuzero/v1/train.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "model/latent_model.h"

namespace mallocmuzero {

// The search that the options describe. InvalidArgument names a field that is out of range for any
// number of games in flight.
absl::StatusOr<SearchConfig> MakeSearchConfig(const v1::SearchOptions& options);

// One game to play.
struct GameTask {
  const PlayedProgram* program = nullptr;
  std::string id;     // of the trajectory
  uint64_t seed = 0;  // of everything random in it

  // The share of decisions that are explored (see Exploration), and the share of the other
  // decisions that are searched. Explored decisions are searched, unless `searched` is 0. Noise is
  // the Gumbel noise of the search; without a search it is a draw from the policy.
  float explored = 0;
  float searched = 1;

  // No access from this one on is explored.
  AccessIndex explored_until = std::numeric_limits<int32_t>::max();

  // The best known game of the program; null: none.
  std::shared_ptr<const IncumbentGame> incumbent;

  // The player takes only the decisions in the stretch that may be explored, which is the window of
  // the trajectory. The others follow the incumbent, which must be there, or repeat explored
  // actions, and need no network.
  bool decides_window = false;

  // Whether observations show the incumbent, if there is one.
  bool shows_incumbent = false;

  // A game whose decisions are taken again, whatever the search finds; null: none. The new
  // trajectory has its id. It must be a whole game of `program`: a game from elsewhere must have
  // passed CheckRecordedGame. Observations show what they showed then.
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

// Makes a model with that number of latent slots.
using ModelMaker = std::function<absl::StatusOr<std::unique_ptr<LatentModel>>(uint32_t slots)>;

// Plays on one thread. Games in flight advance together, one decision at a time, so that the
// network evaluates one batch for all of them. If only some decisions are searched, a game waits at
// such a decision until enough games wait to fill a batch. The same tasks give the same games.
class SelfPlay {
 public:
  // `games` is the largest number of games in flight. InvalidArgument if the search is out of range
  // or the model is not for this build's game; ResourceExhausted if there is no memory for the
  // trees; or the error of `make_model`.
  static absl::StatusOr<std::unique_ptr<SelfPlay>> Create(const SearchConfig& config,
                                                          uint32_t games,
                                                          const ModelMaker& make_model);
  ~SelfPlay();

  // Plays all tasks and returns their trajectories in order, with `network_step` in each. If `stop`
  // becomes true, unfinished games are left out. The programs must outlive the call. Returns the
  // errors of OnDevice if the network cannot be evaluated; all games of the call are lost then.
  absl::StatusOr<std::vector<v1::Trajectory>> Play(absl::Span<const GameTask> tasks,
                                                   uint64_t network_step,
                                                   const std::function<bool()>& stop);

  // The figures of all games since the last call.
  SelfPlayStats TakeStats();

 private:
  // A game in flight.
  struct Seat;

  SelfPlay(const SearchConfig& config, uint32_t games, std::unique_ptr<LatentModel> model);

  // Plays the tasks and moves finished games to the places of their tasks in `played`.
  void PlayAll(absl::Span<const GameTask> tasks, uint64_t network_step,
               const std::function<bool()>& stop, absl::Span<v1::Trajectory> played);

  // Takes the decisions that are not the player's, up to the next one that is. Returns false if the
  // game ends before, after a call of FinishGame.
  bool FollowIncumbent(uint32_t seat, absl::Span<v1::Trajectory> played);

  // Evaluates the seats' positions with the network, one row for each.
  Evaluations EvaluateRoots(absl::Span<const uint32_t> seats);

  // Chooses how to take the decision in row `row` of `roots`, and begins its search if it is
  // searched.
  void PlanDecision(uint32_t seat, size_t row, const Evaluations& roots);

  // Takes the planned decision, and calls FinishGame if it ends the game.
  void Decide(uint32_t seat, absl::Span<v1::Trajectory> played);

  // Moves a game that has ended to the place of its task in `played`, and frees its seat.
  void FinishGame(uint32_t seat, absl::Span<v1::Trajectory> played);

  Search search_;
  std::unique_ptr<LatentModel> model_;
  BatchedSearch batched_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::vector<float> observations_;  // of a batch, by row

  // Without the figures that batched_ counts.
  SelfPlayStats stats_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SELF_PLAY_H_
