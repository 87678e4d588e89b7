#include "bench/reorder/dependency_graph.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "base/size32.h"

namespace mallocmuzero::reorder {
namespace {

using hlo::Opcode;

// True if the instruction is a unit. All other instructions only forward results.
bool IsUnit(const hlo::Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kWhile:
    case Opcode::kCall:
    case Opcode::kConditional:
      return true;
    default:
      return !IsForwarding(instruction.opcode) || instruction.estimated_cycles.has_value();
  }
}

// True if the instruction has effects outside the program or runs asynchronously. Such instructions
// keep their order.
bool MustStayInOrder(const hlo::Instruction& instruction) {
  if (IsAsyncStart(instruction.opcode) || IsAsyncDone(instruction.opcode)) return true;
  switch (instruction.opcode) {
    case Opcode::kAllGather:
    case Opcode::kAllReduce:
    case Opcode::kAllToAll:
    case Opcode::kCollectiveBroadcast:
    case Opcode::kCollectivePermute:
    case Opcode::kCollectiveReduce:
    case Opcode::kInfeed:
    case Opcode::kOutfeed:
    case Opcode::kRaggedAllToAll:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
    case Opcode::kReduceScatter:
    case Opcode::kRng:
    case Opcode::kRngGetAndUpdateState:
    case Opcode::kSend:
    case Opcode::kSendDone:
    case Opcode::kUnknown:
      return true;
    case Opcode::kCustomCall:
      return instruction.FindAttribute("custom_call_has_side_effect") == "true";
    default:
      return false;
  }
}

// The storages that one unit reads and writes; may contain duplicates.
struct Touches {
  std::vector<int32_t> reads;
  std::vector<int32_t> writes;
};

class GraphBuilder {
 public:
  explicit GraphBuilder(const AnalyzedModule& analyzed)
      : analyzed_(analyzed), flow_(analyzed.flow), entry_(analyzed.schedule.ComputationOf(0)) {}

  DependencyGraph Run() && {
    NumberUnits();
    AddOperands();
    CollectTouches();
    AliasResults();
    AddStorageOrder();
    AddProgramOrder();
    Finish();
    return std::move(graph_);
  }

 private:
  void NumberUnits() {
    unit_of_.assign(entry_.instructions.size(), -1);
    for (int32_t i = 0; i < std::ssize(entry_.instructions); ++i) {
      if (!IsUnit(entry_.instructions[i])) continue;
      unit_of_[i] = graph_.size();
      graph_.units.push_back({.instruction = i});
    }
    predecessors_.resize(graph_.units.size());
  }

  void AddEdge(int32_t from, int32_t to) {
    if (from != to) predecessors_[to].insert(from);
  }

  void AddOperands() {
    // For each instruction the units whose results it forwards. A unit forwards its own.
    std::vector<std::vector<int32_t>> sources(entry_.instructions.size());
    for (size_t i = 0; i < entry_.instructions.size(); ++i) {
      const hlo::Instruction& instruction = entry_.instructions[i];
      absl::flat_hash_set<int32_t> before;
      for (const hlo::InstructionIndex operand : instruction.operands) {
        before.insert(sources[operand].begin(), sources[operand].end());
      }
      for (const hlo::InstructionIndex control : instruction.control_predecessors) {
        before.insert(sources[control].begin(), sources[control].end());
      }
      if (unit_of_[i] < 0) {
        sources[i].assign(before.begin(), before.end());
        continue;
      }
      for (const int32_t from : before) AddEdge(from, unit_of_[i]);
      sources[i] = {unit_of_[i]};
    }
  }

  // Collects the storages that each unit touches. A step inside a loop or a call belongs to the
  // unit of that loop or call.
  void CollectTouches() {
    touches_.resize(graph_.units.size());
    Touches block;
    InstructionIndex first = 0;
    const Schedule& schedule = analyzed_.schedule;
    for (int32_t s = 0; s < std::ssize(schedule.steps); ++s) {
      const Step& step = schedule.steps[s];
      const bool begins = step.kind == Step::Kind::kLoopBegin;
      if (!begins) TouchStorages(step, block);
      if (step.instance != 0 || begins) continue;
      const InstructionIndex end(s + 1 < std::ssize(schedule.steps)
                                     ? analyzed_.priced_at_or_after[s + 1]
                                     : std::ssize(analyzed_.priced));
      const int32_t unit = unit_of_[step.instruction];
      if (unit >= 0) {
        touches_[unit] = std::move(block);
        graph_.units[unit].first_priced = first;
        graph_.units[unit].end_priced = end;
      }
      assert(unit >= 0 || first == end);
      block = {};
      first = end;
    }
    for (const CarriedValue& carried : flow_.carried()) {
      const ScheduledLoop& loop = schedule.loops[carried.loop];
      if (loop.instance != 0) continue;
      std::vector<int32_t>& writes = touches_[unit_of_[loop.instruction]].writes;
      writes.push_back(flow_.StorageOf(carried.initial));  // the loop runs in this buffer
      writes.push_back(flow_.StorageOf(carried.result));
    }
  }

  void TouchStorages(const Step& step, Touches& touches) const {
    const hlo::Instruction& instruction = analyzed_.schedule.InstructionAt(step);
    for (const hlo::InstructionIndex operand : instruction.operands) {
      for (const ValueId value : flow_.ValuesOf(step.instance, operand)) {
        touches.reads.push_back(flow_.StorageOf(value));
      }
    }
    for (const ValueId value : flow_.ValuesOf(step.instance, step.instruction)) {
      const HloValue& made = flow_.values()[value];
      const bool makes = made.instance == step.instance && made.instruction == step.instruction;
      if (makes) touches.writes.push_back(flow_.StorageOf(value));
    }
  }

  // Makes results that take over a parameter's buffer share its storage.
  void AliasResults() {
    same_as_.resize(flow_.storage_count());
    std::iota(same_as_.begin(), same_as_.end(), 0);
    const hlo::Instruction& root = entry_.instructions[entry_.root];
    for (const hlo::InputOutputAlias& alias : analyzed_.module.input_output_aliases) {
      if (alias.parameter_number < 0 || alias.parameter_number >= std::ssize(entry_.parameters)) {
        continue;
      }
      const hlo::InstructionIndex parameter = entry_.parameters[alias.parameter_number];
      const int32_t to = LeafOrdinal(root.shape, alias.output_index);
      const int32_t from = LeafOrdinal(entry_.instructions[parameter].shape, alias.parameter_index);
      if (to < 0 || from < 0) continue;
      const int32_t result = Shared(flow_.StorageOf(flow_.ValuesOf(0, entry_.root)[to]));
      same_as_[result] = Shared(flow_.StorageOf(flow_.ValuesOf(0, parameter)[from]));
    }
  }

  int32_t Shared(int32_t storage) const {
    while (same_as_[storage] != storage) storage = same_as_[storage];
    return storage;
  }

  // Adds the order of accesses to each storage: a write stays where it is among the reads and
  // writes.
  void AddStorageOrder() {
    std::vector<int32_t> writer(same_as_.size(), -1);
    std::vector<std::vector<int32_t>> readers(same_as_.size());  // readers since the last write
    for (int32_t u = 0; u < graph_.size(); ++u) {
      for (const int32_t storage : touches_[u].reads) {
        const int32_t s = Shared(storage);
        if (writer[s] >= 0) AddEdge(writer[s], u);
        if (readers[s].empty() || readers[s].back() != u) readers[s].push_back(u);
      }
      for (const int32_t storage : touches_[u].writes) {
        const int32_t s = Shared(storage);
        for (const int32_t reader : readers[s]) AddEdge(reader, u);
        if (writer[s] >= 0) AddEdge(writer[s], u);
        writer[s] = u;
        readers[s].clear();
      }
    }
  }

  void AddProgramOrder() {
    int32_t last = -1;
    for (int32_t u = 0; u < graph_.size(); ++u) {
      if (!MustStayInOrder(entry_.instructions[graph_.units[u].instruction])) continue;
      if (last >= 0) AddEdge(last, u);
      last = u;
    }
    const int32_t root = unit_of_[entry_.root];
    for (int32_t u = 0; root >= 0 && u < root; ++u) AddEdge(u, root);
    for (int32_t u = root + 1; root >= 0 && u < graph_.size(); ++u) AddEdge(root, u);
  }

  void Finish() {
    for (int32_t u = 0; u < graph_.size(); ++u) {
      std::vector<int32_t>& before = graph_.units[u].predecessors;
      before.assign(predecessors_[u].begin(), predecessors_[u].end());
      std::sort(before.begin(), before.end());
      for (const int32_t p : before) graph_.units[p].successors.push_back(u);
    }
  }

  const AnalyzedModule& analyzed_;
  const Dataflow& flow_;
  const hlo::Computation& entry_;
  DependencyGraph graph_;
  std::vector<int32_t> unit_of_;  // for each entry instruction; -1: it forwards
  std::vector<absl::flat_hash_set<int32_t>> predecessors_;
  std::vector<Touches> touches_;  // for each unit
  // for each storage: one that it shares a buffer with; the last one in the chain refers to itself
  std::vector<int32_t> same_as_;
};

}  // namespace

DependencyGraph FindDependencies(const AnalyzedModule& analyzed) {
  return GraphBuilder(analyzed).Run();
}

std::vector<int32_t> Places(absl::Span<const int32_t> order) {
  std::vector<int32_t> places(order.size());
  for (int32_t k = 0; k < std::ssize(order); ++k) places[order[k]] = k;
  return places;
}

bool IsLegal(const DependencyGraph& graph, absl::Span<const int32_t> order) {
  if (std::ssize(order) != graph.size()) return false;
  std::vector<uint8_t> ran(order.size(), 0);
  for (const int32_t unit : order) {
    if (unit < 0 || unit >= graph.size() || ran[unit] != 0) return false;
    for (const int32_t p : graph.units[unit].predecessors) {
      if (ran[p] == 0) return false;
    }
    ran[unit] = 1;
  }
  return true;
}

double MeanMobility(const DependencyGraph& graph) {
  double sum = 0;
  int32_t count = 0;
  for (int32_t u = 0; u < graph.size(); ++u) {
    const DependencyGraph::Unit& unit = graph.units[u];
    if (unit.first_priced == unit.end_priced) continue;
    const int32_t first = unit.predecessors.empty() ? 0 : unit.predecessors.back() + 1;
    const int32_t last = unit.successors.empty() ? graph.size() - 1 : unit.successors.front() - 1;
    sum += last - first;
    ++count;
  }
  return count == 0 || graph.size() < 2 ? 0 : sum / count / (graph.size() - 1);
}

std::vector<hlo::InstructionIndex> EntryOrder(const hlo::Computation& entry,
                                              const DependencyGraph& graph,
                                              absl::Span<const int32_t> order) {
  const auto count = Size32(entry.instructions);
  std::vector<uint8_t> is_unit(count, 0);
  for (const DependencyGraph::Unit& unit : graph.units) is_unit[unit.instruction] = 1;
  // number of operands and control predecessors that have not run yet
  std::vector<int32_t> missing(count, 0);
  std::vector<std::vector<hlo::InstructionIndex>> users(count);
  for (int32_t i = 0; i < count; ++i) {
    const auto needs = [&](hlo::InstructionIndex before) {
      ++missing[i];
      users[before].push_back(i);
    };
    for (const hlo::InstructionIndex operand : entry.instructions[i].operands) needs(operand);
    for (const auto control : entry.instructions[i].control_predecessors) needs(control);
  }
  std::vector<hlo::InstructionIndex> all;
  const auto emit = [&](hlo::InstructionIndex instruction) {
    size_t done = all.size();
    all.push_back(instruction);
    for (; done < all.size(); ++done) {
      for (const hlo::InstructionIndex user : users[all[done]]) {
        if (--missing[user] == 0 && is_unit[user] == 0) all.push_back(user);
      }
    }
  };
  std::vector<hlo::InstructionIndex> free;
  for (int32_t i = 0; i < count; ++i) {
    if (missing[i] == 0 && is_unit[i] == 0) free.push_back(i);
  }
  for (const hlo::InstructionIndex instruction : free) emit(instruction);
  for (const int32_t unit : order) emit(graph.units[unit].instruction);
  assert(std::ssize(all) == count);
  return all;
}

}  // namespace mallocmuzero::reorder
