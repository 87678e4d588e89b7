// The numbers of observations that no decision changes.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "env/keep_value.h"
#include "env/observation.h"
#include "env/observation_scale.h"
#include "simulator/core/savings.h"
#include "simulator/core/simulate.h"

namespace mallocmuzero {

using namespace observation;  // NOLINT(google-build-using-namespace): names of features only

class ObservationTables::Builder {
 public:
  explicit Builder(ObservationTables& tables)
      : tables_(tables),
        rules_(*tables.rules_),
        program_(rules_.program()),
        capacity_(static_cast<double>(program_.hardware().fast_memory_bytes())),
        savings_(FindSavings(program_)),
        last_savings_(FindLastSavings(program_)) {}

  void Build() {
    MakeInstructions();
    MakeCandidates();
    MakeCarried();
    CountTensors();
    tables_.accesses_.resize(program_.access_count());
    tables_.previous_access_.resize(program_.access_count(), kNone);
    for (const BufferIndex b : program_.buffers().indices()) MakeBuffer(b);
    for (const AccessIndex a : program_.accesses().indices()) MakeAccess(a);
    MakeKeepValues();
    MakeProgram();
  }

 private:
  static constexpr int32_t kNone = ProgramRules::kNone;
  static constexpr double kDistanceBits = 16;

  void MakeInstructions() {
    const InstructionIndex count = program_.instructions().end_index();
    tables_.idle_before_.assign(count + 1, 0);
    for (InstructionIndex i = 0; i < count; ++i) {
      const double cycles = program_.latency().Cycles(i, 0);
      tables_.idle_before_[i + 1] = tables_.idle_before_[i] + IdleBytes(program_, i, 0, cycles);
    }
    for (uint32_t d = 0; d <= program_.instruction_count(); ++d) {
      tables_.distances_.push_back(CountScale(d, kDistanceBits));
    }
  }

  void MakeCandidates() {
    for (const AccessIndex a : program_.accesses().indices()) {
      if (!rules_.buffer(program_.accesses()[a].buffer).stays_in_hbm) {
        tables_.candidates_.push_back(a);
      }
      tables_.first_candidate_.push_back(tables_.candidates_.size());
    }
  }

  void MakeCarried() {
    carried_.assign(program_.buffer_count(), 0);
    for (const CarriedGroupIndex g : program_.carried_groups().indices()) {
      if (!rules_.group(g).may_be_fast) continue;
      const CarriedGroup& group = program_.carried_groups()[g];
      for (const BufferIndex b :
           {group.initial_buffer, group.parameter_buffer, group.root_buffer, group.result_buffer}) {
        carried_[b] = 1;
      }
    }
  }

  void CountTensors() {
    tensors_.assign(program_.buffer_count(), 0);
    for (const v1::Tensor& tensor : program_.proto().tensors()) {
      ++tensors_[BufferIndex(tensor.buffer())];
    }
  }

  InstructionIndex InstructionOf(AccessIndex access) const {
    return program_.accesses()[access].instruction;
  }

  // Bytes that the instructions in [from, to) leave to copies, compared with the buffer.
  float Gap(InstructionIndex from, InstructionIndex to, BufferIndex buffer) const {
    if (from >= to) return 0;
    return EnoughScale(tables_.idle_before_[to] - tables_.idle_before_[from],
                       static_cast<double>(program_.buffers()[buffer].bytes));
  }

  // Features that relate the accesses of a buffer to one another.
  void MakeBuffer(BufferIndex b) {
    const auto accesses = program_.AccessesOfBuffer(b);
    double later = 0;
    for (size_t k = accesses.size(); k-- > 0;) {
      AccessRow& row = tables_.accesses_[accesses[k]];
      const InstructionIndex now = InstructionOf(accesses[k]);
      const bool first = k == 0;
      const bool last = k + 1 == accesses.size();
      const InstructionIndex before =
          first ? rules_.buffer(b).available - 1 : InstructionOf(accesses[k - 1]);
      const InstructionIndex after =
          last ? program_.instructions().end_index() : InstructionOf(accesses[k + 1]);
      row[kIsFirst] = first ? 1 : 0;
      row[kIsLast] = last ? 1 : 0;
      row[kSinceLast] = first ? 0 : tables_.distances_[now - before];
      row[kUntilNext] = last ? 0 : tables_.distances_[after - now];
      row[kGapBefore] = Gap(before + 1, now, b);
      row[kGapAfter] = Gap(now + 1, after, b);
      row[kRemaining] = CountScale(static_cast<double>(accesses.size() - 1 - k), 10);
      row[kSavingLater] = CyclesScale(rules_.ShareOfAllHbm(later));
      if (!first) tables_.previous_access_[accesses[k]] = accesses[k - 1];
      later += std::max(0.0, savings_[accesses[k]]);
      if (program_.accesses()[accesses[k]].kind == AccessKind::kWrite) later = 0;
    }
  }

  void MakeAccess(AccessIndex a) {
    const Access& access = program_.accesses()[a];
    const Buffer& buffer = program_.buffers()[access.buffer];
    const ProgramRules::AccessRule& rule = rules_.access(a);
    const auto bytes = static_cast<double>(buffer.bytes);
    AccessRow& row = tables_.accesses_[a];
    row[kIsRead] = access.kind == AccessKind::kRead ? 1 : 0;
    row[kIsWrite] = access.kind == AccessKind::kWrite ? 1 : 0;
    row[kIsUpdate] = access.kind == AccessKind::kUpdate ? 1 : 0;
    row[kBytes] = SizeScale(bytes / capacity_);
    row[kBytesLinear] = Clamp(bytes / capacity_);
    row[kTraffic] = Clamp(static_cast<double>(access.bytes_accessed) / bytes);
    row[kSaving] = CyclesScale(rules_.ShareOfAllHbm(savings_[a]));
    row[kSavingLast] = CyclesScale(rules_.ShareOfAllHbm(last_savings_[a]));
    row[kLiveIn] = buffer.live_in ? 1 : 0;
    row[kLiveOut] = buffer.live_out ? 1 : 0;
    if (access.kind != AccessKind::kRead) {
      row[kMustReachHbm] = rule.keep_until == kNone ? 1 : 0;
      const int32_t span = rule.keep_until - access.instruction;
      if (rule.keep_until != kNone) row[kKeepSpan] = CountScale(span, 16);
    }
    row[kTensors] = CountScale(std::max(0, tensors_[access.buffer] - 1), 8);
    row[kCarried] = carried_[access.buffer] != 0 ? 1 : 0;
    row[kFeedsGroup] = rule.feeds_group != kNone ? 1 : 0;
    row[kMayTakeOver] = rule.take_over != kNone ? 1 : 0;
    row[kPrefetched] = rules_.UsesPrefetch(a) ? 1 : 0;
    AddInstructionFacts(access, row);
  }

  void AddInstructionFacts(const Access& access, AccessRow& row) const {
    const Instruction& instruction = program_.instructions()[access.instruction];
    const double cycles =
        program_.latency().Cycles(access.instruction, 0) * instruction.execution_count;
    row[kInstructionCycles] = CyclesScale(rules_.ShareOfAllHbm(cycles));
    row[kExecutions] = CountScale(std::max(0.0, instruction.execution_count - 1), 20);
    int depth = 0;
    for (LoopIndex loop = instruction.loop; loop != kNone; loop = program_.loops()[loop].parent) {
      ++depth;
    }
    row[kLoopDepth] = Clamp(depth / 4.0);
    row[kFromOutside] = instruction.loop != rules_.buffer(access.buffer).defining_loop ? 1 : 0;
    row[kSiblings] = CountScale(instruction.access_count, 6);
  }

  void MakeKeepValues() {
    const IndexVector<AccessIndex, KeepValue> values = FindKeepValues(rules_, savings_);
    for (const AccessIndex a : program_.accesses().indices()) {
      if (!values[a].exists) continue;
      const float density =
          values[a].savings_density > 0 ? RatioScale(values[a].savings_density, 12) : -1;
      const float occupied = Clamp(values[a].occupied);
      tables_.accesses_[a][kHoldPrice] = density;
      tables_.accesses_[a][kHoldLoad] = occupied;
      AccessRow& before = tables_.accesses_[tables_.previous_access_[a]];
      before[kNextHoldPrice] = density;
      before[kNextHoldLoad] = occupied;
    }
  }

  float ReturnOf(double cycles) const {
    return Clamp(rules_.ShareOfAllHbm(rules_.all_hbm_cycles() - cycles));
  }

  void MakeProgram() {
    const v1::Hardware& hardware = program_.hardware();
    const double hbm_rate = hardware.hbm_bytes_per_cycle();
    auto& row = tables_.program_;
    const Baseline* baseline = program_.baseline();
    if (baseline != nullptr && baseline->mapped_cycles > 0) {
      row[kDefaultReturn] = ReturnOf(baseline->mapped_cycles);
    }
    row[kAllFastReturn] = ReturnOf(AllFastCycles(program_));
    row[kInstructions] = CountScale(program_.instruction_count(), 16);
    row[kAccesses] = CountScale(program_.access_count(), 18);
    double bytes = 0;
    for (const Buffer& buffer : program_.buffers()) bytes += static_cast<double>(buffer.bytes);
    row[kBufferBytes] = CountScale(bytes / capacity_, 12);
    const Traffic traffic = MeasureTraffic(program_, AllHbmMapping(program_));
    row[kTrafficTimes] = CountScale(traffic.bytes_accessed / capacity_, 20);
    double in_loops = 0;
    for (const InstructionIndex i : program_.instructions().indices()) {
      const Instruction& instruction = program_.instructions()[i];
      if (instruction.loop == kNone) continue;
      in_loops += program_.latency().Cycles(i, 0) * instruction.execution_count;
    }
    row[kLoopShare] = Clamp(rules_.ShareOfAllHbm(in_loops));
    row[kFillTime] = CyclesScale(rules_.ShareOfAllHbm(capacity_ / hbm_rate));
    row[kReadRate] = RatioScale(hardware.fast_memory_read_bytes_per_cycle() / hbm_rate, 8);
    row[kWriteRate] = RatioScale(hardware.fast_memory_write_bytes_per_cycle() / hbm_rate, 8);
    row[kFlopsPerByte] = RatioScale(hardware.flops_per_cycle() / hbm_rate, 14);
  }

  ObservationTables& tables_;
  const ProgramRules& rules_;
  const Program& program_;
  const double capacity_;
  // By access, cycles: as the first and as the last of its instruction in fast memory.
  const IndexVector<AccessIndex, double> savings_;
  const IndexVector<AccessIndex, double> last_savings_;
  IndexVector<BufferIndex, uint8_t> carried_;
  IndexVector<BufferIndex, int> tensors_;
};

ObservationTables::ObservationTables(const ProgramRules& rules) : rules_(&rules) {
  Builder(*this).Build();
}

}  // namespace mallocmuzero
