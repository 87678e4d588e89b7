#include "simulator/hlo/call_graph.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace mallocmuzero::hlo {
namespace {

bool LinkCalls(Lexer& lexer, const std::vector<PendingCall>& calls, Module& module) {
  for (const PendingCall& call : calls) {
    const absl::optional<ComputationIndex> callee = module.Find(call.callee);
    if (!callee.has_value()) {
      return lexer.FailAt(call.position, "the name of a computation in this module");
    }
    module.computations[call.caller]
        .instructions[call.instruction]
        .called_computations[call.slot]
        .computation = *callee;
  }
  return true;
}

// Checks that calls nest at most kMaxCallDepth deep and that no computation calls itself. Removes
// the computations that have no remaining caller, layer by layer (Kahn's algorithm); a computation
// that is left over calls itself, directly or through others. `calls` are grouped by caller, as
// they are in the text.
bool CheckCallDepth(Lexer& lexer, const std::vector<PendingCall>& calls, const Module& module) {
  const size_t count = module.computations.size();
  const auto callee_of = [&module](const PendingCall& call) {
    return module.computations[call.caller]
        .instructions[call.instruction]
        .called_computations[call.slot]
        .computation;
  };
  std::vector<size_t> first_call(count + 1, 0);
  std::vector<int64_t> open_callers(count, 0);
  for (const PendingCall& call : calls) {
    ++first_call[call.caller + 1];
    ++open_callers[callee_of(call)];
  }
  for (size_t i = 0; i < count; ++i) first_call[i + 1] += first_call[i];

  std::vector<int> depth(count, 0);
  std::vector<ComputationIndex> ready;
  for (size_t i = 0; i < count; ++i) {
    if (open_callers[i] == 0) ready.push_back(static_cast<ComputationIndex>(i));
  }
  while (!ready.empty()) {
    const ComputationIndex caller = ready.back();
    ready.pop_back();
    for (size_t i = first_call[caller]; i < first_call[caller + 1]; ++i) {
      const ComputationIndex callee = callee_of(calls[i]);
      depth[callee] = std::max(depth[callee], depth[caller] + 1);
      if (depth[callee] > kMaxCallDepth) {
        return lexer.FailAt(calls[i].position,
                            absl::StrCat("at most ", kMaxCallDepth, " calls inside each other"));
      }
      if (--open_callers[callee] == 0) ready.push_back(callee);
    }
  }
  for (const PendingCall& call : calls) {
    if (open_callers[callee_of(call)] > 0) {
      return lexer.FailAt(call.position, "a computation that does not call itself");
    }
  }
  return true;
}

void FillWrappedOpcodes(Module& module) {
  for (Computation& computation : module.computations) {
    for (Instruction& instruction : computation.instructions) {
      if (instruction.wrapped_opcode != Opcode::kUnknown) continue;
      if (instruction.opcode == Opcode::kAsyncStart) {
        const absl::optional<ComputationIndex> wrapped = instruction.Called(CallRole::kCalls);
        if (!wrapped.has_value()) continue;
        const Computation& callee = module.computations[*wrapped];
        instruction.wrapped_opcode = callee.instructions[callee.root].opcode;
      } else if ((instruction.opcode == Opcode::kAsyncUpdate ||
                  instruction.opcode == Opcode::kAsyncDone) &&
                 !instruction.operands.empty()) {
        instruction.wrapped_opcode =
            computation.instructions[instruction.operands.front()].wrapped_opcode;
      }
    }
  }
}

}  // namespace

bool ResolveCalls(Lexer& lexer, const std::vector<PendingCall>& calls, Module& module) {
  if (!LinkCalls(lexer, calls, module) || !CheckCallDepth(lexer, calls, module)) return false;
  FillWrappedOpcodes(module);
  return true;
}

}  // namespace mallocmuzero::hlo
