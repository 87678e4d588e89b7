// Which carried groups may be in fast memory, and how long their results must stay there.

#include <algorithm>

#include "env/program_rules_builder.h"

namespace mallocmuzero {

void ProgramRules::Builder::CountRoles() {
  roles_.resize(program_.buffer_count());
  groups_from_.resize(program_.buffer_count());
  const auto& groups = program_.carried_groups();
  for (const CarriedGroupIndex g : groups.indices()) {
    ++roles_[groups[g].initial_buffer].initial;
    groups_from_[groups[g].initial_buffer].push_back(g);
    ++roles_[groups[g].parameter_buffer].inside;
    if (groups[g].root_buffer != groups[g].parameter_buffer) ++roles_[groups[g].root_buffer].inside;
    ++roles_[groups[g].result_buffer].result;
  }
}

bool ProgramRules::Builder::LiesInLoop(BufferIndex buffer, LoopIndex loop) const {
  for (const AccessIndex a : program_.AccessesOfBuffer(buffer)) {
    if (!rules_.IsInLoop(LoopOf(a), loop)) return false;
  }
  return true;
}

void ProgramRules::Builder::CheckGroupShape(CarriedGroupIndex g) {
  const CarriedGroup& group = program_.carried_groups()[g];
  const BufferIndex initial = group.initial_buffer;
  const BufferIndex parameter = group.parameter_buffer;
  const BufferIndex root = group.root_buffer;
  const BufferIndex result = group.result_buffer;
  const bool distinct = initial != parameter && initial != root && initial != result &&
                        parameter != result && root != result;
  const bool single =
      roles_[parameter].inside == 1 && roles_[root].inside == 1 && roles_[result].result == 1;
  const auto results = program_.AccessesOfBuffer(result);
  const bool result_follows = results.empty() || program_.accesses()[results.front()].instruction >
                                                     program_.loops()[group.loop].end;
  if (distinct && single && result_follows && LiesInLoop(parameter, group.loop) &&
      LiesInLoop(root, group.loop) && !program_.buffers()[parameter].live_in &&
      !program_.buffers()[root].live_in && !program_.buffers()[result].live_in) {
    return;
  }
  for (const BufferIndex b : {initial, parameter, root, result}) {
    rules_.buffers_[b].stays_in_hbm = true;
  }
}

void ProgramRules::Builder::MakeGroups() {
  const auto& groups = program_.carried_groups();
  rules_.groups_.resize(groups.size());
  for (const CarriedGroupIndex g : groups.indices()) {
    GroupRule& rule = rules_.groups_[g];
    rule.may_be_fast = MayBeFast(groups[g]);
    if (rule.may_be_fast) SetResultKeepUntil(groups[g], rule);
  }
}

bool ProgramRules::Builder::MayBeFast(const CarriedGroup& group) const {
  const BufferIndex initial = group.initial_buffer;
  const BufferIndex parameter = group.parameter_buffer;
  const BufferIndex root = group.root_buffer;
  const BufferIndex result = group.result_buffer;
  for (const BufferIndex b : {initial, parameter, root, result}) {
    if (rules_.buffers_[b].stays_in_hbm) return false;
    if (rules_.buffers_[b].bytes != rules_.buffers_[initial].bytes) return false;
  }
  const Role& of_initial = roles_[initial];
  const Role& of_result = roles_[result];
  if (of_initial.initial != 1 || of_initial.inside != 0 || of_initial.result > 1) return false;
  if (of_result.result != 1 || of_result.inside != 0 || of_result.initial > 1) return false;
  for (const BufferIndex b : {parameter, root}) {
    if (roles_[b].inside != 1 || roles_[b].initial != 0 || roles_[b].result != 0) return false;
    if (program_.buffers()[b].live_in || program_.buffers()[b].live_out) return false;
  }
  const Loop& loop = program_.loops()[group.loop];
  const LoopIndex made_in = rules_.buffers_[initial].defining_loop;
  if (made_in != loop.parent && made_in != kNone) return false;
  if (program_.buffers()[initial].live_out) return false;
  const auto accesses = program_.AccessesOfBuffer(initial);
  const bool is_used_later =
      !accesses.empty() && program_.accesses()[accesses.back()].instruction > loop.begin;
  return !is_used_later && (parameter == root || RootFollowsParameter(group));
}

bool ProgramRules::Builder::RootFollowsParameter(const CarriedGroup& group) const {
  const LoopIndex defining_loop = group.loop;
  const auto roots = program_.AccessesOfBuffer(group.root_buffer);
  if (roots.empty() || program_.accesses()[roots[0]].kind != AccessKind::kWrite) return false;
  if (rules_.buffers_[group.root_buffer].defining_loop != defining_loop) return false;
  const auto made = program_.accesses()[roots[0]].instruction;
  const ValueUses parameter = UsesByAll(group.parameter_buffer);
  return parameter.last_use < made && parameter.next_write == kNone;
}

CarriedGroupIndex ProgramRules::Builder::GroupTakingOver(BufferIndex b, InstructionIndex made,
                                                         InstructionIndex changed) const {
  for (const CarriedGroupIndex g : groups_from_[b]) {
    const auto begin = program_.loops()[program_.carried_groups()[g].loop].begin;
    if (begin > made && (changed == kNone || begin < changed)) return g;
  }
  return kNone;
}

void ProgramRules::Builder::SetResultKeepUntil(const CarriedGroup& group, GroupRule& rule) const {
  const auto end = program_.loops()[group.loop].end;
  const BufferIndex b = group.result_buffer;
  const ValueUses uses = UsesByAll(b);
  const bool taken_over = GroupTakingOver(b, end, uses.next_change()) != kNone;
  if (!taken_over && uses.next_update != kNone) {
    rule.keep_until = uses.next_update;
  } else if (taken_over || (uses.next_write == kNone && program_.buffers()[b].live_out)) {
    rule.writes_back = true;
    rule.keep_until = end;
  } else {
    rule.keep_until = std::max(end, uses.last_read);
  }
}

}  // namespace mallocmuzero
