// What happens where loops begin and end.

#include <algorithm>

#include "env/game.h"

namespace mallocmuzero {

void Game::EnterLoop(uint32_t loop) {
  stays_before_loop_.push_back(static_cast<uint32_t>(stays_.size()));
  // Copies to HBM do not cross a loop's ends.
  if (timeline_.write_back_count() > 0) WaitForWriteBack(timeline_.write_back_count() - 1);
  for (const uint32_t g : rules_->GroupsOfLoop(loop)) {
    const CarriedGroup& group = program().carried_groups()[g];
    if (groups_[g] == GroupSpace::kFast) {
      TakeOver(g);
    } else {
      buffers_[group.parameter_buffer].hbm_current = true;
      buffers_[group.parameter_buffer].hbm_since = instruction_ + 1;
    }
  }
}

// The parameter gets the initial value's bytes, from the loop's begin on.
void Game::TakeOver(uint32_t group) {
  groups_[group] = GroupSpace::kFast;
  const CarriedGroup& buffers = program().carried_groups()[group];
  const auto begin = static_cast<int32_t>(program().loops()[buffers.loop].begin);
  Stay& initial = stays_[buffers_[buffers.initial_buffer].stay];
  initial.last = begin;
  Stay parameter;
  parameter.buffer = buffers.parameter_buffer;
  parameter.first = parameter.last = begin;
  parameter.offset = initial.offset;
  parameter.loop = static_cast<int32_t>(buffers.loop);
  parameter.reserved = rules_->group(group).keep_until;
  HandOver(buffers.initial_buffer, parameter);
}

// The root's first write: it gets the parameter's bytes, which nobody has used since.
void Game::WriteCarriedRoot(uint32_t root) {
  const auto group = static_cast<uint32_t>(rules_->GroupInside(root));
  const CarriedGroup& buffers = program().carried_groups()[group];
  if (buffers_[root].stay >= 0) {
    stays_[buffers_[root].stay].last = instruction_;  // written again
    return;
  }
  Stay stay;
  stay.buffer = root;
  stay.first = stay.last = instruction_;
  stay.offset = stays_[buffers_[buffers.parameter_buffer].stay].offset;
  stay.loop = static_cast<int32_t>(buffers.loop);
  stay.reserved = rules_->group(group).keep_until;
  HandOver(buffers.parameter_buffer, stay);
}

void Game::HandOver(uint32_t from, const Stay& to) {
  const int32_t giver = buffers_[from].stay;
  stays_[giver].holds_bytes = false;
  buffers_[from].stay = -1;
  const auto index = static_cast<int32_t>(stays_.size());
  stays_.push_back(to);
  stays_.back().handed_over_by = giver;
  BufferState& state = buffers_[to.buffer];
  state = BufferState();
  state.stay = index;
  memory_.SetOwner(to.offset, index);
  memory_.SetNextUse(to.offset, FastMemory::kForever);
  SetTakenUntil(stays_.back(), to.reserved);
}

void Game::LeaveLoop(uint32_t loop) {
  if (timeline_.write_back_count() > 0) WaitForWriteBack(timeline_.write_back_count() - 1);
  for (const uint32_t g : rules_->GroupsOfLoop(loop)) {
    const CarriedGroup& group = program().carried_groups()[g];
    if (groups_[g] != GroupSpace::kFast) {
      buffers_[group.result_buffer].hbm_current = true;
      buffers_[group.result_buffer].hbm_since = instruction_ + 1;
      continue;
    }
    Stay& root = stays_[buffers_[group.root_buffer].stay];
    root.last = instruction_;
    Stay result;
    result.buffer = group.result_buffer;
    result.first = result.last = instruction_;
    result.offset = root.offset;
    result.loop = program().loops()[loop].parent;
    result.reserved = rules_->group(g).keep_until;
    HandOver(group.root_buffer, result);
    if (rules_->group(g).writes_back) QueueWriteBack(group.result_buffer);
  }
  EndStaysOfLoop(loop);
}

// What was brought in or made during a pass is not there in the next one. A stay that belongs to
// the loop was made since it began: the buffers of all others need not be looked at.
void Game::EndStaysOfLoop(uint32_t loop) {
  scratch_.clear();
  for (uint32_t s = stays_before_loop_.back(); s < stays_.size(); ++s) {
    const bool holds = buffers_[stays_[s].buffer].stay == static_cast<int32_t>(s);
    if (holds && rules_->IsInLoop(stays_[s].loop, static_cast<int32_t>(loop))) {
      scratch_.push_back(static_cast<int32_t>(stays_[s].buffer));
    }
  }
  stays_before_loop_.pop_back();
  std::sort(scratch_.begin(), scratch_.end());  // one order whatever was decided
  for (const int32_t buffer : scratch_) EndStay(static_cast<uint32_t>(buffer));
}

}  // namespace mallocmuzero
