#include "learner/role/baseline_history.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

namespace mallocmuzero {

void BaselineHistory::Add(uint64_t step, std::shared_ptr<const Baselines> baselines) {
  while (!entries_.empty() && entries_.back().step >= step) entries_.pop_back();
  entries_.push_back({.step = step, .baselines = std::move(baselines)});
  if (entries_.size() > kMostBaselines) Thin();
}

// Removes the entry that leaves the smallest gap, as a share of the age of the gap.
void BaselineHistory::Thin() {
  const uint64_t newest = entries_.back().step;
  size_t removed = 1;
  double smallest = 0;
  for (size_t i = 1; i + 1 < entries_.size(); ++i) {
    const auto gap = static_cast<double>(entries_[i + 1].step - entries_[i - 1].step);
    const double share = gap / static_cast<double>(newest - entries_[i - 1].step);
    if (i == 1 || share < smallest) {
      removed = i;
      smallest = share;
    }
  }
  entries_.erase(entries_.begin() + removed);
}

std::shared_ptr<const Baselines> BaselineHistory::At(uint64_t step) const {
  if (entries_.empty()) return nullptr;
  const auto later = std::find_if(entries_.begin() + 1, entries_.end(),
                                  [step](const Entry& entry) { return entry.step >= step; });
  return std::prev(later)->baselines;
}

}  // namespace mallocmuzero
