#include "simulator/bound/chain_plan.h"

#include <algorithm>
#include <limits>

namespace mallocmuzero::bound {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// The first instruction of the gap before a link.
InstructionIndex GapBegin(const BufferChain& chain, size_t link) {
  return link == 0 ? chain.start : chain.links[link - 1].instruction + 1;
}

// The buffer is in its place at a second access of the same instruction without paying again.
bool PaysForInstruction(const BufferChain& chain, size_t link) {
  return link == 0 || chain.links[link - 1].instruction != chain.links[link].instruction;
}

// The first instruction during which a write-back may move bytes after the access before a link. It
// may run beside a read of the value that it copies.
InstructionIndex WriteBackBegin(const BufferChain& chain, size_t link) {
  const ChainLink& before = chain.links[link - 1];
  return before.kind == AccessKind::kRead ? before.instruction : before.instruction + 1;
}

}  // namespace

ChainPlanner::ChainPlanner(const Program& program, IndexSpan<InstructionIndex, const double> waits)
    : program_(program) {
  const double rate = program.hardware().hbm_bytes_per_cycle();
  wait_.reserve(size_t{program.instruction_count()} + 1);
  for (const double count : waits) wait_.push_back(count / rate);
  wait_.push_back(1 / rate);  // at the end of the program
}

void ChainPlanner::SetPrices(const Prices& prices) {
  prices_ = &prices;
  const InstructionIndex n = program_.instructions().end_index();
  held_before_.assign(1, 0);
  for (InstructionIndex i = 0; i < n; ++i) {
    held_before_.push_back(held_before_.back() + prices.memory[i]);
  }
  for (size_t k = kLargeLimits; k-- > 0;) {
    IndexVector<InstructionIndex, double>& before = large_before_[k];
    before.assign(1, 0);
    for (InstructionIndex i = 0; i < n; ++i) before.push_back(before.back() + prices.large[k][i]);
    if (k + 1 == kLargeLimits) continue;
    for (InstructionIndex i = 0; i <= n; ++i) before[i] += large_before_[k + 1][i];
  }
  bandwidth_.Build(prices.bandwidth);
  scratch_.resize(n);
  // A byte that is copied in during instruction j has its place from j on.
  for (InstructionIndex j = 0; j < n; ++j) scratch_[j] = prices.bandwidth[j] - held_before_[j];
  copy_in_.Build(scratch_);
  // A byte that is copied out during instruction j has its place up to j, and up to j - 1 if the
  // program waits for the copy just before j.
  for (InstructionIndex j = 0; j < n; ++j) {
    scratch_[j] = std::min(prices.bandwidth[j] + held_before_[j + 1], wait_[j] + held_before_[j]);
  }
  write_back_.Build(scratch_);
}

// Copies on their way pay for bytes only, which keeps the bound valid.
double ChainPlanner::Hold(const BufferChain& chain, InstructionIndex begin,
                          InstructionIndex end) const {
  if (begin >= end) return 0;
  double cost = chain.size * (held_before_[end] - held_before_[begin]);
  if (chain.first_large_limit < kLargeLimits) {
    const IndexVector<InstructionIndex, double>& before = large_before_[chain.first_large_limit];
    cost += before[end] - before[begin];
  }
  return cost;
}

double ChainPlanner::CopyIn(const BufferChain& chain, const ChainLink& link) const {
  const InstructionIndex t = link.instruction;
  return chain.bytes * std::min(wait_[t], copy_in_.Minimum(link.copy_from, t) + held_before_[t]);
}

double ChainPlanner::WriteBack(const BufferChain& chain, const WriteBackTime& time) const {
  if (time.held) {
    return chain.bytes * std::min(bandwidth_.Minimum(time.begin, time.end), wait_[time.end]);
  }
  const double cheapest =
      std::min(write_back_.Minimum(time.begin, time.end), wait_[time.end] + held_before_[time.end]);
  return chain.bytes * (cheapest - held_before_[std::min(time.paid_before, time.end)]);
}

ChainPlanner::WriteBackTime ChainPlanner::TimeBefore(const BufferChain& chain, size_t link,
                                                     bool held) {
  return {.begin = WriteBackBegin(chain, link),
          .end = chain.links[link].instruction,
          .paid_before = GapBegin(chain, link),
          .held = held};
}

ChainPlanner::WriteBackTime ChainPlanner::TimeAtEnd(const BufferChain& chain) {
  return {.begin = WriteBackBegin(chain, chain.links.size()),
          .end = chain.end,
          .paid_before = GapBegin(chain, chain.links.size())};
}

double ChainPlanner::EndCost(const BufferChain& chain) const {
  if (chain.ending == ChainEnd::kNothing) return 0;
  const double write_back = WriteBack(chain, TimeAtEnd(chain));
  if (chain.ending == ChainEnd::kWriteBack) return write_back;
  return std::min(write_back, Hold(chain, GapBegin(chain, chain.links.size()), chain.end));
}

ChainPlanner::Arrivals ChainPlanner::CrossGap(const BufferChain& chain, size_t link) const {
  const InstructionIndex begin = GapBegin(chain, link);
  const InstructionIndex end = chain.links[link].instruction;
  const double hold = Hold(chain, begin, end);
  Arrivals arrivals;
  arrivals[kHbm] = {worth_[kHbm], {.from = kHbm}};
  arrivals[kBoth] = {worth_[kBoth] - hold, {.from = kBoth, .held = true}};
  arrivals[kFast] = {worth_[kFast] - hold, {.from = kFast, .held = true}};
  const auto offer = [&](State state, const Arrival& arrival) {
    if (arrival.worth > arrivals[state].worth) arrivals[state] = arrival;
  };
  offer(kHbm, {worth_[kBoth], {.from = kBoth}});
  if (worth_[kFast] == kImpossible) return arrivals;
  offer(kHbm, {worth_[kFast] - WriteBack(chain, TimeBefore(chain, link, /*held=*/false)),
               {.from = kFast, .written_back = true}});
  offer(kBoth, {worth_[kFast] - hold - WriteBack(chain, TimeBefore(chain, link, /*held=*/true)),
                {.from = kFast, .held = true, .written_back = true}});
  return arrivals;
}

void ChainPlanner::Reach(const BufferChain& chain, size_t k, const Arrivals& arrivals) {
  const ChainLink& link = chain.links[k];
  const double price = prices_->access[link.access];
  const double here =
      PaysForInstruction(chain, k) ? Hold(chain, link.instruction, link.instruction + 1) : 0;
  Arrival fast = arrivals[kHbm];
  fast.worth -= link.kind == AccessKind::kWrite ? 0 : CopyIn(chain, link);
  fast.step.copied_in = link.kind != AccessKind::kWrite;
  if (arrivals[kBoth].worth >= fast.worth) fast = arrivals[kBoth];
  fast.worth -= here;
  fast.step.in_fast_memory = true;

  std::array<Step, kStateCount>& steps = steps_[k];
  worth_[kHbm] = arrivals[kHbm].worth;
  steps[kHbm] = arrivals[kHbm].step;
  if (link.kind == AccessKind::kRead) {
    // A value that is in both memories may also be read from HBM.
    fast.step.uses_fast_memory = price > 0;
    worth_[kBoth] = fast.worth + std::max(price, 0.0);
    steps[kBoth] = fast.step;
    worth_[kFast] = arrivals[kFast].worth - here + price;
    steps[kFast] = arrivals[kFast].step;
  } else {
    worth_[kBoth] = kImpossible;
    Arrival changed = arrivals[kFast];
    changed.worth -= here;
    if (fast.worth > changed.worth) changed = fast;
    worth_[kFast] = changed.worth + price;
    steps[kFast] = changed.step;
  }
  steps[kFast].in_fast_memory = steps[kFast].uses_fast_memory = true;
}

double ChainPlanner::Plan(const BufferChain& chain, Usage& usage) {
  steps_.resize(std::max(steps_.size(), chain.links.size()));
  worth_ = {0, chain.starts_fast ? 0 : kImpossible, kImpossible};
  for (size_t k = 0; k < chain.links.size(); ++k) {
    const ChainLink& link = chain.links[k];
    if (link.kind != AccessKind::kWrite && !link.is_handed_on) {
      Reach(chain, k, CrossGap(chain, k));
      continue;
    }
    // The old value is not needed any more, so nothing is paid for it. A value that a loop hands on
    // may be in both memories.
    const State from =
        static_cast<State>(std::max_element(worth_.begin(), worth_.end()) - worth_.begin());
    const Arrival best = {worth_[from], {.from = from}};
    const Arrival none = {kImpossible, {}};
    Reach(chain, k, {best, link.is_handed_on ? best : none, none});
  }
  worth_[kFast] -= EndCost(chain);
  const State last =
      static_cast<State>(std::max_element(worth_.begin(), worth_.end()) - worth_.begin());
  const double worth = worth_[last];
  UsePlan(chain, last, usage);
  return worth;
}

void ChainPlanner::UseBytes(double bytes, InstructionIndex begin, InstructionIndex end,
                            Usage& usage) {
  if (begin >= end) return;
  usage.memory_change[begin] += bytes;
  usage.memory_change[end] -= bytes;
}

void ChainPlanner::UseHold(const BufferChain& chain, InstructionIndex begin, InstructionIndex end,
                           Usage& usage) {
  if (begin >= end) return;
  UseBytes(chain.size, begin, end, usage);
  for (size_t k = chain.first_large_limit; k < kLargeLimits; ++k) {
    usage.large_change[k][begin] += 1;
    usage.large_change[k][end] -= 1;
  }
}

void ChainPlanner::UseCopyIn(const BufferChain& chain, const ChainLink& link, Usage& usage) const {
  const InstructionIndex t = link.instruction;
  if (wait_[t] <= copy_in_.Minimum(link.copy_from, t) + held_before_[t]) return;
  const InstructionIndex j = copy_in_.IndexOfMinimum(link.copy_from, t);
  usage.bandwidth[j] += chain.bytes;
  UseBytes(chain.bytes, j, t, usage);
}

void ChainPlanner::UseWriteBack(const BufferChain& chain, const WriteBackTime& time,
                                Usage& usage) const {
  if (time.held) {
    if (bandwidth_.Minimum(time.begin, time.end) >= wait_[time.end]) return;
    usage.bandwidth[bandwidth_.IndexOfMinimum(time.begin, time.end)] += chain.bytes;
    return;
  }
  if (write_back_.Minimum(time.begin, time.end) >= wait_[time.end] + held_before_[time.end]) {
    UseBytes(chain.bytes, time.paid_before, time.end, usage);
    return;
  }
  const InstructionIndex j = write_back_.IndexOfMinimum(time.begin, time.end);
  const bool waits = wait_[j] + held_before_[j] <= prices_->bandwidth[j] + held_before_[j + 1];
  if (!waits) usage.bandwidth[j] += chain.bytes;
  UseBytes(chain.bytes, time.paid_before, waits ? j : j + 1, usage);
}

void ChainPlanner::UseEnd(const BufferChain& chain, Usage& usage) const {
  if (chain.ending == ChainEnd::kNothing) return;
  const WriteBackTime time = TimeAtEnd(chain);
  if (chain.ending == ChainEnd::kHoldOrWriteBack &&
      Hold(chain, time.paid_before, chain.end) <= WriteBack(chain, time)) {
    UseHold(chain, time.paid_before, chain.end, usage);
    return;
  }
  UseWriteBack(chain, time, usage);
}

void ChainPlanner::UsePlan(const BufferChain& chain, State last, Usage& usage) const {
  if (last == kFast) UseEnd(chain, usage);
  State state = last;
  for (size_t k = chain.links.size(); k-- > 0;) {
    const ChainLink& link = chain.links[k];
    const Step& step = steps_[k][state];
    const InstructionIndex begin = GapBegin(chain, k);
    if (step.held) {
      UseHold(chain, begin, link.instruction, usage);
      usage.stays[link.access] = 1;
    }
    if (step.written_back) UseWriteBack(chain, TimeBefore(chain, k, step.held), usage);
    if (step.copied_in) UseCopyIn(chain, link, usage);
    if (step.in_fast_memory && PaysForInstruction(chain, k)) {
      UseHold(chain, link.instruction, link.instruction + 1, usage);
    }
    if (step.uses_fast_memory) usage.accesses[link.access] += 1;
    state = step.from;
  }
}

}  // namespace mallocmuzero::bound
