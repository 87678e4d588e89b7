#include "actor/task_maker.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace mallocmuzero {
namespace {

// The share of windows whose observations show the incumbent. Without the others the network would
// forget how to play a program of which no game is known.
constexpr double kShownShare = 0.7;

}  // namespace

GameTask& TaskMaker::Add(const PlayedProgram& program, float explored, float searched) {
  tasks_.push_back(
      {.program = &program, .seed = random_.Next(), .explored = explored, .searched = searched});
  return tasks_.back();
}

void TaskMaker::AddEvaluation(const PlayedProgram& program,
                              std::shared_ptr<const IncumbentGame> incumbent) {
  Add(program, 0, settings_.searches ? 1 : 0).id = next_id_();
  tasks_.back().shows_incumbent = true;
  tasks_.back().incumbent = std::move(incumbent);
}

void TaskMaker::AddSelfPlay(const PlayedProgram& program) {
  const float explored = settings_.explored_decisions / static_cast<float>(program.decisions());
  // 0 would mean that no decision is searched, not even an explored one.
  const float searched = std::max(settings_.searched_share, std::numeric_limits<float>::min());
  Add(program, explored, settings_.searches ? searched : 0).id = next_id_();
}

void TaskMaker::AddWindow(const PlayedProgram& program,
                          std::shared_ptr<const IncumbentGame> incumbent) {
  AddSelfPlay(program);
  tasks_.back().searched = settings_.searches ? 1 : 0;
  tasks_.back().decides_window = true;
  tasks_.back().shows_incumbent = random_.Unit() < kShownShare;
  tasks_.back().incumbent = std::move(incumbent);
}

void TaskMaker::AddReanalysis(const PlayedProgram& program,
                              std::shared_ptr<const v1::Trajectory> game) {
  GameTask& task = Add(program, 0, 1);
  task.id = game->id();
  task.again = std::move(game);
}

size_t DrawProgram(absl::Span<const double> weights, size_t count, Random& random) {
  double sum = 0;
  bool usable = weights.size() == count;
  for (const double weight : weights) {
    usable = usable && std::isfinite(weight) && weight >= 0;
    sum += weight;
  }
  if (!usable || !(sum > 0)) return random.Below(count);
  double left = random.Unit() * sum;
  for (size_t p = 0; p < count; ++p) {
    left -= weights[p];
    if (left < 0) return p;
  }
  return count - 1;
}

}  // namespace mallocmuzero
