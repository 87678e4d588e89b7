// What a program means for the game: everything that does not change while it is played.

#ifndef MALLOCMUZERO_ENV_PROGRAM_RULES_H_
#define MALLOCMUZERO_ENV_PROGRAM_RULES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// Goes into everything that records games. Raised when the same actions could mean another game.
inline constexpr uint32_t kGameRulesVersion = 4;

struct GameOptions {
  // A buffer whose accesses could together save less than this share of the all-HBM cycles stays in
  // HBM by rule.
  double negligible_share = 1e-7;
};

// Immutable; many games on many threads share one.
class ProgramRules {
 public:
  // Sentinel for instructions, accesses and groups that are not there.
  static constexpr int32_t kNone = -1;

  // Facts about one access. Instructions are indices into Program::instructions.
  struct AccessRule {
    int32_t next_access = kNone;  // to the same buffer, into Program::accesses
    int32_t take_over = kNone;    // carried group whose value a read may take over from outside
    // Of a write or update: the last instruction up to which a value that is in fast memory only
    // has to stay there, kNone if it must go to HBM. An update ends the duty, since it can write
    // back. Loops are rounded up to their ends.
    int32_t keep_until = kNone;
    // The same if the update cannot write back.
    int32_t keep_until_end = kNone;
    // Of a write: the last instruction up to which a value that goes to both memories has to stay
    // in the fast one, kNone if it may not go to both.
    int32_t copy_until = kNone;
    // True of a read that finds the value in fast memory if that is where it was written, because
    // the compiler puts it there for this read.
    bool follows_write = false;
    // Carried group that the value in fast memory would commit to fast memory: as initial value.
    int32_t feeds_group = kNone;
  };

  // Facts about one buffer.
  struct BufferRule {
    int64_t bytes = 0;      // rounded up to the alignment
    int32_t home = kNone;   // innermost loop whose pass makes the value; kNone: none
    int32_t available = 0;  // first point at which HBM may hold the value
    bool starts_in_hbm = false;
    bool stays_in_hbm = false;  // Drop by rule: pinned, too large, negligible, or beyond the rules
  };

  // One element of a loop's carried tuple that may be carried in fast memory.
  struct GroupRule {
    bool may_be_fast = false;
    bool writes_back = false;    // the result is written back right after the loop
    int32_t keep_until = kNone;  // last instruction for which the result must be kept
  };

  // InvalidArgument if the hardware has no fast memory. `program` must outlive the rules.
  static absl::StatusOr<ProgramRules> Create(const Program& program,
                                             const GameOptions& options = {});

  const Program& program() const { return *program_; }
  uint32_t access_count() const { return program_->access_count(); }
  double all_hbm_cycles() const { return all_hbm_cycles_; }

  // Share of the all-HBM cycles; 0 if the program takes no time.
  double ShareOfAllHbm(double cycles) const {
    return all_hbm_cycles_ > 0 ? cycles / all_hbm_cycles_ : 0;
  }

  const AccessRule& access(uint32_t access) const { return accesses_[access]; }
  const BufferRule& buffer(uint32_t buffer) const { return buffers_[buffer]; }
  const GroupRule& group(uint32_t group) const { return groups_[group]; }

  // Carried groups of a loop.
  absl::Span<const uint32_t> GroupsOfLoop(uint32_t loop) const { return loop_groups_[loop]; }

  // The group that a buffer is parameter or root of, kNone if it is of none.
  int32_t GroupInside(uint32_t buffer) const { return group_inside_[buffer]; }

  // The loop whose marker this instruction is.
  int32_t LoopOfMarker(uint32_t instruction) const { return loop_of_marker_[instruction]; }

  // True if `inner` is `outer` or lies in it. kNone is around all.
  bool IsInLoop(int32_t inner, int32_t outer) const;

  // The loop that is directly in `outer` and around `inner`, which must lie in it and differ.
  int32_t ChildLoop(int32_t inner, int32_t outer) const;

  // The last instruction a value must stay for so that `instruction` finds it in every pass: the
  // instruction, or the end of the loop around it that lies directly in `home`.
  int32_t SpanEnd(uint32_t instruction, int32_t home) const;

  // The latest point that is in `loop` itself and not after `point`; kNone if that is outside.
  int32_t PointInLoop(int32_t point, int32_t loop) const;

  // Bytes of fast memory, rounded down to the alignment.
  int64_t fast_memory_bytes() const {
    const v1::Hardware& hardware = program_->hardware();
    const int64_t alignment = hardware.fast_memory_alignment_bytes();
    return hardware.fast_memory_bytes() / alignment * alignment;
  }

  // The fixed stay of the compiler's cross-program prefetch, kNone if there is none.
  struct CrossProgramPrefetch {
    int32_t buffer = kNone;
    int32_t last = 0;
  };
  const CrossProgramPrefetch& prefetch() const { return prefetch_; }

  // True if the access lies in the cross-program prefetch's stay and uses it, as in the baseline.
  bool UsesPrefetch(uint32_t access) const { return uses_prefetch_[access] != 0; }

 private:
  class Builder;
  ProgramRules() = default;

  const Program* program_ = nullptr;
  double all_hbm_cycles_ = 0;
  std::vector<AccessRule> accesses_;
  std::vector<BufferRule> buffers_;
  std::vector<GroupRule> groups_;
  std::vector<std::vector<uint32_t>> loop_groups_;
  std::vector<int32_t> group_inside_;
  std::vector<int32_t> loop_of_marker_;
  std::vector<uint8_t> uses_prefetch_;
  CrossProgramPrefetch prefetch_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_PROGRAM_RULES_H_
