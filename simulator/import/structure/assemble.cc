#include "simulator/import/structure/assemble.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/size32.h"
#include "base/union_find.h"
#include "simulator/core/program_types.h"
#include "simulator/import/analysis/collectives.h"
#include "simulator/import/analysis/live_range.h"
#include "simulator/import/analysis/traffic.h"
#include "simulator/import/structure/source.h"
#include "simulator/import/structure/touches.h"

namespace mallocmuzero {
namespace {

class Assembler {
 public:
  Assembler(const AnalyzedModule& source, const v1::Hardware& hardware)
      : source_(source), flow_(source.flow), hardware_(hardware) {}

  Assembly Run() && {
    *program().mutable_hardware() = hardware_;
    Touches found = FindTouches(source_, hardware_);
    storages_ = std::move(found.storages);
    touches_ = std::move(found.touches);
    live_ranges_ = ComputeLiveRanges(source_);
    PinWhatIsNotModelled();
    NumberBuffers();
    AddInstructions();
    AddTensors();
    AddLoops();
    AddCarriedGroups();
    AddCollectives();
    AddSource(source_, assembly_);
    for (const auto& [opcode, count] : source_.module.unknown_opcodes) {
      program().add_unknown_opcodes(std::string(opcode));
    }
    return std::move(assembly_);
  }

 private:
  v1::Program& program() { return assembly_.program; }
  StorageInfo& StorageOf(ValueId value) { return storages_[flow_.StorageOf(value)]; }

  // Pins to HBM the arrays of asynchronous operations other than moves between memories, the
  // results of conditionals, and the accesses that exceed the 64 of an instruction. Collectives
  // keep some of their arrays free.
  void PinWhatIsNotModelled() {
    PinResultsOfConditionals();
    int async_count = 0;
    for (const Step& step : source_.schedule.steps) {
      const hlo::Instruction& instruction = source_.schedule.InstructionAt(step);
      if (step.kind != Step::Kind::kInstruction) continue;
      if (!IsAsyncStart(instruction.opcode) && !BindsOperands(instruction)) continue;
      if (IsAsyncCollectiveStart(instruction)) continue;
      // An update belongs to a start that counts, and an offloaded collective takes time.
      if (IsAsyncStart(instruction.opcode) &&
          !StartsOffloadedCollective(source_.module, instruction)) {
        ++async_count;
      }
      for (hlo::InstructionIndex operand : instruction.operands) {
        for (ValueId value : flow_.ValuesOf(step.instance, operand)) StorageOf(value).pinned = true;
      }
      for (ValueId value : flow_.ValuesOf(step.instance, step.instruction)) {
        StorageOf(value).pinned = true;
      }
    }
    if (async_count > 0) {
      program().add_notes(absl::StrCat(
          async_count, " asynchronous operations take no time and keep their arrays in HBM"));
    }
    PinArraysOfCollectives();
    for (size_t i = 0; i < touches_.size(); ++i) DropSmallestTouches(i);
  }

  // Pins arrays of asynchronous collectives: those that a loop carries, those that the start or the
  // done does not access, and all if these are not in the same loop. No access says in which memory
  // they are meanwhile, or in which pass.
  void PinArraysOfCollectives() {
    std::vector<bool> is_carried(storages_.size(), false);
    for (const CarriedValue& carried : flow_.carried()) {
      for (const int32_t s : GroupStorages(carried)) is_carried[s] = true;
    }
    int pinned_count = 0;
    for (const AsyncCollective& collective : source_.async_collectives) {
      const std::vector<int32_t> at_start = TouchedAt(collective.start);
      const std::vector<int32_t> at_done = TouchedAt(collective.done);
      const bool in_one_loop = LoopAt(collective.start) == LoopAt(collective.done);
      bool pins = false;
      for (const int32_t s : collective.storages) {
        if (!storages_[s].placeable) continue;
        const bool is_held = in_one_loop && !is_carried[s] &&
                             std::binary_search(at_start.begin(), at_start.end(), s) &&
                             std::binary_search(at_done.begin(), at_done.end(), s);
        if (is_held) continue;
        storages_[s].pinned = true;
        pins = true;
      }
      if (pins) ++pinned_count;
    }
    if (pinned_count > 0) {
      program().add_notes(
          absl::StrCat(pinned_count, " asynchronous collectives keep arrays in HBM"));
    }
  }

  // The innermost loop around that step of the schedule; -1 if there is none.
  int32_t LoopAt(int32_t step) const {
    const Schedule& schedule = source_.schedule;
    if (step >= schedule.steps.size()) return -1;
    return schedule.instances[schedule.steps[step].instance].loop;
  }

  // The storages that the instruction at that step of the schedule accesses, ascending.
  std::vector<int32_t> TouchedAt(int32_t step) const {
    std::vector<int32_t> touched;
    if (step >= source_.schedule.steps.size()) return touched;
    const int32_t i = source_.priced_at_or_after[step];
    if (i >= source_.priced.size() || source_.priced[i].step != step) return touched;
    for (const Touch& touch : touches_[i]) touched.push_back(touch.storage);
    std::sort(touched.begin(), touched.end());
    return touched;
  }

  // A mapping that keeps in fast memory what only the last branch writes would leave the result of
  // one branch in fast memory and that of another in HBM.
  void PinResultsOfConditionals() {
    for (const ScheduledCall& call : source_.schedule.calls) {
      const hlo::Computation& computation = source_.schedule.ComputationOf(call.instance);
      if (computation.instructions[call.instruction].opcode != hlo::Opcode::kConditional) continue;
      for (ValueId value : flow_.ValuesOf(call.instance, call.instruction)) {
        StorageOf(value).pinned = true;
      }
    }
  }

  void DropSmallestTouches(size_t priced) {
    std::vector<Touch>& touches = touches_[priced];
    if (touches.size() <= kMaxAccessesPerInstruction) return;
    std::vector<int64_t> sizes;
    for (const Touch& touch : touches) sizes.push_back(touch.bytes_accessed);
    std::nth_element(sizes.begin(), sizes.begin() + kMaxAccessesPerInstruction, sizes.end(),
                     std::greater<>());
    const int64_t largest_dropped = sizes[kMaxAccessesPerInstruction];
    size_t left_to_drop = touches.size() - kMaxAccessesPerInstruction;
    const size_t dropped = left_to_drop;
    std::vector<Touch> kept;  // the last one first, as the last of equal ones are dropped
    for (size_t i = touches.size(); i-- > 0;) {
      Touch& touch = touches[i];
      if (left_to_drop == 0 || touch.bytes_accessed > largest_dropped) {
        kept.push_back(std::move(touch));
        continue;
      }
      --left_to_drop;
      storages_[touch.storage].pinned = true;
      int64_t& fixed = fixed_bytes_[priced];
      fixed = SaturatingAdd(fixed, touch.bytes_accessed);
    }
    std::reverse(kept.begin(), kept.end());
    touches = std::move(kept);
    program().add_notes(absl::StrCat("%", std::string(source_.priced[priced].instruction->name),
                                     " has more than ", kMaxAccessesPerInstruction,
                                     " accesses: the ", dropped, " smallest stay in HBM"));
  }

  // The storages that become buffers. A placeable storage does if some instruction touches it, or
  // if a loop carries it together with one that becomes a buffer. Pins the members of groups that
  // have a storage which is not placeable.
  std::vector<bool> FindBuffers() {
    UnionFind carried_together(storages_.size());
    for (const CarriedValue& carried : flow_.carried()) {
      const auto members = GroupStorages(carried);
      const bool placeable = std::all_of(members.begin(), members.end(),
                                         [&](int32_t s) { return storages_[s].placeable; });
      for (const int32_t s : members) {
        if (placeable) {
          carried_together.Union(members[0], s);
        } else {
          storages_[s].pinned = true;
        }
      }
    }
    std::vector<bool> has_touched(storages_.size());  // by the first storage of a set
    for (int32_t s = 0; s < storages_.size(); ++s) {
      if (storages_[s].touched && storages_[s].placeable) {
        has_touched[carried_together.Find(s)] = true;
      }
    }
    std::vector<bool> wanted;
    for (int32_t s = 0; s < storages_.size(); ++s) {
      wanted.push_back(has_touched[carried_together.Find(s)]);
    }
    return wanted;
  }

  void NumberBuffers() {
    const std::vector<bool> wanted = FindBuffers();
    std::vector<int32_t> order;
    for (int32_t s = 0; s < storages_.size(); ++s) {
      if (wanted[s]) order.push_back(s);
    }
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return live_ranges_[a].first < live_ranges_[b].first;
    });
    assembly_.buffer_of_storage.assign(storages_.size(), -1);
    for (int32_t s : order) {
      assembly_.buffer_of_storage[s] = program().buffers_size();
      const LiveRange& range = live_ranges_[s];
      v1::Buffer& buffer = *program().add_buffers();
      buffer.set_bytes(storages_[s].bytes);
      buffer.set_first(range.first);
      buffer.set_last(range.last);
      buffer.set_live_in(range.live_in);
      buffer.set_live_out(range.live_out);
      buffer.set_pinned_to_hbm(storages_[s].pinned);
    }
  }

  std::array<int32_t, 4> GroupStorages(const CarriedValue& carried) const {
    return {flow_.StorageOf(carried.initial), flow_.StorageOf(carried.parameter),
            flow_.StorageOf(carried.root), flow_.StorageOf(carried.result)};
  }

  void AddInstructions() {
    for (size_t i = 0; i < source_.priced.size(); ++i) {
      const PricedStep& priced = source_.priced[i];
      const Step& step = source_.StepOf(priced);
      v1::Instruction& instruction = *program().add_instructions();
      instruction.set_name(std::string(priced.instruction->name));
      instruction.set_opcode(std::string(priced.instruction->opcode_text));
      instruction.set_op_name(std::string(priced.instruction->op_name));
      instruction.set_execution_count(priced.execution_count);
      if (priced.loop >= 0) instruction.set_loop(priced.loop);
      instruction.set_first_access(program().accesses_size());
      if (step.kind == Step::Kind::kLoopBegin) instruction.set_kind(v1::Instruction::LOOP_BEGIN);
      if (step.kind == Step::Kind::kLoopEnd) instruction.set_kind(v1::Instruction::LOOP_END);
      if (step.kind != Step::Kind::kInstruction) continue;
      instruction.set_kind(priced.instruction->estimated_cycles ? v1::Instruction::ESTIMATED
                                                                : v1::Instruction::MODELLED);
      instruction.set_fixed_hbm_bytes(SaturatingAdd(priced.traffic.pointer_bytes, fixed_bytes_[i]));
      AddAccesses(i, instruction);
    }
  }

  void AddAccesses(size_t priced, v1::Instruction& instruction) {
    for (Touch& touch : touches_[priced]) {
      v1::Access& access = *program().add_accesses();
      access.set_instruction(priced);
      access.set_buffer(assembly_.buffer_of_storage[touch.storage]);
      access.set_kind(!touch.writes  ? v1::Access::READ
                      : !touch.reads ? v1::Access::WRITE
                                     : v1::Access::UPDATE);
      access.set_bytes(touch.bytes);
      access.set_bytes_accessed(touch.bytes_accessed);
      for (v1::Position& position : touch.positions) *access.add_positions() = std::move(position);
    }
    instruction.set_access_count(touches_[priced].size());
  }

  void AddTensors() {
    std::vector<hlo::ShapeIndex> leaves;
    for (ValueId id = 0; id < flow_.values().size(); ++id) {
      const HloValue& value = flow_.values()[id];
      const hlo::Instruction& definition =
          source_.schedule.ComputationOf(value.instance).instructions[value.instruction];
      // The values of one instruction come one after the other, in the order of its leaves.
      if (value.leaf == 0) leaves = hlo::LeafIndices(definition.shape);
      const int32_t buffer = assembly_.buffer_of_storage[flow_.StorageOf(id)];
      const bool is_start = IsAsyncStart(definition.opcode) && !StatesItsArrays(definition);
      if (buffer < 0 || is_start || BindsOperands(definition)) continue;
      v1::Tensor& tensor = *program().add_tensors();
      tensor.set_instruction_name(std::string(definition.name));
      const hlo::ShapeIndex& leaf = leaves[value.leaf];
      tensor.mutable_tuple_index()->Add(leaf.begin(), leaf.end());
      tensor.set_shape(hlo::ShapeToString(*value.shape));
      tensor.set_bytes(hlo::ShapeByteSize(*value.shape));
      tensor.set_buffer(buffer);
      v1::Source::Tensor& made = *program().mutable_source()->add_tensors();
      made.set_instance(value.instance);
      if (definition.parameter_number) made.set_parameter(*definition.parameter_number);
    }
  }

  void AddLoops() {
    int unknown = 0;
    for (const ScheduledLoop& loop : source_.schedule.loops) {
      v1::Loop& added = *program().add_loops();
      const hlo::Instruction& instruction =
          source_.schedule.ComputationOf(loop.instance).instructions[loop.instruction];
      added.set_name(std::string(instruction.name));
      added.set_begin(PricedIndex(source_, loop.begin));
      added.set_end(PricedIndex(source_, loop.end));
      added.set_trip_count(loop.trip_count);
      added.set_trip_count_known(loop.trip_count_known);
      if (loop.parent >= 0) added.set_parent(loop.parent);
      if (!loop.trip_count_known) ++unknown;
    }
    if (unknown > 0) {
      program().add_notes(absl::StrCat(unknown, " loops have no known trip count: ",
                                       kAssumedTripCount, " is assumed, as XLA does"));
    }
  }

  void AddCarriedGroups() {
    for (const CarriedValue& carried : flow_.carried()) {
      const auto members = GroupStorages(carried);
      // Some members may be touched although another member is in a memory that holds no tensors.
      if (std::any_of(members.begin(), members.end(),
                      [&](int32_t s) { return assembly_.buffer_of_storage[s] < 0; })) {
        continue;
      }
      v1::CarriedGroup& group = *program().add_carried_groups();
      const auto buffer = [&](int i) { return assembly_.buffer_of_storage[members[i]]; };
      group.set_loop(carried.loop);
      group.set_initial_buffer(buffer(0));
      group.set_parameter_buffer(buffer(1));
      group.set_root_buffer(buffer(2));
      group.set_result_buffer(buffer(3));
    }
  }

  void AddCollectives() {
    for (const AsyncCollective& collective : source_.async_collectives) {
      const Step& start = source_.schedule.steps[collective.start];
      v1::Collective& added = *program().add_collectives();
      added.set_name(std::string(source_.schedule.InstructionAt(start).name));
      added.set_start(source_.priced_at_or_after[collective.start]);
      added.set_done(collective.done < source_.schedule.steps.size()
                         ? source_.priced_at_or_after[collective.done]
                         : Size32(source_.priced));
      added.set_cycles(CyclesOfLinks(collective.link_bytes, hardware_));
      std::vector<int32_t> buffers;
      for (const int32_t s : collective.storages) {
        const int32_t buffer = assembly_.buffer_of_storage[s];
        if (buffer >= 0 && !storages_[s].pinned) buffers.push_back(buffer);
      }
      std::sort(buffers.begin(), buffers.end());
      for (const int32_t buffer : buffers) added.add_buffers(buffer);
    }
    const bool exchanges =
        std::any_of(source_.priced.begin(), source_.priced.end(),
                    [](const PricedStep& priced) { return priced.link_bytes > 0; });
    // The file of a program of one device does not depend on what is known about links.
    if (!exchanges && source_.async_collectives.empty()) {
      program().mutable_hardware()->clear_link_bytes_per_cycle();
    }
  }

  const AnalyzedModule& source_;
  const Dataflow& flow_;
  const v1::Hardware& hardware_;
  Assembly assembly_;
  std::vector<StorageInfo> storages_;
  std::vector<LiveRange> live_ranges_;       // for each storage
  std::vector<std::vector<Touch>> touches_;  // for each priced step
  absl::flat_hash_map<int32_t, int64_t> fixed_bytes_;
};

}  // namespace

Assembly Assemble(const AnalyzedModule& all_hbm, const v1::Hardware& hardware) {
  return Assembler(all_hbm, hardware).Run();
}

}  // namespace mallocmuzero
