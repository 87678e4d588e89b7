// Loops that contain one another, and spans of values that cross them.

#include "env/program_rules.h"

namespace mallocmuzero {

bool ProgramRules::IsInLoop(int32_t inner, int32_t outer) const {
  if (outer == kNone) return true;
  while (inner != kNone && inner != outer) inner = program_->loops()[inner].parent;
  return inner == outer;
}

int32_t ProgramRules::ChildLoop(int32_t inner, int32_t outer) const {
  while (program_->loops()[inner].parent != outer) inner = program_->loops()[inner].parent;
  return inner;
}

int32_t ProgramRules::SpanEnd(uint32_t instruction, int32_t defining_loop) const {
  const int32_t loop = program_->instructions()[instruction].loop;
  if (loop == defining_loop || !IsInLoop(loop, defining_loop))
    return static_cast<int32_t>(instruction);
  return static_cast<int32_t>(program_->loops()[ChildLoop(loop, defining_loop)].end);
}

int32_t ProgramRules::PointInLoop(int32_t point, int32_t loop) const {
  int32_t at = program_->instructions()[point].loop;
  while (at != loop) {
    if (at == kNone) return kNone;
    point = static_cast<int32_t>(program_->loops()[at].begin);
    at = program_->loops()[at].parent;
  }
  return point;
}

}  // namespace mallocmuzero
