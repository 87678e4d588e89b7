// mallocGame: one access after the other, in the order of execution, goes to fast memory or to HBM.
// docs/mallocgame.md states the rules.

#ifndef MALLOCMUZERO_ENV_GAME_H_
#define MALLOCMUZERO_ENV_GAME_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "env/action.h"
#include "env/copy_timeline.h"
#include "env/fast_memory.h"
#include "env/program_rules.h"
#include "env/repack.h"
#include "simulator/core/mapping.h"

namespace mallocmuzero {

// One game. A value: copy it to take a snapshot, assign it to go back. Not thread-safe; games may
// share one ProgramRules. The same actions give the same game, bit for bit.
//
//   for (Game game(rules); !game.finished();) game.Apply(Choose(game));
class Game {
 public:
  // Plays what is taken by rule up to the first decision. `rules` must outlive the game.
  explicit Game(const ProgramRules& rules);

  const ProgramRules& rules() const { return *rules_; }
  const Program& program() const { return rules_->program(); }

  // True after the last decision: nothing is left to decide, ToMapping may be called.
  bool finished() const { return access_ == rules_->access_count(); }

  // The access to decide next, into Program::accesses. access_count if finished.
  uint32_t access() const { return access_; }

  // The actions that may be taken now: two or more unless the game is finished (then none). Each
  // of them leaves a game that can be played to its end.
  ActionSet legal_actions() const { return legal_; }
  bool IsLegal(Action action) const { return Contains(legal_, action); }

  // Takes a legal action, then all that is taken by rule up to the next decision. Returns the
  // reward: the share of the all-HBM cycles that all this saved, negative if it cost some.
  double Apply(Action action);

  // The actions taken so far, one for each decision; Game(rules) followed by these is this game.
  absl::Span<const Action> history() const { return history_; }

  // Share of the all-HBM cycles saved so far: what was taken by rule before the first decision,
  // and all rewards. When finished: 1 - Simulate(ToMapping()).total_cycles / all-HBM cycles.
  double total_return() const { return rules_->ShareOfAllHbm(rules_->all_hbm_cycles() - cycles()); }
  double initial_return() const { return initial_return_; }

  // Price with decided accesses as decided and all others in HBM, validity of those ignored,
  // cycles.
  double cycles() const { return latency_cycles_ + timeline_.stall_cycles(); }

  // What was decided. The game must be finished.
  Mapping ToMapping() const;

  // --- What observations and solvers look at ---

  // Where the value of a buffer is.
  enum class HbmCopy : uint8_t { kStale, kPending, kCurrent };  // kPending: its write-back runs
  HbmCopy hbm_copy(uint32_t buffer) const;

  // True if fast memory still holds the buffer's value, so that it could be kept for the access.
  bool InFastMemory(uint32_t buffer) const { return buffers_[buffer].stay >= 0; }

  // Whether each access decided so far is in fast memory, one an access.
  absl::Span<const uint8_t> in_fast_memory() const { return in_fast_memory_; }

  const FastMemory& fast_memory() const { return memory_; }
  const CopyTimeline& timeline() const { return timeline_; }

  // Where a legal Copy of the current read would be queued: just before this instruction. -1 if
  // the current access is a write, or Copy is not legal.
  int32_t copy_start() const { return plan_.copy_start; }

  // What a snapshot of the game takes, bytes.
  size_t MemoryBytes() const;

 private:
  // A stay in fast memory, an Interval in the making.
  struct Stay {
    uint32_t buffer = 0;
    int32_t first = 0;
    int32_t last = 0;      // last instruction that uses it; a write-back may hold it longer
    int32_t reserved = 0;  // last instruction for which it must not be taken
    int64_t offset = 0;
    int32_t copy_in_start = -1;
    int32_t copy_in_done = -1;
    int32_t write_back = -1;      // into the timeline's write-backs
    int32_t loop = -1;            // that it is in: inner loops it spans
    int32_t taken_until = 0;      // last instruction for which its bytes are taken, kForever: open
    int32_t handed_over_by = -1;  // the stay that had its bytes before it, in a group
    bool holds_bytes = true;      // nobody else has taken them, and they were not released
    bool cross_program_prefetch = false;
  };

  struct BufferState {
    int32_t stay = -1;        // that holds the value now; -1: none
    int32_t write_back = -1;  // the value's own; HBM is current when it is done
    int32_t hbm_since = 0;    // point from which HBM has the value, if hbm_current
    bool hbm_current = false;
  };

  enum class GroupSpace : uint8_t { kOpen, kHbm, kFast };

  // What the legal actions of the current access would do.
  struct Plan {
    int64_t offset = 0;       // where a new value or a copy in goes
    int32_t keep_until = 0;   // last instruction for which NoCopy keeps the value
    int32_t copy_start = -1;  // of a copy in
    int32_t copy_done = -1;   // the point at which it is needed
    int32_t copy_until = -1;  // last instruction it is kept for
    int32_t copy_loop = -1;   // that it is queued in
  };

  // game.cc
  void PlaceCrossProgramPrefetch();
  void AdvanceToDecision();
  void EnterInstruction();
  void MakeRoomForInstruction();
  void LeaveInstruction();
  void Finish();
  void SetFast(uint32_t access);

  // game_legality.cc
  ActionSet FindLegalActions();
  ActionSet LegalForRead(uint32_t access);
  ActionSet LegalForWrite(uint32_t access);
  ActionSet LegalForUpdate(uint32_t access);
  bool IsCarriedFast(uint32_t buffer) const;
  bool HbmHasValue(uint32_t buffer) const;  // or is about to
  bool CanStayUntil(uint32_t buffer, int32_t until) const;
  bool CanKeep(uint32_t access);
  bool CanTakeOver(uint32_t group) const;
  bool CanCopyIn(uint32_t access);
  bool PlanCopyIn(uint32_t buffer, int32_t loop);

  // game_apply.cc
  void Take(Action action);
  void Read(uint32_t access, Action action);
  void Write(uint32_t access, Action action);
  void Update(uint32_t access, Action action);
  void CopyIn(uint32_t buffer);
  void NeedHbm(uint32_t buffer, int32_t point);
  void WaitForWriteBack(uint32_t write_back);
  void WaitForWriteBackOf(uint32_t buffer);
  void QueueWriteBack(uint32_t buffer);
  void KeepUntil(uint32_t buffer, int32_t until);
  void NewStay(const Stay& stay);
  void TakeBytes(int32_t owner, int32_t first);
  void EndStay(uint32_t buffer);
  void SetNextUse(uint32_t stay, uint32_t access);
  int32_t TakenUntil(const Stay& stay) const;
  void SetTakenUntil(Stay& stay, int32_t last);
  void ReleaseBytes(Stay& stay, int32_t last);
  void SettleWriteBacks(uint32_t first);
  void SettleWriteBack(uint32_t write_back);

  // game_places.cc
  std::optional<int64_t> FindPlace(int64_t bytes, int32_t first, int32_t until, int64_t limit);
  bool MakePlace(AddressBlock wanted);
  bool MayMove(int32_t stay) const;
  std::vector<AddressBlock> FindBlocks(std::vector<int32_t>& stays) const;
  int64_t LimitOf(const AddressBlock& block, const Stay& stay) const;
  void MoveStays(const std::vector<AddressBlock>& blocks, const std::vector<int32_t>& stays);

  // game_loops.cc
  void EnterLoop(uint32_t loop);
  void LeaveLoop(uint32_t loop);
  void EndStaysOfLoop(uint32_t loop);
  void TakeOver(uint32_t group);
  void WriteCarriedRoot(uint32_t root);
  void HandOver(uint32_t from, const Stay& to);

  const ProgramRules* rules_;
  uint32_t access_ = 0;
  int32_t instruction_ = -1;
  ActionSet legal_ = 0;
  Plan plan_;
  double latency_cycles_ = 0;
  double initial_return_ = 0;
  uint64_t fast_mask_ = 0;  // of the current instruction
  FastMemory memory_;
  CopyTimeline timeline_;
  std::vector<Stay> stays_;
  std::vector<uint32_t> write_back_stays_;   // by write-back of the timeline
  std::vector<uint32_t> stays_before_loop_;  // by open loop: how many there were when it began
  std::vector<int32_t> scratch_;             // stays or buffers to end
  std::vector<BufferState> buffers_;
  std::vector<GroupSpace> groups_;
  std::vector<uint8_t> in_fast_memory_;
  std::vector<Action> history_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_GAME_H_
