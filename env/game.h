// mallocGame: the accesses of a program, in the order of execution, go to fast memory or to HBM.
// docs/mallocgame.md states the rules.

#ifndef MALLOCMUZERO_ENV_GAME_H_
#define MALLOCMUZERO_ENV_GAME_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "env/action.h"
#include "env/copy_timeline.h"
#include "env/fast_memory.h"
#include "env/game_state.h"
#include "env/legal.h"
#include "env/program_rules.h"
#include "env/residency.h"
#include "simulator/core/mapping.h"

namespace mallocmuzero {

// One game. A value: copy it to take a snapshot, assign it to go back. Not thread-safe; games may
// share one ProgramRules. The same actions give the same game, bit for bit. Const functions change
// nothing, however often they are called.
//
//   for (Game game(rules); !game.finished();) game.Apply(Choose(game));
class Game {
 public:
  // Plays up to the first decision: an access with one legal action is no decision. `rules` must
  // outlive the game.
  explicit Game(const ProgramRules& rules);

  const ProgramRules& rules() const { return *state_.rules; }
  const Program& program() const { return rules().program(); }

  // True after the last decision: nothing is left to decide, ToMapping may be called.
  bool finished() const { return state_.access == rules().end_access(); }

  // The access to decide next, into Program::accesses. access_count if finished.
  AccessIndex access() const { return state_.access; }

  // The actions that may be taken now: two or more unless the game is finished (then none). Each
  // of them leaves a game that can be played to its end.
  ActionSet legal_actions() const { return options_.actions; }
  bool IsLegal(Action action) const { return Contains(options_.actions, action); }

  // Takes a legal action, then the only legal action of each access up to the next decision.
  // Returns the reward: the share of the all-HBM cycles that these actions save, negative if they
  // cost cycles.
  double Apply(Action action);

  // Plays on by a plan, which has an action for each access. The current access and all others
  // before `end` take Choose(plan[access], legal). Then the game goes to the next decision. Asks
  // `give_up` before each access. If that returns true, goes to the next decision from there and
  // returns false.
  //
  // This is the game that Apply plays with the same actions, but in less time: if the plan's action
  // is legal, no other action is looked for. So nobody learns which of these accesses are
  // decisions, and the history does not get their actions.
  bool Follow(IndexSpan<AccessIndex, const Action> plan, AccessIndex end,
              absl::FunctionRef<bool()> give_up);

  // The actions that Apply has taken so far, one for each decision. A new game of the same rules
  // that takes them becomes equal to this game, unless this game has followed a plan.
  absl::Span<const Action> history() const { return history_; }

  // Share of the all-HBM cycles saved so far: the initial return plus all rewards. When finished:
  // 1 - Simulate(ToMapping()).total_cycles / all-HBM cycles.
  double total_return() const { return rules().ShareOfAllHbm(rules().all_hbm_cycles() - cycles()); }

  // The share that the accesses before the first decision saved.
  double initial_return() const { return initial_return_; }

  // Cycles of the program with decided accesses as decided and all others in HBM, even those to
  // values that HBM does not have.
  double cycles() const { return latency_cycles_ + state_.timeline.stall_cycles(); }

  // The mapping that the decisions make. The game must be finished.
  Mapping ToMapping() const;

  // --- For observations, solvers and tests ---

  enum class HbmCopy : uint8_t { kStale, kPending, kCurrent };  // kPending: its write-back runs

  // Whether HBM has the value of a buffer.
  HbmCopy hbm_copy(BufferIndex buffer) const;

  // The buffer whose value a write-back brings to HBM.
  BufferIndex BufferOf(WriteBackIndex write_back) const {
    return state_.residency.stays()[write_back_stays_[write_back]].buffer;
  }

  // True if fast memory still holds the buffer's value, so that it could be kept for the access.
  bool InFastMemory(BufferIndex buffer) const { return state_.residency.Holds(buffer); }

  // Whether each access decided so far is in fast memory, by access.
  IndexSpan<AccessIndex, const uint8_t> in_fast_memory() const { return in_fast_memory_; }

  const FastMemory& fast_memory() const { return state_.residency.memory(); }
  const CopyTimeline& timeline() const { return state_.timeline; }

  // The point at which a legal Copy of the current read or update queues its copy from HBM. -1 if
  // it queues none, or if Copy is not legal.
  InstructionIndex copy_start() const { return options_.copy_in.start; }

  // All that legal actions depend on, and what they would do.
  const GameState& state() const { return state_; }
  const Options& options() const { return options_; }

  // Bytes of the game, and those that a snapshot of it has for itself. Snapshots share the rest.
  size_t MemoryBytes() const;
  size_t CopyBytes() const;

  // True if the games are the same in every respect.
  friend bool operator==(const Game&, const Game&) = default;

 private:
  // game.cc
  void PlaceCrossProgramPrefetch();
  void AdvanceToDecision();
  void AdvanceToAccess();
  bool DropLeavesFastMemory() const;
  void EnterInstruction();
  void LeaveInstruction();
  double PassLinks(double cycles);
  void SetFast(AccessIndex access);

  // game_apply.cc
  void ApplyToAccess(Action action);
  void Read(BufferIndex buffer, Action action);
  void Write(BufferIndex buffer, Action action);
  void Update(BufferIndex buffer, Action action);
  void StartFlight(BufferIndex buffer, Action action);
  void WriteOnlyToHbm(BufferIndex buffer);
  void FinishWrite(BufferIndex buffer, Action action);
  void CopyIn(BufferIndex buffer);
  void NeedHbm(BufferIndex buffer, InstructionIndex point);
  void WaitForWriteBack(WriteBackIndex write_back);
  void WaitForAllWriteBacks();
  void WaitForWriteBackOf(BufferIndex buffer);
  void QueueWriteBack(BufferIndex buffer);
  void SettleWriteBacks(WriteBackIndex first);
  void Fix(absl::Span<const FixedWriteBack> write_backs);

  // game_loops.cc
  void EnterLoop(LoopIndex loop);
  void LeaveLoop(LoopIndex loop);
  void TakeOver(CarriedGroupIndex group);

  GameState state_;
  Options options_;            // at the current access
  double latency_cycles_ = 0;  // of instructions, and of waits for collectives
  double initial_return_ = 0;
  uint64_t fast_mask_ = 0;         // accesses of the current instruction in fast memory
  double instruction_cycles_ = 0;  // of the current instruction with these accesses
  IndexVector<WriteBackIndex, StayIndex> write_back_stays_;  // by write-back of the timeline
  IndexVector<AccessIndex, uint8_t> in_fast_memory_;         // by access
  std::vector<Action> history_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_GAME_H_
