#include "simulator/import/analysis/analyzed_module.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "base/size32.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "simulator/core/field_checks.h"
#include "simulator/hlo/read_module.h"
#include "simulator/import/analysis/collectives.h"

namespace mallocmuzero {
namespace {

using field_checks::kMaxBytes;

// No real program has more flops. The bound keeps sums exact.
constexpr double kMaxFlops = 9007199254740992.0;  // 2^53

bool IsPriced(const hlo::Computation& computation, const hlo::Instruction& instruction) {
  if (instruction.estimated_cycles) return true;
  if (StatesItsArrays(instruction) || EndsStatedCollective(computation, instruction)) return true;
  if (instruction.opcode == hlo::Opcode::kTuple) {
    return hlo::TuplePointerBytes(instruction.shape, kTuplePointerBytes) > 0;
  }
  return !IsForwarding(instruction.opcode) && !IsAsyncStart(instruction.opcode) &&
         !IsAsyncDone(instruction.opcode) && !IsConcatBitcast(instruction);
}

int64_t AllBytes(const ArrayTraffic& traffic) {
  int64_t bytes = traffic.pointer_bytes;
  for (const std::vector<int64_t>& operand : traffic.operand_bytes) {
    for (const int64_t leaf : operand) bytes = SaturatingAdd(bytes, leaf);
  }
  for (const int64_t leaf : traffic.output_bytes) bytes = SaturatingAdd(bytes, leaf);
  return bytes;
}

// Refuses an instruction with more flops or bytes than a program may contain.
absl::Status CheckWork(const AnalyzedModule& analyzed, const hlo::Computation& computation,
                       const PricedStep& priced) {
  const hlo::Instruction& instruction = *priced.instruction;
  const auto error = [&](absl::string_view expected, const auto& found) {
    return absl::InvalidArgumentError(absl::StrCat(analyzed.path, ":", instruction.line, ":1: %",
                                                   instruction.name, ": expected at most ",
                                                   expected, ", found ", found));
  };
  const int64_t bytes = AllBytes(priced.traffic);
  if (bytes > kMaxBytes) return error("2^50 bytes read and written", bytes);
  const double flops = CountFlops(analyzed.module, computation, instruction);
  if (!(flops <= kMaxFlops)) return error("2^53 floating-point operations", flops);
  return absl::OkStatus();
}

// Counts what one execution of a step moves and computes.
absl::Status CountWork(const AnalyzedModule& analyzed, const hlo::Computation& computation,
                       PricedStep& priced) {
  const hlo::Instruction& instruction = *priced.instruction;
  priced.traffic = CountTraffic(analyzed.module, computation, instruction);
  const bool is_async = IsAsyncCollectiveStart(instruction) ||
                        CollectiveFusionOf(analyzed.module, instruction) != CollectiveFusion::kNone;
  if (!is_async) {
    priced.link_bytes = CountLinkBytes(analyzed.module, computation, instruction);
  }
  return CheckWork(analyzed, computation, priced);
}

absl::Status CollectPricedSteps(AnalyzedModule& analyzed) {
  const Schedule& schedule = analyzed.schedule;
  // For each instruction its first step, an index into analyzed.priced. All inlined copies of it do
  // the same work, and the work of a fusion is slow to count.
  absl::flat_hash_map<const hlo::Instruction*, size_t> first_copy;
  for (int32_t s = 0; s < schedule.steps.size(); ++s) {
    analyzed.priced_at_or_after.push_back(Size32(analyzed.priced));
    const Step& step = schedule.steps[s];
    const ComputationInstance& instance = schedule.instances[step.instance];
    PricedStep priced{.step = s, .instruction = &schedule.InstructionAt(step)};
    priced.execution_count = instance.execution_count;
    priced.loop = instance.loop;
    if (step.kind == Step::Kind::kInstruction) {
      const hlo::Computation& computation = schedule.ComputationOf(step.instance);
      if (!IsPriced(computation, *priced.instruction)) continue;
      const auto [first, is_first] =
          first_copy.try_emplace(priced.instruction, analyzed.priced.size());
      if (is_first) {
        MMZ_RETURN_IF_ERROR(CountWork(analyzed, computation, priced));
      } else {
        priced.traffic = analyzed.priced[first->second].traffic;
        priced.link_bytes = analyzed.priced[first->second].link_bytes;
      }
    }
    analyzed.priced.push_back(std::move(priced));
  }
  return absl::OkStatus();
}

void SortAndMakeUnique(std::vector<int32_t>& storages) {
  std::sort(storages.begin(), storages.end());
  storages.erase(std::unique(storages.begin(), storages.end()), storages.end());
}

// Finds the asynchronous collectives of a module, with their starts and dones.
class AsyncCollector {
 public:
  explicit AsyncCollector(AnalyzedModule& analyzed)
      : analyzed_(analyzed), carried_by_(analyzed.schedule.loops.size()) {
    for (const CarriedValue& carried : analyzed.flow.carried()) {
      carried_by_[carried.loop].push_back(carried);
    }
  }

  absl::Status Run() {
    const Schedule& schedule = analyzed_.schedule;
    int32_t next_loop = 0;  // loops are numbered in the order of their begins
    for (int32_t s = 0; s < schedule.steps.size(); ++s) {
      const Step& step = schedule.steps[s];
      const hlo::Instruction& instruction = schedule.InstructionAt(step);
      if (step.kind == Step::Kind::kLoopBegin && !FollowIntoLoop(next_loop++)) {
        return absl::InvalidArgumentError(absl::StrCat(
            analyzed_.path, ":", instruction.line, ":1: %", instruction.name,
            ": expected at most 4 million arrays of asynchronous collectives up to here"));
      }
      if (step.kind == Step::Kind::kInstruction) Visit(s, step, instruction);
    }
    for (AsyncCollective& collective : analyzed_.async_collectives) {
      SortAndMakeUnique(collective.storages);
    }
    return absl::OkStatus();
  }

 private:
  // The instance, which is -1 for a stated channel, and the channel.
  using Channel = std::pair<int32_t, absl::string_view>;

  static constexpr size_t kMostArraysInFlight = 4'000'000;

  void Visit(int32_t s, const Step& step, const hlo::Instruction& instruction) {
    const hlo::Computation& computation = analyzed_.schedule.ComputationOf(step.instance);
    if (instruction.opcode == hlo::Opcode::kFusion) {
      VisitFusion(s, step, instruction);
    } else if (const hlo::Instruction* start =
                   StartOfCollectiveAt(analyzed_.module, computation, instruction)) {
      started_[{step.instance, step.instruction}] = Start(s, step, *start);
    } else if (IsAsyncDone(instruction.opcode) && !instruction.operands.empty()) {
      VisitDone(s, step, instruction);
    }
  }

  // Step `s` begins the collective of `start`. Its operands are those of the step's instruction.
  size_t Start(int32_t s, const Step& step, const hlo::Instruction& start) {
    const hlo::Computation& computation = analyzed_.schedule.ComputationOf(step.instance);
    AsyncCollective& started = analyzed_.async_collectives.emplace_back();
    started.start = s;
    started.done = Size32(analyzed_.schedule.steps);
    started.link_bytes = CountLinkBytes(analyzed_.module, computation, start);
    const auto add = [&](hlo::InstructionIndex index) {
      for (const ValueId value : analyzed_.flow.ValuesOf(step.instance, index)) {
        started.storages.push_back(analyzed_.flow.StorageOf(value));
      }
    };
    for (const hlo::InstructionIndex operand :
         computation.instructions[step.instruction].operands) {
      add(operand);
    }
    add(step.instruction);
    return analyzed_.async_collectives.size() - 1;
  }

  void VisitDone(int32_t s, const Step& step, const hlo::Instruction& instruction) {
    const auto started = started_.find({step.instance, instruction.operands[0]});
    if (started == started_.end()) return;
    const size_t collective = started->second;
    if (instruction.opcode == hlo::Opcode::kAsyncUpdate) {
      // The operand of the done is the update instead of the start.
      started_[{step.instance, step.instruction}] = collective;
    } else {
      analyzed_.async_collectives[collective].done = s;
    }
  }

  // Notes that a collective in a chain of fusions has an array. True if that was not known.
  bool NoteInFlight(size_t collective, int32_t storage) {
    if (!arrays_in_flight_.insert({collective, storage}).second) return false;
    open_at_[storage].push_back(collective);
    return true;
  }

  // The chain of fusions of a collective may go on in a loop, which then carries its arrays. False
  // if these are too many.
  bool FollowIntoLoop(int32_t loop) {
    std::vector<std::pair<size_t, const CarriedValue*>> followed;
    for (const CarriedValue& carried : carried_by_[loop]) {
      const auto at = open_at_.find(analyzed_.flow.StorageOf(carried.initial));
      if (at == open_at_.end()) continue;
      std::erase_if(at->second, [&](size_t collective) { return !open_.contains(collective); });
      for (const size_t collective : at->second) followed.push_back({collective, &carried});
      if (followed.size() > kMostArraysInFlight) return false;
    }
    for (const auto& [collective, carried] : followed) {
      for (const ValueId value : {carried->parameter, carried->root, carried->result}) {
        const int32_t storage = analyzed_.flow.StorageOf(value);
        if (!NoteInFlight(collective, storage)) continue;
        analyzed_.async_collectives[collective].storages.push_back(storage);
      }
    }
    return arrays_in_flight_.size() <= kMostArraysInFlight;
  }

  // ChannelOfFusion, looked for once for all inlined copies of a fusion.
  absl::string_view ChannelOf(const hlo::Instruction& fusion) {
    const auto [channel, is_new] = channel_of_.try_emplace(&fusion);
    if (is_new) channel->second = ChannelOfFusion(analyzed_.module, fusion);
    return channel->second;
  }

  void VisitFusion(int32_t s, const Step& step, const hlo::Instruction& fusion) {
    const CollectiveFusion part = CollectiveFusionOf(analyzed_.module, fusion);
    if (part == CollectiveFusion::kNone && started_on_channel_.empty()) return;
    const absl::string_view number = ChannelOf(fusion);
    // Collectives that state no channel are told apart by where they are.
    const Channel channel(number.empty() ? step.instance : -1, number);
    const auto started = started_on_channel_.find(channel);
    if (started != started_on_channel_.end() && part == CollectiveFusion::kNone) {
      if (!number.empty()) PassOn(s, step, started->second);  // else it may have no collective
      return;
    }
    if (started != started_on_channel_.end()) {
      if (part == CollectiveFusion::kDone) {
        analyzed_.async_collectives[started->second].done = s;
      }
      open_.erase(started->second);
      started_on_channel_.erase(started);
    }
    if (part == CollectiveFusion::kStart) StartOnChannel(channel, s, step, fusion);
  }

  void StartOnChannel(const Channel& channel, int32_t s, const Step& step,
                      const hlo::Instruction& fusion) {
    const size_t collective = Start(s, step, fusion);
    started_on_channel_[channel] = collective;
    open_.insert(collective);
    for (const int32_t storage : analyzed_.async_collectives[collective].storages) {
      NoteInFlight(collective, storage);
    }
  }

  // A fusion between start and done passes the collective's arrays on. Only the links work on them.
  void PassOn(int32_t s, const Step& step, size_t collective) {
    PricedStep& priced = analyzed_.priced[analyzed_.priced_at_or_after[s]];
    const auto clear = [&](hlo::InstructionIndex index, std::vector<int64_t>& bytes) {
      const absl::Span<const ValueId> values = analyzed_.flow.ValuesOf(step.instance, index);
      for (size_t leaf = 0; leaf < bytes.size(); ++leaf) {
        const int32_t storage = analyzed_.flow.StorageOf(values[leaf]);
        if (arrays_in_flight_.contains({collective, storage})) bytes[leaf] = 0;
      }
    };
    for (size_t i = 0; i < priced.instruction->operands.size(); ++i) {
      clear(priced.instruction->operands[i], priced.traffic.operand_bytes[i]);
    }
    clear(step.instruction, priced.traffic.output_bytes);
    priced.link_bytes = 0;
  }

  AnalyzedModule& analyzed_;
  std::vector<std::vector<CarriedValue>> carried_by_;  // by loop
  // Indices into async_collectives: by the instance and the start, or by the channel.
  absl::flat_hash_map<std::pair<int32_t, hlo::InstructionIndex>, size_t> started_;
  absl::flat_hash_map<Channel, size_t> started_on_channel_;
  absl::flat_hash_map<const hlo::Instruction*, absl::string_view> channel_of_;

  // Of the collectives in chains of fusions: those that have started and not ended, the storages of
  // each, and for each storage the collectives that have it. The last may have ended, too.
  absl::flat_hash_set<size_t> open_;
  absl::flat_hash_set<std::pair<size_t, int32_t>> arrays_in_flight_;
  absl::flat_hash_map<int32_t, std::vector<size_t>> open_at_;
};

}  // namespace

absl::StatusOr<hlo::Module> ReadModule(const std::string& path) {
  absl::StatusOr<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) return bytes.status();
  return ParseModuleBytes(*std::move(bytes), path);
}

absl::StatusOr<hlo::Module> ParseModuleBytes(std::string bytes, const std::string& name) {
  absl::StatusOr<std::string> text = hlo::HloTextOf(std::move(bytes), name);
  if (!text.ok()) return text.status();
  return hlo::ParseModule(ToUtf8(*std::move(text)), name);
}

absl::StatusOr<std::unique_ptr<AnalyzedModule>> AnalyzeModule(hlo::Module module, std::string path,
                                                              const InPlaceHints& hints) {
  auto analyzed = std::make_unique<AnalyzedModule>();
  analyzed->path = std::move(path);
  analyzed->module = std::move(module);
  absl::StatusOr<Schedule> schedule = FlattenSchedule(analyzed->module, analyzed->path);
  if (!schedule.ok()) return schedule.status();
  analyzed->schedule = *std::move(schedule);
  absl::StatusOr<Dataflow> flow = Dataflow::Analyze(analyzed->schedule, hints, analyzed->path);
  if (!flow.ok()) return flow.status();
  analyzed->flow = *std::move(flow);
  MMZ_RETURN_IF_ERROR(CollectPricedSteps(*analyzed));
  MMZ_RETURN_IF_ERROR(AsyncCollector(*analyzed).Run());
  return analyzed;
}

std::string BaseName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return ToUtf8(std::string(slash == absl::string_view::npos ? path : path.substr(slash + 1)));
}

}  // namespace mallocmuzero
