// Games that are played side by side, with what a learner sees of them in flat arrays.

#ifndef MALLOCMUZERO_TOOLS_GYM_NATIVE_GAME_BATCH_H_
#define MALLOCMUZERO_TOOLS_GYM_NATIVE_GAME_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "env/action.h"
#include "env/game.h"
#include "env/observation.h"
#include "env/program_set.h"
#include "tools/gym/native/worker_pool.h"

namespace mallocmuzero::gym {

using SharedProgram = std::shared_ptr<const PlayedProgram>;

enum class ObservationKind : uint8_t { kFull, kBrief };

// The treatment of an action that is not legal now.
enum class IllegalAction : uint8_t {
  kNearest,  // the closest legal action is taken (env/solvers/plan.h)
  kError,    // InvalidArgument; nothing changes
};

struct BatchOptions {
  ObservationKind observation = ObservationKind::kFull;
  IllegalAction illegal = IllegalAction::kNearest;
  uint32_t threads = 1;  // that play at the same time
};

// A game at some point, to go back to. It needs no batch and may outlive all of them.
struct Snapshot {
  SharedProgram program;
  Game game;

  // True if the programs are equal and the same actions were taken, which make equal games.
  friend bool operator==(const Snapshot& a, const Snapshot& b) {
    return a.program->sha256() == b.program->sha256() && a.game.history() == b.game.history();
  }

  template <typename H>
  friend H AbslHashValue(H h, const Snapshot& it) {
    return H::combine(std::move(h), it.program->sha256(), it.game.history());
  }
};

// Not thread-safe. Results do not depend on the number of threads. Indices of games and programs
// must lie in range.
class GameBatch {
 public:
  // The arrays have a row for each game. Only the class writes them.
  struct Arrays {
    std::vector<float> observations;   // [games, observation_size]; 0 if the game is finished
    std::vector<int8_t> action_masks;  // [games, kActionCount]: 1 if legal; 0 if it is finished
    std::vector<double> rewards;       // of the last step: shares of the all-HBM cycles
    std::vector<double> cycles;        // Game::cycles
    std::vector<double> gains;         // share of the default's cycles saved; NaN without a default
    std::vector<uint8_t> terminated;   // 1 if the game is finished
    std::vector<uint8_t> illegal;      // 1 if the last step replaced an illegal action
  };

  // Starts `games` games of the first program. There must be a program.
  GameBatch(std::vector<SharedProgram> programs, size_t games, const BatchOptions& options);

  size_t games() const { return slots_.size(); }
  size_t observation_size() const { return observation_size_; }
  absl::Span<const SharedProgram> programs() const { return programs_; }
  const Arrays& arrays() const { return arrays_; }
  const Game& game(size_t index) const { return slots_[index].game; }

  // Program of a game, into programs().
  size_t program(size_t index) const { return slots_[index].program; }

  // Starts a game anew. Its reward is 0.
  void Reset(size_t index, size_t program);

  // Chooses the program with which Step starts game `index` anew. It is the game's own if nothing
  // is chosen.
  void ChooseNext(size_t index, size_t program) { slots_[index].next_program = program; }

  // Takes one action in each game. A game that is finished ignores its action and starts anew, with
  // reward 0. InvalidArgument, with the game and the action, if one is no action, or is not legal
  // and the options refuse this; then nothing changes. FailedPrecondition in a fork of the process
  // that made the batch, if it has several threads.
  absl::Status Step(absl::Span<const int64_t> actions);

  // The same for one game. FailedPrecondition if the game is finished.
  absl::Status StepGame(size_t index, int64_t action);

  Snapshot TakeSnapshot(size_t index) const;

  // Sets a game to a snapshot; its reward is 0. InvalidArgument if none of programs() equals the
  // snapshot's program.
  absl::Status Restore(size_t index, const Snapshot& snapshot);

 private:
  struct Slot {
    Game game;
    size_t program = 0;
    size_t next_program = 0;
  };

  // One for each program, since a writer belongs to a program.
  using Writers = std::vector<ObservationWriter>;

  absl::Status Check(size_t index, int64_t action) const;
  void Play(size_t index, Action action, Writers& writers);
  void Start(size_t index, size_t program, Writers& writers);
  void WriteRow(size_t index, Writers& writers);

  const std::vector<SharedProgram> programs_;
  const BatchOptions options_;
  const size_t observation_size_;
  std::vector<Game> starts_;  // by program, before the first decision
  std::vector<Slot> slots_;
  Arrays arrays_;
  WorkerPool pool_;
  std::vector<Writers> writers_;  // by thread
};

}  // namespace mallocmuzero::gym

#endif  // MALLOCMUZERO_TOOLS_GYM_NATIVE_GAME_BATCH_H_
