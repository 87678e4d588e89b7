// Tasks and players for tests of self-play.

#ifndef MALLOCMUZERO_ACTOR_TESTING_SELF_PLAY_TASKS_H_
#define MALLOCMUZERO_ACTOR_TESTING_SELF_PLAY_TASKS_H_

#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "actor/search/search.h"
#include "actor/self_play.h"
#include "actor/testing/fixed_model.h"
#include "env/program_set.h"
#include "env/testing/random_game_program.h"

namespace mallocmuzero::testing {

// Small random programs with some decisions, the same at each call.
inline std::vector<std::unique_ptr<PlayedProgram>> SomePrograms(int count) {
  std::mt19937_64 random(3);
  std::vector<std::unique_ptr<PlayedProgram>> programs;
  while (programs.size() < count) {
    std::unique_ptr<PlayedProgram> program = PlayedProgram::Create(RandomGameProgram(random));
    if (program->decisions() > 5) programs.push_back(std::move(program));
  }
  return programs;
}

inline SearchConfig SmallSearch() { return {.simulations = 6}; }

// Plays up to `games` games side by side with a FixedModel.
inline std::unique_ptr<SelfPlay> MakeSelfPlay(uint32_t games) {
  const auto make_model = [](uint32_t slots) { return std::make_unique<FixedModel>(slots); };
  return SelfPlay::Create(SmallSearch(), games, make_model).value();
}

// Tasks of the programs by turns.
inline std::vector<GameTask> Tasks(const std::vector<std::unique_ptr<PlayedProgram>>& programs,
                                   int count, float explored, float searched) {
  std::vector<GameTask> tasks;
  for (int i = 0; i < count; ++i) {
    tasks.push_back({.program = programs[i % programs.size()].get(),
                     .id = absl::StrCat("game ", i),
                     .seed = static_cast<uint64_t>(i),
                     .explored = explored,
                     .searched = searched});
  }
  return tasks;
}

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_ACTOR_TESTING_SELF_PLAY_TASKS_H_
