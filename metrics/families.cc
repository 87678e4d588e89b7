#include "metrics/families.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mallocmuzero {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;

Family<Gauge>& MakeGauges(Registry& registry, const std::string& name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

Family<Counter>& MakeCounters(Registry& registry, const std::string& name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

Gauge& MakeGauge(Registry& registry, const std::string& name, const char* help) {
  return MakeGauges(registry, name, help).Add({});
}

Counter& MakeCounter(Registry& registry, const std::string& name, const char* help) {
  return MakeCounters(registry, name, help).Add({});
}

Histogram& MakeHistogram(Registry& registry, const std::string& name, const char* help,
                         const Histogram::BucketBoundaries& bounds) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, bounds);
}

void Raise(Counter& counter, double total) {
  if (total > counter.Value()) counter.Increment(total - counter.Value());
}

void FollowingHistogram::Follow(absl::Span<const uint64_t> counts, double sum) {
  counts_.resize(counts.size());
  std::vector<double> increments;
  for (size_t b = 0; b < counts.size(); ++b) {
    increments.push_back(static_cast<double>(counts[b] - counts_[b]));
    counts_[b] = counts[b];
  }
  histogram_.ObserveMultiple(increments, sum - sum_);
  sum_ = sum;
}

}  // namespace mallocmuzero
