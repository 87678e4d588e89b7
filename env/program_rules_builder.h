// Makes ProgramRules from a program. Only program_rules*.cc include this header.

#ifndef MALLOCMUZERO_ENV_PROGRAM_RULES_BUILDER_H_
#define MALLOCMUZERO_ENV_PROGRAM_RULES_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "env/program_rules.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// Build may be called once. Both arguments must outlive the builder. The program must outlive the
// rules, too.
class ProgramRules::Builder {
 public:
  Builder(const Program& program, const GameOptions& options)
      : program_(program), options_(options) {
    rules_.program_ = &program;
  }

  ProgramRules Build();

 private:
  // Instructions that use a value after the access or loop that made it. A use inside a loop counts
  // at the loop's end. Made from the last access back to the first one, so that all values of a
  // buffer take time in the number of its accesses.
  struct ValueUses {
    InstructionIndex last_read = kNone;    // before the first update and the next write
    InstructionIndex next_update = kNone;  // the first update in place, before the next write
    InstructionIndex last_use = kNone;     // the last read or update before the next write
    InstructionIndex next_write = kNone;   // replaces the value

    InstructionIndex next_change() const { return next_update != kNone ? next_update : next_write; }
  };

  // How many carried groups a buffer is in, by its role. `inside` counts parameters and roots.
  struct Role {
    int initial = 0;
    int inside = 0;
    int result = 0;
  };

  AccessKind KindOf(AccessIndex access) const { return program_.accesses()[access].kind; }

  LoopIndex LoopOf(AccessIndex access) const {
    return program_.instructions()[program_.accesses()[access].instruction].loop;
  }

  // program_rules.cc
  void MarkLoops();
  void MakeCollectiveWaits();
  void MakeBuffers();
  void DropBuffersBeyondTheRules();
  void DropNegligibleBuffers();
  void MakeAccesses();
  void FindPrefetch();

  // Sets keep_until, keep_until_end and feeds_group for the value that the access makes. `uses` are
  // those of the value.
  void SetKeepUntil(AccessIndex access, const ValueUses& uses, AccessRule& rule) const;

  // AccessRule::copy_until of access `k` of the buffer, a write.
  InstructionIndex CopyUntil(BufferIndex buffer, size_t k) const;

  // The uses by all accesses of a buffer, up to the first write.
  ValueUses UsesByAll(BufferIndex buffer) const;

  // The uses by an access and then by the accesses after it, up to the first write. `later` are the
  // uses by those after it.
  ValueUses UsesFrom(AccessIndex access, const ValueUses& later) const;

  // program_rules_flights.cc
  // Keeps a buffer in HBM if the rules cannot follow one of its flights. The buffer is then in a
  // carried group, is written in the flight, or is not accessed by the start.
  void DropFlightsBeyondTheRules();

  // Sets flight_done, starts_flight and copy_from of the accesses to a buffer.
  void SetFlights(BufferIndex buffer);

  // Sets may_fly and may_fly_written_back of a read that starts a flight. `later` are the buffer's
  // accesses after it, whose keep_until and keep_until_end must be set.
  void SetMayFly(absl::Span<const AccessIndex> later, AccessRule& rule) const;

  // program_rules_groups.cc
  void CountRoles();

  // Keeps the buffers of a group in HBM if the group has a shape that the rules do not know.
  void CheckGroupShape(CarriedGroupIndex group);
  void MakeGroups();
  bool MayBeFast(const CarriedGroup& group) const;
  void SetResultKeepUntil(const CarriedGroup& group, GroupRule& rule) const;

  // True if no access of the buffer is outside of the loop.
  bool LiesInLoop(BufferIndex buffer, LoopIndex loop) const;

  // True if the root is written after the last use of the parameter, so that they can share bytes.
  bool RootFollowsParameter(const CarriedGroup& group) const;

  // The first group whose loop takes over the buffer's value that instruction `made` makes and
  // `changed` changes (kNone: no instruction changes it). kNone if there is no such group.
  CarriedGroupIndex GroupTakingOver(BufferIndex buffer, InstructionIndex made,
                                    InstructionIndex changed) const;

  const Program& program_;
  const GameOptions& options_;
  ProgramRules rules_;
  IndexVector<BufferIndex, double> savings_;  // by buffer
  IndexVector<BufferIndex, Role> roles_;      // by buffer

  // Groups by the buffer of their initial value, ascending.
  IndexVector<BufferIndex, std::vector<CarriedGroupIndex>> groups_from_;

  // By buffer: the end of its live range, with the markers of loops that take over or leave its
  // value.
  IndexVector<BufferIndex, InstructionIndex> live_until_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_PROGRAM_RULES_BUILDER_H_
