// Recorded games without a network, for tests.

#ifndef MALLOCMUZERO_ACTOR_TESTING_RECORDED_GAME_H_
#define MALLOCMUZERO_ACTOR_TESTING_RECORDED_GAME_H_

#include <string>
#include <utility>

#include "actor/game_recorder.h"
#include "env/game.h"
#include "env/players.h"
#include "env/program_set.h"
#include "mallocmuzero/v1/trajectory.pb.h"

namespace mallocmuzero::testing {

// A game of the player, none of whose decisions was searched.
inline v1::Trajectory RecordedGame(const PlayedProgram& program, Player player, std::string id,
                                   v1::Trajectory::Source source = v1::Trajectory::SELF_PLAY) {
  player.StartGame();
  GameRecorder recorder(program, std::move(id), source, 0);
  Game game(program.rules());
  recorder.Start(game);
  while (!game.finished()) recorder.Apply(game, player.Choose(game));
  return std::move(recorder).Finish();
}

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_ACTOR_TESTING_RECORDED_GAME_H_
