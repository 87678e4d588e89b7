#include "env/solvers/neighbourhood.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "base/enums.h"
#include "env/solvers/fewest_cycles.h"
#include "simulator/core/mapping.h"

namespace mallocmuzero {
namespace {

// Values that may make room for one value, and the distance in accesses up to which they, and a
// value to swap with, are searched for.
constexpr uint32_t kMostVictims = 16;
constexpr uint32_t kReach = 20;

// Movable accesses among which a disturbance scatters its moves.
constexpr uint32_t kScatterWidth = 40;

// So many of a hundred draws change all alike accesses (docs/search-scaling.md and
// docs/search-scaling-history.md). Accesses that have more alike ones than kMostAlike are changed
// alone, as they are hardly in layers of a model.
constexpr uint32_t kAlikePercent = 30;
constexpr size_t kMostAlike = 64;

constexpr int64_t kAnyBytes = std::numeric_limits<int64_t>::max();

}  // namespace

NeighbourhoodTables::NeighbourhoodTables(const ProgramFacts& facts) : facts_(facts), alike_(facts) {
  double sum = 0;
  for (const AccessIndex a : program().accesses().indices()) {
    if (!facts.IsMovable(a)) continue;
    movable_.push_back(a);
    sum += std::sqrt(std::abs(facts.savings()[a]) + 1e-6 * rules().all_hbm_cycles());
    cumulative_weight_.push_back(sum);
  }
  for (const InstructionIndex i : program().instructions().indices()) {
    fewest_cycles_.push_back(FewestCyclesFound(rules(), i));
    regret_in_hbm_.push_back(Regret(i, 0));
  }
}

double NeighbourhoodTables::Regret(InstructionIndex instruction, uint64_t fast_mask) const {
  const double regret =
      program().latency().Cycles(instruction, fast_mask) - fewest_cycles_[instruction];
  return std::max(0.0, regret) * program().instructions()[instruction].execution_count;
}

Neighbourhood::Neighbourhood(const NeighbourhoodTables& tables)
    : tables_(tables),
      facts_(tables.facts()),
      window_(whole()),
      regret_(tables.regret_in_hbm().begin(), tables.regret_in_hbm().end()),
      regret_mask_(regret_.size(), 0) {}

uint32_t Neighbourhood::PositionOf(AccessIndex access) const {
  const absl::Span<const AccessIndex> movable = tables_.movable();
  return std::lower_bound(movable.begin(), movable.end(), access) - movable.begin();
}

Window Neighbourhood::WindowAround(AccessIndex access, uint32_t width) const {
  if (size() <= width) return whole();
  const uint32_t position = PositionOf(access);
  const uint32_t first = std::min(position - std::min(position, width / 2), size() - width);
  return {.first = first, .end = first + width};
}

std::pair<AccessIndex, AccessIndex> Neighbourhood::AccessesIn(const Window& window) const {
  return {tables_.movable()[window.first], tables_.movable()[window.end - 1] + 1};
}

void Neighbourhood::SetWindow(const Window& window) {
  window_ = window;
  regret_version_ = 0;
}

absl::Span<const PlanChange> Neighbourhood::Draw(const Incumbent& incumbent, Random& random) {
  changes_.clear();
  const bool costly = random.Below(2) == 0;
  const AccessIndex access = costly ? DrawCostlyAccess(incumbent, random) : DrawAccess(random);
  // The shares follow what each kind gained for the time it takes.
  const uint32_t kind = random.Below(100);
  if (kind < 30) {
    FlipOne(incumbent, access, random);
  } else if (kind < 50) {
    MoveStretch(access, random.Below(2) == 0 ? Space::kFast : Space::kHbm, random);
  } else if (kind < 80) {
    MakeRoom(incumbent, access, random);
  } else {
    Swap(incumbent, access, random);
  }
  const bool is_whole = window_.size() == size();
  if (is_whole && tables_.alike().any() && random.Below(100) < kAlikePercent) ChangeAlike();
  Tidy();
  return changes_;
}

absl::Span<const PlanChange> Neighbourhood::DrawKick(const Incumbent& incumbent, Random& random) {
  changes_.clear();
  if (random.Below(2) == 0) {
    Displace(incumbent, DrawPlace(incumbent, random), random);
  } else {
    Scatter(DrawAccess(random), random);
  }
  Tidy();
  return changes_;
}

AccessIndex Neighbourhood::DrawPlace(const Incumbent& incumbent, Random& random) {
  const bool costly = random.Below(2) == 0;
  return costly ? DrawCostlyAccess(incumbent, random) : DrawAccess(random);
}

absl::Span<const PlanChange> Neighbourhood::Spread(const Plan& before, const Incumbent& incumbent) {
  changes_.clear();
  const Plan& plan = incumbent.plan();
  const auto [first, end] = AccessesIn(window_);
  for (uint32_t k = window_.first; k < window_.end; ++k) {
    const AccessIndex changed = tables_.movable()[k];
    if (plan[changed] == before[changed]) continue;
    for (const AccessIndex a : tables_.alike().To(changed)) {
      const bool is_outside = a < first || a >= end;
      if (is_outside && plan[a] != plan[changed]) changes_.push_back({a, plan[changed]});
    }
  }
  Sort();
  return changes_;
}

void Neighbourhood::Scatter(AccessIndex access, Random& random) {
  const uint32_t width = std::min(size(), kScatterWidth);
  const uint32_t first = std::min(PositionOf(access), size() - width);
  const uint32_t moves = 2 + random.Below(6);
  for (uint32_t m = 0; m < moves; ++m) {
    const AccessIndex moved = tables_.movable()[first + random.Below(width)];
    MoveStretch(moved, random.Below(2) == 0 ? Space::kFast : Space::kHbm, random);
  }
}

AccessIndex Neighbourhood::DrawAccess(Random& random) const {
  if (random.Below(2) == 0) return tables_.movable()[window_.first + random.Below(window_.size())];
  const absl::Span<const double> sums = tables_.cumulative_weight();
  const double before = window_.first == 0 ? 0 : sums[window_.first - 1];
  const double at = before + random.Unit() * (sums[window_.end - 1] - before);
  const auto found = std::upper_bound(sums.begin() + window_.first, sums.begin() + window_.end, at);
  return tables_.movable()[std::min<size_t>(found - sums.begin(), window_.end - 1)];
}

AccessIndex Neighbourhood::DrawCostlyAccess(const Incumbent& incumbent, Random& random) {
  constexpr int kAttempts = 8;
  UpdateRegret(incumbent);
  const double at = random.Unit() * cumulative_regret_.back();
  const auto found = std::upper_bound(cumulative_regret_.begin(), cumulative_regret_.end(), at);
  const auto index =
      std::min<size_t>(found - cumulative_regret_.begin(), cumulative_regret_.size() - 1);
  const InstructionIndex first =
      tables_.program().accesses()[AccessesIn(window_).first].instruction;
  const Instruction& instruction = tables_.program().instructions()[first + index];
  for (int attempt = 0; attempt < kAttempts && instruction.access_count > 0; ++attempt) {
    const AccessIndex a = instruction.first_access + random.Below(instruction.access_count);
    if (facts_.IsMovable(a) && !incumbent.IsFast(a)) return a;
  }
  return DrawAccess(random);
}

void Neighbourhood::UpdateRegret(const Incumbent& incumbent) {
  if (regret_version_ == incumbent.version()) return;
  regret_version_ = incumbent.version();
  cumulative_regret_.clear();
  const Program& program = tables_.program();
  const auto [first, end] = AccessesIn(window_);
  const InstructionIndex last = program.accesses()[end - 1].instruction;
  double sum = 0;
  for (InstructionIndex i = program.accesses()[first].instruction; i <= last; ++i) {
    const uint64_t mask = FastMask(program, i, incumbent.in_fast_memory());
    if (mask != regret_mask_[i]) {  // few change between two versions
      regret_[i] = tables_.Regret(i, mask);
      regret_mask_[i] = mask;
    }
    sum += regret_[i];
    cumulative_regret_.push_back(sum);
  }
}

void Neighbourhood::FlipOne(const Incumbent& incumbent, AccessIndex access, Random& random) {
  const uint32_t now = Underlying(incumbent.plan()[access]);
  changes_.push_back({access, kActions[(now + 1 + random.Below(kActionCount - 1)) % kActionCount]});
}

void Neighbourhood::MoveStretch(AccessIndex access, Space space, Random& random) {
  const auto [first, last] = DrawStretch(access, random);
  Move(facts_.values()[facts_.ValueOf(access)], first, last, space, random);
}

std::pair<size_t, size_t> Neighbourhood::DrawStretch(AccessIndex access, Random& random) const {
  const size_t end = facts_.values()[facts_.ValueOf(access)].accesses.size();
  const size_t at = facts_.PositionOf(access);
  switch (random.Below(4)) {
    case 0:
      return {0, end - 1};
    case 1:
      return {at, end - 1};
    case 2:
      return {at == 0 ? 0 : at - 1, at};
    default:
      return {at, std::min<size_t>(end - 1, at + random.Below(3))};
  }
}

void Neighbourhood::Move(const Value& value, size_t first, size_t last, Space space,
                         Random& random) {
  const bool to_the_end = last + 1 == value.accesses.size();
  for (size_t k = first; k <= last; ++k) {
    const AccessIndex a = value.accesses[k];
    Action action = Action::kDrop;
    if (space == Space::kFast) {
      action = Action::kNoCopy;
      const bool is_read = tables_.program().accesses()[a].kind == AccessKind::kRead;
      if (!is_read && (!to_the_end || random.Below(4) == 0)) action = Action::kCopy;
    }
    changes_.push_back({a, action});
  }
}

void Neighbourhood::MakeRoom(const Incumbent& incumbent, AccessIndex access, Random& random) {
  const Value& value = facts_.values()[facts_.ValueOf(access)];
  const size_t at = facts_.PositionOf(access);
  const size_t from = at == 0 ? 0 : at - 1;
  // The values that are in fast memory between the two accesses may take the room.
  const uint32_t victims = 1 + random.Below(2);
  Evict(incumbent, facts_.ValueOf(access), {value.accesses[from], access}, victims, kAnyBytes,
        random);
  Move(value, from, random.Below(2) == 0 ? at : value.accesses.size() - 1, Space::kFast, random);
}

void Neighbourhood::Displace(const Incumbent& incumbent, AccessIndex access, Random& random) {
  const Value& value = facts_.values()[facts_.ValueOf(access)];
  const auto [first, last] = DrawStretch(access, random);
  // Values that occupy fast memory in this stretch may have their accesses before and after it.
  const AccessIndex from = std::max(value.accesses[first] - kReach, AccessIndex(0));
  const AccessIndex end = value.accesses[last] + 1 + kReach;
  Evict(incumbent, facts_.ValueOf(access), {from, end}, kMostVictims,
        tables_.rules().buffer(value.buffer).bytes, random);
  Move(value, first, last, Space::kFast, random);
}

void Neighbourhood::Evict(const Incumbent& incumbent, ValueIndex spared,
                          std::pair<AccessIndex, AccessIndex> accesses, uint32_t victims,
                          int64_t bytes, Random& random) {
  const uint32_t from = PositionOf(accesses.first);
  const uint32_t width = PositionOf(accesses.second) - from;
  absl::InlinedVector<ValueIndex, 16> chosen = {spared};
  for (uint32_t v = 0; v < victims && width > 0 && bytes > 0; ++v) {
    for (int attempt = 0; attempt < 8; ++attempt) {
      const AccessIndex other = tables_.movable()[from + random.Below(width)];
      const ValueIndex value = facts_.ValueOf(other);
      if (!incumbent.IsFast(other) || absl::c_linear_search(chosen, value)) continue;
      MoveStretch(other, Space::kHbm, random);
      bytes -= tables_.rules().buffer(facts_.values()[value].buffer).bytes;
      chosen.push_back(value);
      break;
    }
  }
}

void Neighbourhood::Swap(const Incumbent& incumbent, AccessIndex access, Random& random) {
  const bool was_fast = incumbent.IsFast(access);
  MoveStretch(access, was_fast ? Space::kHbm : Space::kFast, random);
  const int64_t at = PositionOf(access);
  const auto count = std::ssize(tables_.movable());
  for (int attempt = 0; attempt < 16; ++attempt) {
    const int64_t near = at - kReach + random.Below(2 * kReach + 1);
    if (near < 0 || near >= count) continue;
    const AccessIndex other = tables_.movable()[near];
    if (facts_.ValueOf(other) == facts_.ValueOf(access) || incumbent.IsFast(other) == was_fast)
      continue;
    MoveStretch(other, was_fast ? Space::kFast : Space::kHbm, random);
    return;
  }
}

void Neighbourhood::ChangeAlike() {
  const size_t count = changes_.size();
  for (size_t k = 0; k < count; ++k) {
    const PlanChange change = changes_[k];
    const absl::Span<const AccessIndex> alike = tables_.alike().To(change.access);
    if (alike.size() > kMostAlike) continue;
    for (const AccessIndex a : alike) {
      if (a != change.access) changes_.push_back({a, change.action});
    }
  }
}

void Neighbourhood::Sort() {
  std::stable_sort(changes_.begin(), changes_.end(),
                   [](const auto& a, const auto& b) { return a.access < b.access; });
  size_t kept = 0;
  for (size_t k = 0; k < changes_.size(); ++k) {
    if (kept > 0 && changes_[kept - 1].access == changes_[k].access) --kept;
    changes_[kept++] = changes_[k];
  }
  changes_.resize(kept);
}

void Neighbourhood::Tidy() {
  Sort();
  if (window_.size() == size()) return;
  const std::pair<AccessIndex, AccessIndex> accesses = AccessesIn(window_);
  const auto is_outside = [&accesses](const PlanChange& change) {
    return change.access < accesses.first || change.access >= accesses.second;
  };
  changes_.erase(std::remove_if(changes_.begin(), changes_.end(), is_outside), changes_.end());
}

}  // namespace mallocmuzero
