#include "env/observation.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/enums.h"
#include "env/observation_scale.h"

namespace mallocmuzero {

using namespace observation;  // NOLINT(google-build-using-namespace): names of features only

namespace {

constexpr int32_t kEarliest = kTimeOffsets[0];
constexpr int32_t kLatest = kTimeOffsets[kTimes - 1];

// Entry k: rows of the image up to the instruction at distance kEarliest - 1 + k from now.
constexpr auto kRows = [] {
  std::array<uint8_t, kLatest - kEarliest + 2> rows{};
  for (int32_t distance = kEarliest; distance <= kLatest; ++distance) {
    uint8_t count = 0;
    for (const int32_t offset : kTimeOffsets) count += offset <= distance ? 1 : 0;
    rows[distance - kEarliest + 1] = count;
  }
  return rows;
}();

// Number of rows of the image up to an instruction.
size_t RowsUpTo(InstructionIndex instruction, InstructionIndex now) {
  const int32_t distance = instruction - now;
  return kRows[std::clamp<int32_t>(distance, kEarliest - 1, kLatest) - (kEarliest - 1)];
}

using Bins = std::array<float, kAddressBins>;

// Writes the rows of the image: row r is the sum of the entries after r. Clears the entries.
void WriteRows(std::array<Bins, kTimes + 1>& entries, float* out) {
  Bins sum{};
  for (size_t row = kTimes; row-- > 0;) {
    for (size_t b = 0; b < kAddressBins; ++b) {
      sum[b] += entries[row + 1][b];
      out[row * kAddressBins + b] = std::clamp(sum[b], 0.0F, 1.0F);
    }
  }
  entries = {};
}

}  // namespace

void ObservationWriter::LookAtDecision(const Game& game) {
  assert(!game.finished());
  assert(&game.rules() == &tables_.rules());
  const Access& access = game.program().accesses()[game.access()];
  now_ = access.instruction;
  buffer_ = access.buffer;
}

void ObservationWriter::WriteBrief(const Game& game, absl::Span<float> out) {
  assert(out.size() == kBriefSize);
  LookAtDecision(game);
  incumbent_ = nullptr;
  WriteDecision(game, out.data());
  WriteAccess(game, game.access(), out.data() + kBriefAccessOffset);
  WriteProgram(game, out.data() + kBriefProgramOffset);
}

void ObservationWriter::Write(const Game& game, absl::Span<float> out,
                              const ShownIncumbent* incumbent) {
  assert(out.size() == kObservationSize);
  LookAtDecision(game);
  incumbent_ = incumbent;
  WriteMemory(game, out.data() + kMemoryOffset);
  WriteIncumbent(game, out.data() + kIncumbentOffset);
  WriteBandwidth(game, out.data() + kBandwidthOffset);
  WriteDecision(game, out.data() + kDecisionOffset);
  WriteAccesses(game, out.data() + kAccessesOffset);
  WriteActions(game, out.data() + kActionsOffset);
  WriteRecent(game, out.data() + kRecentOffset);
  WriteProgram(game, out.data() + kProgramOffset);
}

void ObservationWriter::WriteMemory(const Game& game, float* out) {
  const FastMemory& memory = game.fast_memory();
  const double bins_per_byte =
      static_cast<double>(kAddressBins) / static_cast<double>(memory.bytes());
  for (size_t r = 0; r < memory.regions().size(); ++r) {
    const FastMemory::Region& region = memory.regions()[r];
    const size_t taken = RowsUpTo(region.last, now_);
    const bool used_again =
        region.owner != FastMemory::kNobody && region.next_use != FastMemory::kForever;
    const size_t held = used_again ? std::max(taken, RowsUpTo(region.next_use, now_)) : taken;
    if (held == 0) continue;
    const auto begin = static_cast<float>(static_cast<double>(region.offset) * bins_per_byte);
    const auto end = static_cast<float>(static_cast<double>(memory.EndOf(r)) * bins_per_byte);
    for (auto b = static_cast<size_t>(begin); b < kAddressBins && static_cast<float>(b) < end;
         ++b) {
      const auto bin = static_cast<float>(b);
      const float share = std::min(end, bin + 1) - std::max(begin, bin);
      taken_[taken][b] += share;
      held_[held][b] += share;
      held_[taken][b] -= share;
    }
  }
  WriteRows(taken_, out + kTaken * kTimes * kAddressBins);
  WriteRows(held_, out + kHeld * kTimes * kAddressBins);
}

void ObservationWriter::WriteIncumbent(const Game& game, float* out) const {
  std::fill_n(out, kIncumbentFeatures, 0.0F);
  if (incumbent_ == nullptr) return;
  out[kIncumbentIsShown] = 1;
  out[kLead] = CyclesScale(incumbent_->lead);
  // Rewards of equal decisions differ by rounding, which kLead's logarithm would enlarge.
  constexpr float kRounding = 1e-9F;
  if (std::abs(incumbent_->lead) > kRounding) {
    out[kLeadSign] = incumbent_->lead > 0 ? 1 : -1;
  } else {
    out[kLead] = 0;
  }
  out[kWindowLeft] = CountScale(std::max(0, incumbent_->window_end - game.access()), 16);
}

void ObservationWriter::WriteBandwidth(const Game& game, float* out) const {
  const Program& program = game.program();
  const auto capacity = static_cast<double>(program.hardware().fast_memory_bytes());
  const auto bytes = static_cast<double>(program.buffers()[buffer_].bytes);
  double idle = 0;
  double spare = 0;
  InstructionIndex reached = now_;
  for (size_t s = 0; s < kSpans; ++s, out += kBandwidthFeatures) {
    const uint32_t span = uint32_t{1} << s;
    while (reached > 0 && reached + span > now_) {
      --reached;
      idle += game.timeline().IdleBytes(reached);
      spare += game.timeline().SpareBytes(reached);
    }
    out[kSpareBefore] = SizeScale(spare / capacity);
    out[kFitsBefore] = EnoughScale(spare, bytes);
    out[kBusyBefore] = idle > 0 ? Clamp((idle - spare) / idle) : 0;
    const InstructionIndex end = std::min(now_ + span, program.instructions().end_index());
    const double after = tables_.idle_before_[end] - tables_.idle_before_[now_];
    out[kIdleAfter] = SizeScale(after / capacity);
    out[kFitsAfter] = EnoughScale(after, bytes + game.timeline().PendingOut());
  }
}

void ObservationWriter::WriteDecision(const Game& game, float* out) const {
  const ProgramRules& rules = *tables_.rules_;
  const Program& program = game.program();
  const Instruction& instruction = program.instructions()[now_];
  const uint32_t own = game.access() - instruction.first_access;
  uint64_t fast = 0;     // decided accesses in fast memory
  uint64_t to_come = 0;  // later accesses that may be in fast memory
  for (uint32_t k = 0; k < instruction.access_count; ++k) {
    const AccessIndex a = instruction.first_access + k;
    const uint64_t bit = uint64_t{1} << k;
    if (game.in_fast_memory()[a] != 0) fast |= bit;
    if (k > own && !rules.buffer(program.accesses()[a].buffer).stays_in_hbm) to_come |= bit;
  }
  const uint64_t bit = uint64_t{1} << own;
  const auto saving = [&](uint64_t others) {
    const double cycles =
        program.latency().Cycles(now_, others) - program.latency().Cycles(now_, others | bit);
    return CyclesScale(rules.ShareOfAllHbm(cycles * instruction.execution_count));
  };
  out[kMayCopy] = game.IsLegal(Action::kCopy) ? 1 : 0;
  out[kMayNotCopy] = game.IsLegal(Action::kNoCopy) ? 1 : 0;
  out[kMayDrop] = game.IsLegal(Action::kDrop) ? 1 : 0;
  const InstructionIndex start = game.copy_start();
  out[kCopyDistance] = start >= 0 ? tables_.distances_[now_ - start] : 0;
  out[kCopyHasStart] = start >= 0 ? 1 : 0;
  out[kSavingNow] = saving(fast);
  out[kSavingWithAll] = saving(fast | to_come);
  out[kFastSoFar] =
      own > 0 ? static_cast<float>(__builtin_popcountll(fast)) / static_cast<float>(own) : 0;
  const AccessIndex previous = tables_.previous_access_[game.access()];
  out[kLastWasFast] =
      previous != ProgramRules::kNone && game.in_fast_memory()[previous] != 0 ? 1 : 0;
}

void ObservationWriter::WriteAccesses(const Game& game, float* out) const {
  WriteAccess(game, game.access(), out);
  const uint32_t first = tables_.first_candidate_[game.access()];
  for (size_t k = 0; k < kWindow; ++k) {
    out += kAccessFeatures;
    if (first + k < tables_.candidates_.size()) {
      WriteAccess(game, tables_.candidates_[first + k], out);
    } else {
      std::fill_n(out, kAccessFeatures, 0.0F);
    }
  }
}

void ObservationWriter::WriteAccess(const Game& game, AccessIndex access, float* out) const {
  const Access& it = game.program().accesses()[access];
  std::copy_n(tables_.accesses_[access].begin(), kStaticFeatures, out);
  const Game::HbmCopy hbm = game.hbm_copy(it.buffer);
  out[kIsThere] = 1;
  out[kInFastMemory] = game.InFastMemory(it.buffer) ? 1 : 0;
  out[kHbmCurrent] = hbm == Game::HbmCopy::kCurrent ? 1 : 0;
  out[kHbmPending] = hbm == Game::HbmCopy::kPending ? 1 : 0;
  out[kAhead] = tables_.distances_[it.instruction - now_];
  out[kSameBuffer] = it.buffer == buffer_ ? 1 : 0;
  out[kSameInstruction] = it.instruction == now_ ? 1 : 0;
  out[kIncumbentFast] = 0;
  if (incumbent_ != nullptr) out[kIncumbentFast] = incumbent_->in_fast_memory[access] != 0 ? 1 : -1;
}

void ObservationWriter::WriteActions(const Game& game, float* out) const {
  const absl::Span<const Action> history = game.history();
  std::fill_n(out, kLastActions * kActionCount, 0.0F);
  for (size_t k = 0; k < std::min(kLastActions, history.size()); ++k) {
    out[k * kActionCount + Underlying(history[history.size() - 1 - k])] = 1;
  }
}

void ObservationWriter::WriteRecent(const Game& game, float* out) const {
  std::fill_n(out, kRecent * kRecentFeatures, 0.0F);
  // One less: the current access is a candidate, too.
  const uint32_t before = tables_.first_candidate_[game.access()] - 1;
  for (uint32_t k = 0; k < std::min<uint32_t>(kRecent, before); ++k, out += kRecentFeatures) {
    const AccessIndex a = tables_.candidates_[before - 1 - k];
    out[kRecentIsThere] = 1;
    out[kRecentFast] = game.in_fast_memory()[a] != 0 ? 1 : 0;
    out[kRecentIsRead] = tables_.accesses_[a][kIsRead];
    out[kRecentBytes] = tables_.accesses_[a][kBytes];
    out[kRecentSaving] = tables_.accesses_[a][kSaving];
  }
}

void ObservationWriter::WriteProgram(const Game& game, float* out) const {
  const ProgramRules& rules = *tables_.rules_;
  const FastMemory& memory = game.fast_memory();
  std::copy_n(tables_.program_.begin(), kProgramFeatures, out);
  out[kProgress] =
      static_cast<float>(game.access().number()) / static_cast<float>(rules.access_count());
  out[kReturn] = Clamp(game.total_return());
  out[kInitialReturn] = Clamp(game.initial_return());
  out[kStalls] = CyclesScale(rules.ShareOfAllHbm(game.timeline().stall_cycles()));
  int64_t taken = 0;
  for (size_t r = 0; r < memory.regions().size(); ++r) {
    const FastMemory::Region& region = memory.regions()[r];
    if (region.last >= now_) taken += memory.EndOf(r) - region.offset;
  }
  out[kTakenNow] = Clamp(static_cast<double>(taken) / static_cast<double>(memory.bytes()));
  out[kPendingOut] = SizeScale(game.timeline().PendingOut() / static_cast<double>(memory.bytes()));
}

}  // namespace mallocmuzero
