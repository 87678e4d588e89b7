// Loops that contain one another, and spans of values that cross them.

#include "env/program_rules.h"

namespace mallocmuzero {

bool ProgramRules::IsInLoop(LoopIndex inner, LoopIndex outer) const {
  if (outer == kNone) return true;
  while (inner != kNone && inner != outer) inner = program_->loops()[inner].parent;
  return inner == outer;
}

LoopIndex ProgramRules::ChildLoop(LoopIndex inner, LoopIndex outer) const {
  while (program_->loops()[inner].parent != outer) inner = program_->loops()[inner].parent;
  return inner;
}

InstructionIndex ProgramRules::SpanEnd(InstructionIndex instruction,
                                       LoopIndex defining_loop) const {
  const LoopIndex loop = program_->instructions()[instruction].loop;
  if (loop == defining_loop || !IsInLoop(loop, defining_loop)) return instruction;
  return program_->loops()[ChildLoop(loop, defining_loop)].end;
}

InstructionIndex ProgramRules::PointInLoop(InstructionIndex point, LoopIndex loop) const {
  LoopIndex at = program_->instructions()[point].loop;
  while (at != loop) {
    if (at == kNone) return kNone;
    point = program_->loops()[at].begin;
    at = program_->loops()[at].parent;
  }
  return point;
}

}  // namespace mallocmuzero
