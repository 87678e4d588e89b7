// Follows the versions of every buffer through HBM, fast memory and the copies between them.

#ifndef MALLOCMUZERO_SIMULATOR_VALIDATE_VALUE_WALK_H_
#define MALLOCMUZERO_SIMULATOR_VALIDATE_VALUE_WALK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/validate/carried_place.h"
#include "simulator/validate/report.h"

namespace mallocmuzero::validate {

// Checks kNoInterval to kLiveOutNotInHbm. The mapping must be well formed (kAccessCount to
// kIntervalOrder).
class ValueWalk {
 public:
  // All arguments must outlive the walk.
  ValueWalk(const Program& program, const Mapping& mapping, Report& report);

  // Walks the whole schedule and adds violations to the report.
  void Run();

 private:
  // A number for the value that one write made; every write makes a new version.
  using Version = uint64_t;
  static constexpr Version kNone = 0;

  struct BufferState {
    Version current = kNone;  // the version that the program must see
    Version hbm = kNone;      // the version that HBM holds
  };
  struct IntervalState {
    Version content = kNone;
    Version inbound = kNone;   // the version on its way from HBM
    Version outbound = kNone;  // the version on its way to HBM
  };

  // A group's value passes from one buffer to another at a marker.
  struct Handover {
    CarriedGroupIndex group = 0;
    BufferIndex from = 0;
    BufferIndex to = 0;
    InstructionIndex marker = 0;  // the instruction at which `from` has the value
    Version value = kNone;        // that value
    bool in_fast_memory = false;  // else in HBM
    bool well_placed = false;     // if false, the geometry has reported it
    size_t from_interval = 0;     // set if the group is well placed in fast memory
    size_t to_interval = 0;       // set if the group is well placed in fast memory
  };
  enum class Crossing : uint8_t { kEntry, kBackEdge, kExit };

  void RunRange(InstructionIndex first, InstructionIndex end);
  void RunLoop(LoopIndex loop);

  // Performs what happens just before an instruction: intervals begin, copies queued earlier are
  // waited for, copies are queued, and those that end here, too, are waited for.
  void RunCopiesBefore(InstructionIndex instruction);
  void QueueCopyIn(size_t interval);
  void QueueCopyOut(size_t interval);
  void FinishCopyIn(size_t interval);
  void FinishCopyOut(size_t interval);

  // The intervals of the access's buffer that contain its instruction, ascending.
  std::vector<size_t> IntervalsAt(const Access& access) const;

  void RunAccess(AccessIndex access);
  void ReadInFastMemory(AccessIndex access);
  void WriteInFastMemory(AccessIndex access);
  void ReadInHbm(AccessIndex access);
  void WriteInHbm(AccessIndex access);

  std::vector<Handover> HandoversOf(LoopIndex loop, Crossing crossing) const;
  void CheckHandover(const Handover& handover);
  void Cross(LoopIndex loop, Crossing crossing);

  // Empties the intervals that do not stay for the whole loop.
  void EndPass(const Loop& loop);

  void CheckLiveOuts();

  Version NewVersion() { return ++last_version_; }
  bool HbmIsCurrent(BufferIndex buffer) const {
    return buffers_[buffer].hbm == buffers_[buffer].current;
  }

  // The state of an interval that the caller fills or copies.
  IntervalState& StateToSet(size_t interval);

  // True if a copy of the buffer to HBM is in flight.
  bool WriteBackInFlight(BufferIndex buffer) const;

  // Continues after a reported fault as if the buffer's value were current everywhere.
  void AssumeCurrentEverywhere(BufferIndex buffer);

  // Reports a violation in the current pass. The subject is an index or a number.
  template <typename Subject>
  void Complain(Rule rule, Subject subject, const std::string& message) {
    report_.Add(rule, subject, absl::StrCat(message, PassText()));
  }

  // Text such as ", in a later pass of loop 0 ('while.2')"; empty in first passes.
  std::string PassText() const;

  const Program& program_;
  const Mapping& mapping_;
  Report& report_;
  Version last_version_ = kNone;
  IndexVector<BufferIndex, BufferState> buffers_;
  std::vector<IntervalState> intervals_;

  // The intervals whose state may be another than the empty one, in any order, and for each
  // interval whether it is one of them.
  std::vector<size_t> in_use_;
  std::vector<bool> is_in_use_;

  // The intervals of each buffer, and those that begin or copy just before an instruction (the last
  // entry is for the end of the program). Both are ascending.
  const IntervalsOfBuffers intervals_of_;
  IndexVector<InstructionIndex, std::vector<size_t>> events_before_;

  IndexVector<InstructionIndex, LoopIndex> loop_at_;  // for each begin marker
  IndexVector<LoopIndex, std::vector<CarriedGroupIndex>> groups_of_;

  std::vector<LoopIndex> later_passes_;  // loops whose second pass is running, outermost first
  int depth_ = 0;                        // number of loops around the current instruction
};

}  // namespace mallocmuzero::validate

#endif  // MALLOCMUZERO_SIMULATOR_VALIDATE_VALUE_WALK_H_
