#include "simulator/place_check/memory.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "base/size32.h"
#include "simulator/place_check/shapes.h"

namespace mallocmuzero::place_check {
namespace {

constexpr ValueId kClobbered = -2;  // the value in the buffer depends on which branch ran

// True for an instruction after which an operation still runs: the start of an asynchronous one, or
// an update in its middle, which may bring operands.
bool LeavesRunning(const std::string& opcode) {
  return absl::EndsWith(opcode, "-start") || opcode == "async-update" || opcode == "send" ||
         opcode == "recv";
}

class Walk {
 public:
  Walk(const Flow& flow, const Buffers& buffers, const ValuesInFlight& in_flight,
       const Order& order, Report& report)
      : flow_(flow),
        graph_(flow.graph()),
        buffers_(buffers),
        in_flight_(in_flight),
        order_(order),
        report_(report),
        holder_(flow.size(), kNoValue) {
    trace_.lives.resize(flow.size());
  }

  MemoryTrace Run() {
    const Computation& entry = graph_.computations[graph_.entry];
    Step(graph_.entry, entry.parameters.empty() ? entry.root : entry.parameters[0]);
    for (const int parameter : entry.parameters) {
      for (const ValueId value : flow_.Of(graph_.entry, parameter)) Hold(value);
    }
    RunComputation(graph_.entry);
    ReadRoot(graph_.entry);
    return std::move(trace_);
  }

 private:
  // A copy or another operation that runs from a start to a done.
  struct Flight {
    int computation;
    int start;               // or its latest update
    std::vector<int> reads;  // buffers that it reads
    std::vector<int> writes;
  };

  void RunComputation(int computation);
  void RunInstruction(int computation, int index);
  void RunStart(int computation, int index);
  void RunDone(int computation, int index);
  void Launch(int computation, int index);
  void RunLoop(int computation, int index);
  void RunConditional(int computation, int index);
  void RunCompute(int computation, int index);

  void Step(int computation, int index) { trace_.steps.emplace_back(computation, index); }
  int now() const { return Size32(trace_.steps) - 1; }

  void Read(ValueId value, int computation, int index);
  void ReadOperands(int computation, int index);
  void ReadRoot(int computation);
  void Write(ValueId value, int computation, int index);

  // Records that the value is in its buffer from this step on, without a write.
  void Hold(ValueId value);
  void SetHolder(int buffer, ValueId value);
  // Records that the value is in its buffer at a step.
  void Touch(ValueId value, int step);

  const Flow& flow_;
  const Graph& graph_;
  const Buffers& buffers_;
  const ValuesInFlight& in_flight_;
  const Order& order_;
  Report& report_;
  std::vector<ValueId> holder_;  // for each buffer the value that it holds
  // changes of holder_: the buffer, and the value that it held before
  std::vector<std::pair<int, ValueId>> changes_;
  std::vector<Flight> flights_;
  MemoryTrace trace_;
};

void Walk::Touch(ValueId value, int step) {
  for (const ValueId touched : {value, flow_.Stored(value)}) {
    Life& life = trace_.lives[touched];
    if (life.first < 0) life.first = step;
    life.last = std::max(life.last, step);
  }
}

void Walk::SetHolder(int buffer, ValueId value) {
  changes_.emplace_back(buffer, holder_[buffer]);
  holder_[buffer] = value;
}

void Walk::Hold(ValueId value) {
  value = flow_.Resolve(value);
  Touch(value, now());
  SetHolder(buffers_.Of(value), value);
}

void Walk::Read(ValueId value, int computation, int index) {
  value = flow_.Resolve(value);
  Touch(value, now());
  const ValueId held = holder_[buffers_.Of(value)];
  if (in_flight_.AreSameArray(held, flow_.Stored(value))) return;
  const Value& wanted = flow_.value(value);
  const std::string other =
      held < 0 ? "an unknown branch"
               : graph_.Describe(flow_.value(held).computation, flow_.value(held).instruction);
  report_.Add(PlacedRule::kStaleRead, graph_.Describe(computation, index), " reads the value of ",
              graph_.Describe(wanted.computation, wanted.instruction),
              ", but its buffer then holds that of ", other);
}

void Walk::ReadOperands(int computation, int index) {
  for (const int operand : graph_.At(computation, index).operands) {
    for (const ValueId value : flow_.Of(computation, operand)) Read(value, computation, index);
  }
}

void Walk::ReadRoot(int computation) {
  const int root = graph_.computations[computation].root;
  for (const ValueId value : flow_.OfRoot(computation)) Read(value, computation, root);
}

void Walk::Write(ValueId value, int computation, int index) {
  const int buffer = buffers_.Of(value);
  for (const Flight& flight : flights_) {
    for (const std::vector<int>* held : {&flight.reads, &flight.writes}) {
      if (std::find(held->begin(), held->end(), buffer) == held->end()) continue;
      report_.Add(PlacedRule::kWriteDuringCopy, graph_.Describe(computation, index),
                  " writes to a buffer that ", graph_.Describe(flight.computation, flight.start),
                  held == &flight.reads ? " is still reading" : " is still writing");
    }
  }
  Hold(value);
}

void Walk::RunComputation(int computation) {
  for (const int index : order_.sequences[computation]) {
    Step(computation, index);
    RunInstruction(computation, index);
  }
  std::erase_if(flights_, [&](const Flight& f) { return f.computation == computation; });
}

void Walk::RunInstruction(int computation, int index) {
  switch (graph_.At(computation, index).kind) {
    case Kind::kParameter:
    case Kind::kTuple:
    case Kind::kElement:
    case Kind::kBitcast:
    case Kind::kBarrier:
      return;
    case Kind::kCopyStart:
      return RunStart(computation, index);
    case Kind::kCopyDone:
      return RunDone(computation, index);
    case Kind::kWhile:
      return RunLoop(computation, index);
    case Kind::kConditional:
      return RunConditional(computation, index);
    case Kind::kCall:
      return RunComputation(graph_.At(computation, index).calls[0]);
    case Kind::kFusion:
    case Kind::kCompute:
      return RunCompute(computation, index);
  }
}

void Walk::RunStart(int computation, int index) {
  ReadOperands(computation, index);
  const LeafValues parts = flow_.Of(computation, index);
  const Instruction& start = graph_.At(computation, index);
  Flight flight{.computation = computation, .start = index};
  for (const ValueId source : flow_.Of(computation, start.operands[0])) {
    flight.reads.push_back(buffers_.Of(source));
  }
  if (!parts.empty()) {
    const ValueId destination = parts[0];
    Write(destination, computation, index);
    flight.writes.push_back(buffers_.Of(destination));
    // The destination of a cross-program prefetch is occupied from the start of the program.
    if (start.proto->has_cross_program_prefetch_index()) trace_.lives[destination].first = 0;
  }
  flights_.push_back(std::move(flight));
}

void Walk::RunDone(int computation, int index) {
  const int start = graph_.At(computation, index).operands[0];
  std::erase_if(flights_, [&](const Flight& flight) {
    return flight.computation == computation && flight.start == start;
  });
  // Both buffers of the copy are occupied until this step.
  for (const ValueId value : flow_.Of(computation, start)) {
    if (trace_.lives[value].first >= 0) Touch(value, now());
  }
}

void Walk::RunLoop(int computation, int index) {
  const Instruction& loop = graph_.At(computation, index);
  ReadOperands(computation, index);
  const Computation& body = graph_.computations[loop.calls[kBody]];
  for (const int parameter : body.parameters) {
    for (const ValueId value : flow_.Of(loop.calls[kBody], parameter)) {
      const Value& carried = flow_.value(value);
      const bool own = carried.kind == ValueKind::kCarried && carried.IsMadeBy(computation, index);
      if (own) Hold(value);
    }
  }
  RunComputation(loop.calls[kCondition]);
  ReadRoot(loop.calls[kCondition]);
  RunComputation(loop.calls[kBody]);
  ReadRoot(loop.calls[kBody]);
  for (const ValueId value : flow_.Of(computation, index)) {
    const Value& result = flow_.value(value);
    if (result.kind == ValueKind::kLoopResult && result.IsMadeBy(computation, index)) Hold(value);
  }
}

void Walk::RunConditional(int computation, int index) {
  const Instruction& conditional = graph_.At(computation, index);
  ReadOperands(computation, index);
  std::vector<int> clobbered;
  for (const int branch : conditional.calls) {
    const size_t mark = changes_.size();
    // The operands must be there until the last branch has read them.
    ReadOperands(computation, index);
    RunComputation(branch);
    ReadRoot(branch);
    absl::flat_hash_map<int, ValueId> left;
    for (size_t i = mark; i < changes_.size(); ++i) {
      left[changes_[i].first] = holder_[changes_[i].first];
    }
    for (; changes_.size() > mark; changes_.pop_back()) {
      holder_[changes_.back().first] = changes_.back().second;
    }
    for (const auto& [buffer, value] : left) {
      if (holder_[buffer] != value) clobbered.push_back(buffer);
    }
  }
  for (const int buffer : clobbered) SetHolder(buffer, kClobbered);
  for (const ValueId value : flow_.Of(computation, index)) Hold(value);
}

void Walk::RunCompute(int computation, int index) {
  const Instruction& instruction = graph_.At(computation, index);
  const std::string& opcode = instruction.proto->opcode();
  if (absl::EndsWith(opcode, "-done") && !instruction.operands.empty()) {
    RunDone(computation, index);
  }
  ReadOperands(computation, index);
  for (const ValueId value : flow_.Of(computation, index)) {
    if (flow_.value(value).IsMadeBy(computation, index)) Write(value, computation, index);
  }
  if (LeavesRunning(opcode)) Launch(computation, index);
}

// Begins a flight that reads the operands, or goes on with that of the operand, if it has one.
void Walk::Launch(int computation, int index) {
  Flight launched{.computation = computation, .start = index};
  for (const int operand : graph_.At(computation, index).operands) {
    const auto before = std::find_if(flights_.begin(), flights_.end(), [&](const Flight& flight) {
      return flight.computation == computation && flight.start == operand;
    });
    if (before != flights_.end()) {
      launched.reads.insert(launched.reads.end(), before->reads.begin(), before->reads.end());
      flights_.erase(before);
      continue;
    }
    for (const ValueId value : flow_.Of(computation, operand)) {
      launched.reads.push_back(buffers_.Of(value));
    }
  }
  flights_.push_back(std::move(launched));
}

}  // namespace

MemoryTrace WalkMemory(const Flow& flow, const Buffers& buffers, const ValuesInFlight& in_flight,
                       const Order& order, Report& report) {
  return Walk(flow, buffers, in_flight, order, report).Run();
}

}  // namespace mallocmuzero::place_check
