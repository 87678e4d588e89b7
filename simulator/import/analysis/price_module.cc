#include "simulator/import/analysis/price_module.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/largest.h"
#include "base/size32.h"
#include "mallocmuzero/v1/program.pb.h"
#include "simulator/core/copy_queue.h"
#include "simulator/core/links.h"
#include "simulator/core/roofline.h"
#include "simulator/import/analysis/collectives.h"
#include "simulator/import/analysis/module_notes.h"
#include "simulator/import/analysis/traffic.h"

namespace mallocmuzero {
namespace {

// Bytes that one execution moves to and from each memory.
struct MemoryBytes {
  int64_t hbm = 0;
  int64_t fast_read = 0;
  int64_t fast_write = 0;
};

class SchedulePricer {
 public:
  SchedulePricer(const AnalyzedModule& analyzed, const v1::Hardware& hardware)
      : analyzed_(analyzed), hardware_(hardware) {}

  ModulePrice Run() && {
    size_t next_priced = 0;
    price_.steps.resize(analyzed_.priced.size());
    FindLinkSteps();
    for (int32_t s = 0; s < analyzed_.schedule.steps.size(); ++s) {
      const Step& step = analyzed_.schedule.steps[s];
      const hlo::Instruction& instruction = analyzed_.schedule.InstructionAt(step);
      if (step.kind == Step::Kind::kInstruction) {
        if (IsAsyncCopyStart(instruction)) StartCopy(step, instruction);
        if (instruction.opcode == hlo::Opcode::kAsyncUpdate) {
          PassOnTicket(step, instruction);
        } else if (IsAsyncDone(instruction.opcode)) {
          FinishCopy(step, instruction);
        }
      }
      ReachCollectives(s);
      if (next_priced < analyzed_.priced.size() && analyzed_.priced[next_priced].step == s) {
        price_.steps[next_priced] = Execute(analyzed_.priced[next_priced]);
        ++next_priced;
      }
    }
    ReachCollectives(Size32(analyzed_.schedule.steps));
    return price_;
  }

 private:
  using StepKey = std::pair<int32_t, hlo::InstructionIndex>;  // instance, instruction

  bool IsFast(const hlo::Shape& shape) const {
    return shape.layout.memory_space == hardware_.fast_memory_space();
  }

  void StartCopy(const Step& step, const hlo::Instruction& start) {
    if (start.cross_program_prefetch_index) return;
    const hlo::Computation& computation = analyzed_.schedule.ComputationOf(step.instance);
    const hlo::Shape& source = computation.instructions[start.operands[0]].shape;
    for (ValueId value : analyzed_.flow.ValuesOf(step.instance, step.instruction)) {
      const HloValue& target = analyzed_.flow.values()[value];
      if (target.copied_from < 0 || target.instruction != step.instruction ||
          target.instance != step.instance || IsFast(*target.shape) == IsFast(source)) {
        continue;
      }
      const CopyDirection direction = IsFast(source) ? CopyDirection::kOut : CopyDirection::kIn;
      tickets_[{step.instance, step.instruction}] =
          queues_.Issue(direction, static_cast<double>(hlo::ShapeByteSize(*target.shape)));
      const bool is_piece = start.opcode == hlo::Opcode::kAsyncStart;
      if (!is_piece || sliced_.insert(analyzed_.flow.StorageOf(value)).second) ++price_.copies;
    }
  }

  // Collects the starts and the waits of asynchronous collectives, in the order of the schedule.
  void FindLinkSteps() {
    google::protobuf::RepeatedPtrField<v1::Collective> collectives;
    for (const AsyncCollective& collective : analyzed_.async_collectives) {
      v1::Collective& added = *collectives.Add();
      added.set_start(collective.start);
      added.set_done(collective.done);
      added.set_cycles(CyclesOfLinks(collective.link_bytes, hardware_));
    }
    link_steps_ = LinkEvents(collectives);
  }

  // Starts the collective that step `s` starts, or waits for the one for which it waits.
  void ReachCollectives(int32_t s) {
    const double wait = links_.Reach(InstructionIndex(s), link_steps_);
    if (wait <= 0) return;
    queues_.Advance(wait * hardware_.hbm_bytes_per_cycle());
    const std::vector<Step>& steps = analyzed_.schedule.steps;
    const double count =
        s < std::ssize(steps)
            ? static_cast<double>(analyzed_.schedule.instances[steps[s].instance].execution_count)
            : 1;
    price_.stall_cycles += count * wait;
    price_.collective_cycles += count * wait;
  }

  // The operand of a done may be an update instead of the start.
  void PassOnTicket(const Step& step, const hlo::Instruction& update) {
    if (update.operands.empty()) return;
    const auto found = tickets_.find(StepKey{step.instance, update.operands[0]});
    if (found == tickets_.end()) return;
    const CopyTicket ticket = found->second;
    tickets_[{step.instance, step.instruction}] = ticket;
  }

  void FinishCopy(const Step& step, const hlo::Instruction& done) {
    if (done.operands.empty()) return;
    const auto ticket = tickets_.find(StepKey{step.instance, done.operands[0]});
    if (ticket == tickets_.end()) return;
    const double count =
        static_cast<double>(analyzed_.schedule.instances[step.instance].execution_count);
    const double wait = queues_.WaitFor(ticket->second);
    price_.stall_cycles += count * wait / hardware_.hbm_bytes_per_cycle();
    links_.Advance(wait / hardware_.hbm_bytes_per_cycle());
  }

  MemoryBytes BytesOf(const PricedStep& priced) const {
    MemoryBytes bytes{.hbm = priced.traffic.pointer_bytes};
    if (IsMarker(analyzed_.KindOf(priced))) return bytes;
    const Step& step = analyzed_.StepOf(priced);
    const hlo::Computation& computation = analyzed_.schedule.ComputationOf(step.instance);
    const auto add = [&](const hlo::Shape& shape, const std::vector<int64_t>& leaf_bytes,
                         int64_t& fast) {
      size_t leaf = 0;
      hlo::ForEachLeaf(shape, [&](absl::Span<const int32_t>, const hlo::Shape& array) {
        if (IsFast(array)) fast = SaturatingAdd(fast, leaf_bytes[leaf]);
        if (array.layout.memory_space == 0) {
          bytes.hbm = SaturatingAdd(bytes.hbm, leaf_bytes[leaf]);
        }
        ++leaf;
      });
    };
    for (size_t i = 0; i < priced.instruction->operands.size(); ++i) {
      add(computation.instructions[priced.instruction->operands[i]].shape,
          priced.traffic.operand_bytes[i], bytes.fast_read);
    }
    add(priced.instruction->shape, priced.traffic.output_bytes, bytes.fast_write);
    return bytes;
  }

  // Counts the flops of each instruction once, however often its computation is inlined.
  double FlopsOf(const PricedStep& priced) {
    const auto [known, is_new] = flops_.try_emplace(priced.instruction);
    if (is_new) {
      const Step& step = analyzed_.StepOf(priced);
      known->second = CountFlops(analyzed_.module, analyzed_.schedule.ComputationOf(step.instance),
                                 *priced.instruction);
    }
    return known->second;
  }

  double Roofline(const PricedStep& priced, const MemoryBytes& bytes) {
    const MovedBytes moved = {.hbm = static_cast<double>(bytes.hbm),
                              .fast_read = static_cast<double>(bytes.fast_read),
                              .fast_written = static_cast<double>(bytes.fast_write)};
    return std::max({CyclesToCompute(FlopsOf(priced), hardware_), CyclesToMove(moved, hardware_),
                     CyclesOfLinks(priced.link_bytes, hardware_)});
  }

  StepPrice Execute(const PricedStep& priced) {
    if (IsMarker(analyzed_.KindOf(priced))) return {};
    const MemoryBytes bytes = BytesOf(priced);
    const auto count = static_cast<double>(priced.execution_count);
    const bool estimated = priced.instruction->estimated_cycles.has_value();
    const double cycles = estimated ? static_cast<double>(*priced.instruction->estimated_cycles)
                                    : Roofline(priced, bytes);
    const auto hbm = static_cast<double>(bytes.hbm);
    const StepPrice step = {.cycles = count * cycles,
                            .bytes_accessed = count * (hbm + static_cast<double>(bytes.fast_read) +
                                                       static_cast<double>(bytes.fast_write)),
                            .hbm_bytes = count * hbm};
    (estimated ? price_.estimated_cycles : price_.modelled_cycles) += step.cycles;
    if (!estimated && priced.link_bytes > 0) price_.collective_cycles += step.cycles;
    price_.hbm_bytes += step.hbm_bytes;
    price_.bytes_accessed += step.bytes_accessed;
    queues_.Advance(std::max(0.0, cycles * hardware_.hbm_bytes_per_cycle() - hbm));
    links_.Advance(cycles);
    return step;
  }

  const AnalyzedModule& analyzed_;
  const v1::Hardware& hardware_;
  ModulePrice price_;
  CopyQueues queues_;
  std::vector<LinkEvent> link_steps_;  // points are steps of the schedule
  Links links_;
  absl::flat_hash_map<StepKey, CopyTicket> tickets_;
  absl::flat_hash_set<int32_t> sliced_;  // the storages into which pieces are copied
  absl::flat_hash_map<const hlo::Instruction*, double> flops_;
};

void ListCostliest(const AnalyzedModule& analyzed, const ModulePrice& price, int listed,
                   v1::PriceReport& report) {
  std::vector<double> cycles;
  for (const StepPrice& step : price.steps) cycles.push_back(step.cycles);
  for (const size_t k : Largest(cycles, listed)) {
    const PricedStep& priced = analyzed.priced[k];
    const StepPrice& step = price.steps[k];
    v1::PriceReport::CostlyInstruction& entry = *report.add_costliest();
    entry.set_name(std::string(priced.instruction->name));
    entry.set_opcode(std::string(priced.instruction->opcode_text));
    entry.set_op_name(std::string(priced.instruction->op_name));
    entry.set_executions(static_cast<double>(priced.execution_count));
    entry.set_cycles(step.cycles);
    entry.set_bytes_accessed(step.bytes_accessed);
    if (step.bytes_accessed > 0) entry.set_hbm_share(step.hbm_bytes / step.bytes_accessed);
  }
}

}  // namespace

ModulePrice PriceSchedule(const AnalyzedModule& analyzed, const v1::Hardware& hardware) {
  return SchedulePricer(analyzed, hardware).Run();
}

absl::StatusOr<v1::PriceReport> PriceModule(const std::string& path, const v1::Hardware& hardware,
                                            int listed) {
  absl::StatusOr<hlo::Module> module = ReadModule(path);
  if (!module.ok()) return module.status();
  absl::StatusOr<std::unique_ptr<AnalyzedModule>> analyzed =
      AnalyzeModule(*std::move(module), path, InPlaceHints());
  if (!analyzed.ok()) return analyzed.status();
  const ModulePrice price = PriceSchedule(**analyzed, hardware);
  v1::PriceReport report;
  report.set_name(std::string((*analyzed)->module.name));
  report.set_hardware(hardware.name());
  report.set_total_cycles(price.total_cycles());
  report.set_estimated_cycles(price.estimated_cycles);
  report.set_modelled_cycles(price.modelled_cycles);
  report.set_stall_cycles(price.stall_cycles);
  report.set_seconds(price.total_cycles() / hardware.clock_hz());
  report.set_bytes_accessed(price.bytes_accessed);
  report.set_hbm_share(price.bytes_accessed > 0 ? price.hbm_bytes / price.bytes_accessed : 0);
  report.set_collective_cycles(price.collective_cycles);
  report.set_instructions((*analyzed)->priced.size());
  report.set_copies(price.copies);
  ListCostliest(**analyzed, price, listed, report);
  for (const std::string& note : ModuleNotes(**analyzed, hardware)) report.add_notes(note);
  return report;
}

}  // namespace mallocmuzero
