#include "env/hold_market.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "simulator/core/program.h"
#include "simulator/core/savings.h"

namespace mallocmuzero {
namespace {

// What just fits has room, however the sums were rounded.
constexpr double kRounding = 1e-9;

// Bytes held over time. Two Fenwick trees over instructions: of the load's changes, and of those
// times the cycles before them.
class HeldBytes {
 public:
  // Cycles before each instruction, and of all.
  explicit HeldBytes(absl::Span<const double> elapsed)
      : elapsed_(elapsed), changes_(elapsed.size() + 1), moments_(elapsed.size() + 1) {}

  // Holds `bytes` for instructions from `first` to before `end`.
  void Add(size_t first, size_t end, double bytes) {
    Change(first, bytes);
    Change(end, -bytes);
  }

  // Bytes times cycles, of instructions from `first` to before `end`.
  double Between(size_t first, size_t end) const { return Before(end) - Before(first); }

 private:
  void Change(size_t at, double bytes) {
    for (size_t k = at + 1; k < changes_.size(); k += k & (~k + 1)) {
      changes_[k] += bytes;
      moments_[k] += bytes * elapsed_[at];
    }
  }

  // What changed before instruction `end`, from then to it.
  double Before(size_t end) const {
    double load = 0;
    double moment = 0;
    for (size_t k = end; k > 0; k -= k & (~k + 1)) {
      load += changes_[k];
      moment += moments_[k];
    }
    return load * elapsed_[end] - moment;
  }

  const absl::Span<const double> elapsed_;
  std::vector<double> changes_;
  std::vector<double> moments_;
};

// A hold with where it is: instructions from `first` to before `end`.
struct Offer {
  uint32_t access = 0;
  size_t first = 0;
  size_t end = 0;
  double bytes = 0;
  double price = 0;
};

std::vector<Offer> FindOffers(const ProgramRules& rules, absl::Span<const double> savings,
                              absl::Span<const double> elapsed) {
  const Program& program = rules.program();
  const double unit = HoldPriceUnit(program, savings, elapsed.back());
  std::vector<Offer> offers;
  for (uint32_t b = 0; b < program.buffer_count(); ++b) {
    const absl::Span<const uint32_t> accesses = program.AccessesOfBuffer(b);
    for (size_t k = 1; k < accesses.size(); ++k) {
      const Access& access = program.accesses()[accesses[k]];
      if (access.kind == AccessKind::kWrite) continue;
      Offer offer;
      offer.access = accesses[k];
      offer.first = program.accesses()[accesses[k - 1]].instruction + size_t{1};
      offer.end = rules.SpanEnd(access.instruction, rules.buffer(b).home) + size_t{1};
      offer.bytes = static_cast<double>(rules.buffer(b).bytes);
      // Of no time at all, such as between two accesses of one instruction: a cycle.
      const double cycles = std::max(1.0, elapsed[offer.end] - elapsed[offer.first]);
      if (unit > 0) offer.price = savings[offer.access] / (offer.bytes * cycles) / unit;
      offers.push_back(offer);
    }
  }
  return offers;
}

}  // namespace

double HoldPriceUnit(const Program& program, absl::Span<const double> savings, double cycles) {
  double all_savings = 0;
  for (const double saving : savings) all_savings += std::max(0.0, saving);
  return all_savings /
         (static_cast<double>(program.hardware().fast_memory_bytes()) * std::max(1.0, cycles));
}

std::vector<Hold> FindHolds(const ProgramRules& rules, absl::Span<const double> savings) {
  const std::vector<double> elapsed = CyclesBefore(rules.program());
  std::vector<Offer> offers = FindOffers(rules, savings, elapsed);
  std::stable_sort(offers.begin(), offers.end(),
                   [](const auto& a, const auto& b) { return a.price > b.price; });
  const auto capacity = static_cast<double>(rules.program().hardware().fast_memory_bytes());
  HeldBytes held(elapsed);
  std::vector<Hold> holds(rules.access_count());
  for (const Offer& offer : offers) {
    const double cycles = elapsed[offer.end] - elapsed[offer.first];
    const double load = cycles > 0 ? held.Between(offer.first, offer.end) / cycles / capacity : 0;
    holds[offer.access] = {.exists = true, .price = offer.price, .load = load};
    const bool is_taken = offer.price > 0 && load + offer.bytes / capacity <= 1 + kRounding;
    if (is_taken) held.Add(offer.first, offer.end, offer.bytes);
  }
  return holds;
}

}  // namespace mallocmuzero
