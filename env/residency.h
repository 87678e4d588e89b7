// The values that are in fast memory while a game is played: for how long, at which addresses, and
// which carried groups they belong to.

#ifndef MALLOCMUZERO_ENV_RESIDENCY_H_
#define MALLOCMUZERO_ENV_RESIDENCY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "base/shared_vector.h"
#include "env/address_history.h"
#include "env/copy_timeline.h"
#include "env/fast_memory.h"
#include "env/program_rules.h"
#include "env/repack.h"

namespace mallocmuzero {

// The time that a value is in fast memory at one address. Each becomes an Interval of the mapping.
struct Stay {
  BufferIndex buffer = 0;
  InstructionIndex first = 0;     // first instruction for which the bytes are taken
  InstructionIndex last = 0;      // last instruction that uses the value
  InstructionIndex reserved = 0;  // last instruction for which no other stay may take the bytes
  int64_t offset = 0;
  InstructionIndex copy_in_start = -1;
  InstructionIndex copy_in_done = -1;
  WriteBackIndex write_back = -1;  // number of its write-back in the CopyTimeline, -1: none
  // last instruction for which the write-back needs the bytes, or kForever
  InstructionIndex write_back_until = -1;
  LoopIndex loop = -1;  // the loop whose pass the stay is part of; -1: the whole program
  InstructionIndex taken_until = 0;  // last instruction for which the bytes are taken, or kForever
  StayIndex handed_over_by = -1;     // the stay of its carried group that had the bytes before
  bool holds_bytes = true;           // no other stay has taken the bytes, and they are not released
  bool cross_program_prefetch = false;

  friend bool operator==(const Stay&, const Stay&) = default;
};

// A stay that loses its bytes to another stay, which has them from an instruction on.
struct LostBytes {
  StayIndex stay = 0;
  InstructionIndex from = 0;

  friend bool operator==(const LostBytes&, const LostBytes&) = default;
};

// New addresses for the stays, which turn scattered free bytes into one place.
struct Rearrangement {
  // A stay, and those that handed their bytes over to it.
  struct Move {
    StayIndex stay = 0;
    int64_t offset = 0;

    friend bool operator==(const Move&, const Move&) = default;
  };

  std::vector<AddressHistory::Uncovered> ground;  // what lies below the stays of `moves`
  std::vector<Move> moves;        // in the order of time; some stays stay where they are
  std::vector<LostBytes> losses;  // stays whose unused values are overwritten
  FastMemory memory;              // the addresses afterwards

  friend bool operator==(const Rearrangement&, const Rearrangement&) = default;
};

// Where a new stay can go.
struct Place {
  int64_t offset = 0;
  std::shared_ptr<const Rearrangement> moves;  // must happen first; null: no stay has to move

  friend bool operator==(const Place& a, const Place& b) {
    if ((a.moves == nullptr) != (b.moves == nullptr)) return false;
    return a.offset == b.offset && (a.moves == nullptr || *a.moves == *b.moves);
  }
};

// A write-back that is done at a point and must not be done later: the residency relies on it.
struct FixedWriteBack {
  WriteBackIndex write_back = 0;
  InstructionIndex point = 0;

  friend bool operator==(const FixedWriteBack&, const FixedWriteBack&) = default;
};

class RefusedRequests;

// A value, like the game: copy it to take a snapshot. Const functions change nothing. Functions
// that change it return the write-backs that the caller must fix in the CopyTimeline; the span is
// valid until the next change.
class Residency {
 public:
  static constexpr int32_t kForever = FastMemory::kForever;

  // Where the four buffers of a carried group are.
  enum class GroupSpace : uint8_t { kOpen, kHbm, kFast };  // kOpen: not decided yet

  // Empty fast memory. `rules` must outlive it.
  explicit Residency(const ProgramRules& rules);

  // --- Queries ---

  // The stay that holds the buffer's value, into stays(); -1 if there is none.
  StayIndex StayOf(BufferIndex buffer) const { return stay_of_[buffer]; }
  bool Holds(BufferIndex buffer) const { return stay_of_[buffer] >= 0; }

  // The stay that holds the buffer's value. There must be one.
  const Stay& Current(BufferIndex buffer) const { return stays_[stay_of_[buffer]]; }

  // All stays so far, in the order in which they were decided.
  const SharedVector<StayIndex, Stay>& stays() const { return stays_; }
  const FastMemory& memory() const { return memory_; }

  GroupSpace group(CarriedGroupIndex group) const { return groups_[group]; }

  // True if the buffer is parameter or root of a group in fast memory.
  bool IsCarriedFast(BufferIndex buffer) const {
    const CarriedGroupIndex group = rules_->GroupInside(buffer);
    return group != ProgramRules::kNone && groups_[group] == GroupSpace::kFast;
  }

  // True if the group's parameter can take the bytes of the initial value.
  bool CanTakeOver(CarriedGroupIndex group) const;

  // `bytes` from instruction `first` to `until`.
  struct Request {
    int64_t bytes = 0;
    InstructionIndex first = 0;
    InstructionIndex until = 0;

    friend bool operator==(const Request&, const Request&) = default;
  };

  // A place for a stay that the decision about `access` begins; nullopt if there is none. If the
  // free bytes suffice but are scattered, it looks for a place that becomes free when stays move.
  // Does not search again for what `refused` has, unless that is null, and adds what it refuses.
  std::optional<Place> FindPlace(const Request& request, AccessIndex access,
                                 RefusedRequests* refused = nullptr) const;

  // Bytes on the heap, and the part of them that copies do not share.
  size_t HeapBytes() const;
  size_t CopyBytes() const;

  // --- Changes. `now` is the current instruction. ---

  // Moves the stays that must move to make the place.
  absl::Span<const FixedWriteBack> MakePlace(const Place& place);

  // Begins a stay at its offset. Stays whose bytes it touches lose their values.
  absl::Span<const FixedWriteBack> Add(const Stay& stay);

  // Extends the last use and the reservation of the buffer's stay, if these instructions are later.
  void Extend(BufferIndex buffer, InstructionIndex last, InstructionIndex reserved);

  // Ends the stay of the buffer, if there is one: the value is replaced or belongs to a past pass.
  absl::Span<const FixedWriteBack> End(BufferIndex buffer, InstructionIndex now);

  // Says which access uses the buffer's value next: the one after `access`.
  void SetNextUseAfter(AccessIndex access);

  // Gives the buffer's stay a write-back that runs.
  void SetWriteBack(BufferIndex buffer, WriteBackIndex write_back);

  // Says until which instruction the stay's write-back needs the bytes; kForever while it runs.
  absl::Span<const FixedWriteBack> SettleWriteBack(StayIndex stay, InstructionIndex until,
                                                   InstructionIndex now);

  void SetGroup(CarriedGroupIndex group, GroupSpace space) { groups_[group] = space; }

  // The parameter gets the initial value's bytes from the loop's begin on.
  void TakeOver(CarriedGroupIndex group);

  // The root's first write gets the parameter's bytes; a later one uses the root's stay.
  void WriteCarriedRoot(BufferIndex root, InstructionIndex now);

  // The result gets the root's bytes at the loop's end.
  void HandToResult(CarriedGroupIndex group, InstructionIndex now);

  // Marks where a loop begins, and ends all stays that belong to its passes. Calls nest.
  void EnterLoop() { stays_before_loop_.push_back(StayIndex(stays_.size())); }
  absl::Span<const FixedWriteBack> LeaveLoop(LoopIndex loop, InstructionIndex now);

  friend bool operator==(const Residency&, const Residency&) = default;

 private:
  // residency.cc
  void EndOne(BufferIndex buffer, InstructionIndex now);
  void Settle(StayIndex stay, InstructionIndex until, InstructionIndex now);
  void Lose(const LostBytes& loss);
  void HandOver(BufferIndex from, const Stay& to);
  void SetTakenUntil(Stay& stay, InstructionIndex last);
  void Release(Stay& stay, InstructionIndex last);
  void Occupy(FastMemory& memory, StayIndex stay, const AddressBlock& block,
              std::vector<LostBytes>& losses) const;

  // The blocks of fast memory that a search for new addresses must look at. First come the stays
  // that have their bytes at some instruction or later. Then come the pieces of earlier stays that
  // lie below them, ascending by offset.
  struct Layout {
    size_t whole_stays = 0;  // so many of `blocks` are whole stays
    std::vector<AddressBlock> blocks;
    std::vector<StayIndex> stays;  // by block; the last one of those that share it
  };

  // residency_places.cc
  std::optional<Place> SearchPlace(const Request& request, AccessIndex access) const;
  std::optional<Rearrangement> FindMoves(const Request& request, AccessIndex access) const;
  Layout FindLayout(InstructionIndex first, AccessIndex access) const;
  bool PackAnew(Layout& layout, InstructionIndex first, InstructionIndex now) const;
  bool MayMove(StayIndex stay, AccessIndex access) const;
  bool KeepsValueFor(StayIndex stay, AccessIndex access) const;
  StayIndex FirstOfBlock(StayIndex stay) const;
  FastMemory GroundOf(const Layout& layout) const;
  Rearrangement Rearrange(const Layout& layout) const;

  const ProgramRules* rules_;
  FastMemory memory_;
  AddressHistory history_;
  SharedVector<StayIndex, Stay> stays_;
  SharedVector<BufferIndex, StayIndex> stay_of_;       // by buffer
  IndexVector<CarriedGroupIndex, GroupSpace> groups_;  // by carried group
  std::vector<StayIndex> stays_before_loop_;           // by open loop: stays that began before it
  std::vector<FixedWriteBack> fixed_;                  // what the last change returned
  std::vector<LostBytes> losses_;                      // scratch
  std::vector<BufferIndex> ended_;                     // scratch: buffers
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_RESIDENCY_H_
