// A program as the game sees it: all facts that no decision changes.

#ifndef MALLOCMUZERO_ENV_PROGRAM_RULES_H_
#define MALLOCMUZERO_ENV_PROGRAM_RULES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// Version of the rules in recorded games. It is raised when the same actions can give another game.
inline constexpr uint32_t kGameRulesVersion = 5;

struct GameOptions {
  // A buffer stays in HBM if all its accesses together save at most this share of the all-HBM
  // cycles.
  double negligible_share = 1e-7;
};

// Immutable. Games on several threads may share one.
class ProgramRules {
 public:
  // Stands for an instruction, access, loop or group that does not exist.
  static constexpr int32_t kNone = -1;

  // Facts about one access. Instructions are indices into Program::instructions.
  struct AccessRule {
    AccessIndex next_access = kNone;  // to the same buffer, into Program::accesses

    // For the first access of a carried group's parameter: the group, whose parameter can take over
    // the initial value's bytes at this access. kNone for all other accesses.
    CarriedGroupIndex take_over = kNone;

    // For a write or update: a value that is in fast memory only must stay there up to this
    // instruction. kNone if the value must go to HBM. It is the next update that can write the
    // value back if there is one; else the last use, or the end of the loop around it.
    InstructionIndex keep_until = kNone;

    // The same if the next update cannot write the value back.
    InstructionIndex keep_until_end = kNone;

    // For a write: a value that goes to both memories must stay in fast memory up to this
    // instruction. kNone if the value must not go to both.
    InstructionIndex copy_until = kNone;

    // True for the first read after a write. The compiler writes a value to fast memory only for
    // its first use, so this read uses fast memory if the write did.
    bool follows_write = false;

    // For a write or update that makes a carried group's initial value: the group, which goes to
    // fast memory if the value is in fast memory only. kNone for all other accesses.
    CarriedGroupIndex feeds_group = kNone;

    // For an access while a collective works on the buffer: the done, up to which the buffer must
    // stay in its memory. kNone for all other accesses.
    InstructionIndex flight_done = kNone;

    // True for the access by the start of such a flight. It decides for all accesses of the flight.
    bool starts_flight = false;

    // For a read that starts a flight: whether the value can be in fast memory in the flight, if
    // its stay has had no write-back, and if it has had one. It cannot if an update in the flight
    // makes a value that must reach HBM and that no access can write back.
    bool may_fly = true;
    bool may_fly_written_back = true;

    // The first point at which a copy from HBM for this access may be queued, as far as flights
    // before the access say.
    InstructionIndex copy_from = 0;
  };

  // Facts about one buffer.
  struct BufferRule {
    int64_t bytes = 0;                // rounded up to the alignment
    LoopIndex defining_loop = kNone;  // innermost loop whose passes make the values; kNone: none
    InstructionIndex available = 0;   // first point at which HBM can have the value
    bool starts_in_hbm = false;
    bool stays_in_hbm = false;  // pinned, too large, negligible, or nothing that the rules know
  };

  // Facts about one carried group.
  struct GroupRule {
    bool may_be_fast = false;
    bool writes_back = false;             // the result is written back right after the loop
    InstructionIndex keep_until = kNone;  // last instruction for which the result must be kept
  };

  // `program` must outlive the rules.
  static ProgramRules Create(const Program& program, const GameOptions& options = {});

  const Program& program() const { return *program_; }
  uint32_t access_count() const { return program_->access_count(); }
  AccessIndex end_access() const { return program_->accesses().end_index(); }
  double all_hbm_cycles() const { return all_hbm_cycles_; }

  // Cycles that one execution waits for collectives just before the instruction, or at the end of
  // the program, with everything in HBM. 0 for a program without asynchronous collectives.
  double AllHbmCollectiveWait(InstructionIndex point) const {
    return all_hbm_collective_waits_.empty() ? 0 : all_hbm_collective_waits_[point];
  }

  // Share of the all-HBM cycles; 0 if the program takes no time.
  double ShareOfAllHbm(double cycles) const {
    return all_hbm_cycles_ > 0 ? cycles / all_hbm_cycles_ : 0;
  }

  const AccessRule& access(AccessIndex access) const { return accesses_[access]; }
  const BufferRule& buffer(BufferIndex buffer) const { return buffers_[buffer]; }
  const GroupRule& group(CarriedGroupIndex group) const { return groups_[group]; }

  // Carried groups of a loop.
  absl::Span<const CarriedGroupIndex> GroupsOfLoop(LoopIndex loop) const {
    return loop_groups_[loop];
  }

  // The group whose parameter or root is this buffer, kNone if there is none.
  CarriedGroupIndex GroupInside(BufferIndex buffer) const { return group_inside_[buffer]; }

  // The loop whose marker this instruction is.
  LoopIndex LoopOfMarker(InstructionIndex instruction) const {
    return loop_of_marker_[instruction];
  }

  // True if `inner` is `outer` or lies in it. kNone stands for the whole program.
  bool IsInLoop(LoopIndex inner, LoopIndex outer) const;

  // The loop that is directly in `outer` and around `inner`. `inner` must lie in `outer` and differ
  // from it.
  LoopIndex ChildLoop(LoopIndex inner, LoopIndex outer) const;

  // A value that `defining_loop` makes must stay up to this instruction so that `instruction` finds
  // it in every pass. It is the instruction itself, or the end of the loop around it that is
  // directly in `defining_loop`.
  InstructionIndex SpanEnd(InstructionIndex instruction, LoopIndex defining_loop) const;

  // The latest point up to `point` that is in `loop` and in no loop inside it; kNone if `point` is
  // not in `loop`.
  InstructionIndex PointInLoop(InstructionIndex point, LoopIndex loop) const;

  // Bytes of fast memory, rounded down to the alignment.
  int64_t fast_memory_bytes() const {
    const v1::Hardware& hardware = program_->hardware();
    const int64_t alignment = hardware.fast_memory_alignment_bytes();
    return hardware.fast_memory_bytes() / alignment * alignment;
  }

  // The stay of the compiler's cross-program prefetch, which the game does not change. `buffer` is
  // kNone if there is none.
  struct CrossProgramPrefetch {
    BufferIndex buffer = kNone;
    InstructionIndex last = 0;
  };
  const CrossProgramPrefetch& prefetch() const { return prefetch_; }

  // True if the access uses the cross-program prefetch in the baseline, and so in every game.
  bool UsesPrefetch(AccessIndex access) const { return uses_prefetch_[access] != 0; }

 private:
  class Builder;
  ProgramRules() = default;

  const Program* program_ = nullptr;
  double all_hbm_cycles_ = 0;
  IndexVector<InstructionIndex, double> all_hbm_collective_waits_;  // by point, or empty
  IndexVector<AccessIndex, AccessRule> accesses_;
  IndexVector<BufferIndex, BufferRule> buffers_;
  IndexVector<CarriedGroupIndex, GroupRule> groups_;
  IndexVector<LoopIndex, std::vector<CarriedGroupIndex>> loop_groups_;
  IndexVector<BufferIndex, CarriedGroupIndex> group_inside_;
  IndexVector<InstructionIndex, LoopIndex> loop_of_marker_;
  IndexVector<AccessIndex, uint8_t> uses_prefetch_;
  CrossProgramPrefetch prefetch_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_PROGRAM_RULES_H_
