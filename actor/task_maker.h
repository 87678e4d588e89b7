// Makes the tasks of a round of self-play: games to evaluate the policy, games to learn from, and
// stored games to search again.

#ifndef MALLOCMUZERO_ACTOR_TASK_MAKER_H_
#define MALLOCMUZERO_ACTOR_TASK_MAKER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "actor/incumbents.h"
#include "actor/self_play.h"
#include "base/random.h"
#include "env/program_set.h"
#include "mallocmuzero/v1/trajectory.pb.h"

namespace mallocmuzero {

// How games are played that are learned from.
struct SelfPlaySettings {
  float explored_decisions = 0;  // of a game, on average
  float searched_share = 1;      // of the decisions that are not explored
  bool searches = true;          // false: the policy alone plays every new game
};

// Collects the tasks of one round. `random` gives each task its seed and must outlive the maker, as
// the programs must outlive the tasks.
class TaskMaker {
 public:
  // `next_id` names the next new game: see TrajectoryId.
  TaskMaker(const SelfPlaySettings& settings, std::function<std::string()> next_id, Random& random)
      : settings_(settings), next_id_(std::move(next_id)), random_(random) {}

  // A game that shows what the policy plays: nothing is explored, every decision is searched. Its
  // observations show the incumbent, if one is given.
  void AddEvaluation(const PlayedProgram& program,
                     std::shared_ptr<const IncumbentGame> incumbent = nullptr);

  // A game to learn from, with explored decisions.
  void AddSelfPlay(const PlayedProgram& program);

  // A game to learn from that decides one stretch of the incumbent's game anew, and searches each
  // decision there. The observations of most such games show the incumbent.
  void AddWindow(const PlayedProgram& program, std::shared_ptr<const IncumbentGame> incumbent);

  // A stored game of the program, whose decisions are searched again.
  void AddReanalysis(const PlayedProgram& program, std::shared_ptr<const v1::Trajectory> game);

  const std::vector<GameTask>& tasks() const { return tasks_; }
  std::vector<GameTask> Take() && { return std::move(tasks_); }

 private:
  GameTask& Add(const PlayedProgram& program, float explored, float searched);

  const SelfPlaySettings settings_;
  const std::function<std::string()> next_id_;
  Random& random_;
  std::vector<GameTask> tasks_;
};

// The index of a program, drawn with these weights; all are equally likely unless the weights are
// `count` numbers, 0 or more, of which at least one is above 0.
size_t DrawProgram(absl::Span<const double> weights, size_t count, Random& random);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_TASK_MAKER_H_
