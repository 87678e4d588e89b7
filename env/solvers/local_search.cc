#include "env/solvers/local_search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "base/random.h"
#include "base/rounding.h"

namespace mallocmuzero {
namespace {

// Share of the cycles. A smaller gain may be rounding.
constexpr double kLeastGain = 1e-10;

// After so many kicks, or windows, in a row that find no better plan, a search looks at the others'
// best plan.
constexpr int kPatience = 3;

// A search ends when it has tried so many changes for each access in a row and none has played a
// game.
constexpr uint64_t kEmptyTries = 1000;

// Movable accesses of a window. docs/search-scaling-history.md has measurements, and the programs
// on which the constants of windows were chosen.
constexpr uint32_t kWindow = 64;

// Windows whose gains are settled by one game, at most.
constexpr uint32_t kMostUnsettled = 64;

// Gains are settled at the latest when tries have played so many decisions for each movable access
// since the last time. Late in a search windows seldom gain, and many games would be played on
// assumptions that may be wrong.
constexpr uint64_t kMostPlayedUnsettled = 16;

// Multiples of it, without their whole parts, are spread evenly over the numbers from 0 to 1.
constexpr double kGoldenRatio = 0.6180339887498949;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

std::vector<PlanChange> Differences(const Plan& from, const Plan& to) {
  std::vector<PlanChange> changes;
  for (const AccessIndex a : from.indices()) {
    if (from[a] != to[a]) changes.push_back({.access = a, .action = to[a]});
  }
  return changes;
}

// Fewer cycles are a gain.
double JustBelow(double cycles) { return cycles - kLeastGain * cycles; }

}  // namespace

// The states of Random lie kSplitMixIncrement apart. A seed that is a few increments further on
// would give the same numbers a little later. Mixed seeds lie anywhere.
uint64_t SeedOfThread(uint64_t seed, uint32_t thread) {
  return thread == 0 ? seed : SplitMix(seed + thread * kSplitMixIncrement);
}

absl::StatusOr<PlayedPlan> LocalSearchSolver::Improve(const ProgramFacts& facts,
                                                      absl::Span<const PlayedPlan> starts,
                                                      uint64_t seed, SearchBudget& budget) const {
  if (budget.spent()) return BestOf(starts);
  const NeighbourhoodTables tables(facts);
  const uint32_t count = std::max(1U, budget.options().threads);
  PlanExchange exchange;
  std::vector<PlayedPlan> found(count);
  const auto search = [&](uint32_t k) {
    found[k] = LocalSearch(tables, SeedOfThread(seed, k), budget, count > 1 ? &exchange : nullptr)
                   .Run(starts);
  };
  std::vector<std::thread> threads;
  for (uint32_t k = 1; k < count; ++k) threads.emplace_back(search, k);
  search(0);
  for (std::thread& thread : threads) thread.join();
  return BestOf(found);
}

LocalSearch::LocalSearch(const NeighbourhoodTables& tables, uint64_t seed, SearchBudget& budget,
                         PlanExchange* exchange)
    : facts_(tables.facts()),
      meter_(budget),
      exchange_(exchange),
      random_(seed),
      neighbourhood_(tables),
      incumbent_(tables.rules()) {}

PlayedPlan LocalSearch::Run(absl::Span<const PlayedPlan> starts) {
  best_ = BestOf(starts);
  if (neighbourhood_.empty() || IsOver()) return best_;
  // The time to climb from several starts grows with the square of the length.
  if (facts_.is_long()) {
    incumbent_.Reset(best_.plan);
    SearchWindows();
    return best_;
  }
  Select({starts.begin(), starts.end()});
  Climb();
  while (!IsOver()) {
    DisturbAndClimb();
    Follow();
  }
  return best_;
}

void LocalSearch::Select(std::vector<PlayedPlan> climbers) {
  constexpr size_t kClimbers = 4;
  uint64_t steps = neighbourhood_.size() / 4 + 1;
  for (size_t left = kClimbers; left > 0; left /= 2, steps *= 2) {
    std::stable_sort(climbers.begin(), climbers.end(),
                     [](const auto& a, const auto& b) { return a.cycles < b.cycles; });
    climbers.resize(std::min(left, climbers.size()));
    if (left == 1) break;
    for (PlayedPlan& climber : climbers) {
      incumbent_.Reset(std::move(climber.plan));
      for (uint64_t k = 0; k < steps && !IsOver(); ++k) Step();
      climber = {incumbent_.plan(), incumbent_.cycles()};
    }
  }
  incumbent_.Reset(std::move(climbers[0].plan));
}

void LocalSearch::DisturbAndClimb() {
  ++idle_kicks_;
  const double before = incumbent_.cycles();
  Plan plan = incumbent_.plan();
  Try(neighbourhood_.DrawKick(incumbent_, random_), kNoLimit);
  Climb();
  Remember();  // the disturbance itself may have gained something, and no step after it
  if (incumbent_.cycles() > before) incumbent_.Reset(std::move(plan));
}

void LocalSearch::SearchWindows() {
  incumbent_.AssumeRests();
  incumbent_.SaveTo(settled_);
  common_ = incumbent_.plan();
  const uint32_t count = (neighbourhood_.size() + kWindow - 1) / kWindow;
  // Windows that come one after the other lie far apart: those of a layer are like those of the
  // next. Threads begin at different windows.
  uint32_t step = RoundToZero(kGoldenRatio * count) + 1;
  while (std::gcd(step, count) > 1) ++step;
  uint32_t window = random_.Below(count);
  for (uint32_t k = 0; k < count && !IsOver(); ++k) {
    window = (window + step) % count;
    const uint32_t first = window * kWindow;
    const uint32_t end = std::min(first + kWindow, neighbourhood_.size());
    ImproveWindow({.first = first, .end = end}, /*disturb=*/false);
  }
  while (!IsOver()) {
    neighbourhood_.SetWindow(neighbourhood_.whole());
    const AccessIndex place = neighbourhood_.DrawPlace(incumbent_, random_);
    ImproveWindow(neighbourhood_.WindowAround(place, kWindow), /*disturb=*/true);
  }
  Settle();
}

void LocalSearch::ImproveWindow(const Window& window, bool disturb) {
  Follow();
  ++idle_kicks_;
  neighbourhood_.SetWindow(window);
  incumbent_.SaveTo(before_);
  if (disturb) Try(neighbourhood_.DrawKick(incumbent_, random_), kNoLimit);
  Climb();
  if (IsBelow(before_.cycles())) {
    Spread();
    unsettled_.push_back(Differences(before_.plan(), incumbent_.plan()));
  } else {
    incumbent_.GoBackTo(before_);
  }
  if (IsTimeToSettle()) Settle();
}

void LocalSearch::Spread() {
  const absl::Span<const PlanChange> changes = neighbourhood_.Spread(before_.plan(), incumbent_);
  Try(changes, JustBelow(incumbent_.cycles()));
  // Layers that have their changes now play nothing.
  const auto [first, end] = neighbourhood_.AccessesIn(neighbourhood_.window());
  for (size_t k = 0; k < changes.size() && !IsOver();) {
    size_t next = k;
    while (next < changes.size() && changes[next].access - changes[k].access < end - first) ++next;
    Try(changes.subspan(k, next - k), JustBelow(incumbent_.cycles()));
    k = next;
  }
}

bool LocalSearch::IsTimeToSettle() const {
  if (unsettled_.empty()) return false;
  const uint64_t played = incumbent_.decisions_played() - played_when_settled_;
  return unsettled_.size() >= settle_after_ || incumbent_.is_exact() ||
         played >= kMostPlayedUnsettled * neighbourhood_.size();
}

void LocalSearch::Settle() {
  const std::vector<Gain> gains = std::exchange(unsettled_, {});
  if (SettleOrGoBack()) {
    settle_after_ = std::min(2 * settle_after_, kMostUnsettled);
  } else {
    settle_after_ = (settle_after_ + 1) / 2;
    KeepSomeOf(gains);
  }
  played_when_settled_ = incumbent_.decisions_played();
}

bool LocalSearch::SettleOrGoBack() {
  incumbent_.Confirm();
  if (incumbent_.cycles() > settled_.cycles()) {
    incumbent_.GoBackTo(settled_);
    return false;
  }
  Remember();
  incumbent_.SaveTo(settled_);
  return true;
}

void LocalSearch::KeepSomeOf(absl::Span<const Gain> gains) {
  if (gains.size() < 2) return;
  const size_t middle = gains.size() / 2;
  for (const absl::Span<const Gain> half : {gains.first(middle), gains.subspan(middle)}) {
    if (IsOver()) return;
    Plan plan = settled_.plan();
    for (const Gain& gain : half) {
      for (const PlanChange& change : gain) plan[change.access] = change.action;
    }
    Try(Differences(settled_.plan(), plan), JustBelow(settled_.cycles()));
    if (!IsBelow(settled_.cycles()) || !SettleOrGoBack()) KeepSomeOf(half);
  }
}

void LocalSearch::Follow() {
  if (exchange_ == nullptr || idle_kicks_ < kPatience) return;
  // The incumbent's cycles may be assumed, and too few.
  const double cycles = std::max(best_.cycles, incumbent_.cycles());
  std::optional<Plan> plan = exchange_->BetterThan(cycles);
  if (!plan) return;
  incumbent_.Reset(*std::move(plan));
  if (facts_.is_long()) TryOwnGains();
  Remember();
}

void LocalSearch::TryOwnGains() {
  const std::vector<PlanChange> own = Differences(common_, settled_.plan());
  incumbent_.SaveTo(settled_);
  Try(own, incumbent_.cycles());
  Settle();
  common_ = incumbent_.plan();
}

void LocalSearch::Climb() {
  for (uint64_t idle = 0; idle < neighbourhood_.window().size() && !IsOver(); ++idle) {
    if (Step()) idle = 0;
  }
}

bool LocalSearch::Step() {
  const double before = incumbent_.cycles();
  Try(neighbourhood_.Draw(incumbent_, random_), before);
  if (!IsBelow(before)) return false;
  if (incumbent_.is_exact()) Remember();
  return true;
}

bool LocalSearch::IsBelow(double cycles) const { return incumbent_.cycles() < JustBelow(cycles); }

void LocalSearch::Try(absl::Span<const PlanChange> changes, double limit) {
  // A game of a long program may take half a second.
  const auto is_time_over = [this] {
    meter_.CountStep();
    return meter_.is_over();
  };
  if (incumbent_.Try(changes, limit, is_time_over)) {
    empty_tries_ = 0;
    meter_.CountGame();
  } else {
    ++empty_tries_;
    meter_.CountStep();
  }
}

bool LocalSearch::IsOver() const {
  return meter_.spent() || empty_tries_ > kEmptyTries * neighbourhood_.size();
}

void LocalSearch::Remember() {
  if (incumbent_.cycles() >= best_.cycles) return;
  best_ = {incumbent_.plan(), incumbent_.cycles()};
  idle_kicks_ = 0;
  meter_.budget().Found(best_);
  if (exchange_ != nullptr) exchange_->Offer(best_.plan, best_.cycles);
}

}  // namespace mallocmuzero
