// Short forms for making Prometheus metrics.

#ifndef MALLOCMUZERO_METRICS_FAMILIES_H_
#define MALLOCMUZERO_METRICS_FAMILIES_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace mallocmuzero {

// Each registers a family in `registry`; the results live as long as the registry. `help` is the
// text that Prometheus shows.
prometheus::Family<prometheus::Gauge>& MakeGauges(prometheus::Registry& registry,
                                                  const std::string& name, const char* help);
prometheus::Family<prometheus::Counter>& MakeCounters(prometheus::Registry& registry,
                                                      const std::string& name, const char* help);

// The same for a family with a single metric without labels.
prometheus::Gauge& MakeGauge(prometheus::Registry& registry, const std::string& name,
                             const char* help);
prometheus::Counter& MakeCounter(prometheus::Registry& registry, const std::string& name,
                                 const char* help);
prometheus::Histogram& MakeHistogram(prometheus::Registry& registry, const std::string& name,
                                     const char* help,
                                     const prometheus::Histogram::BucketBoundaries& bounds);

// Raises a counter to a total that is kept elsewhere. A total below the counter's value is ignored.
void Raise(prometheus::Counter& counter, double total);

// Raises the buckets of a histogram to totals that are kept elsewhere.
class FollowingHistogram {
 public:
  // `histogram` must outlive this and gets its values from here alone.
  explicit FollowingHistogram(prometheus::Histogram& histogram) : histogram_(histogram) {}

  // `counts` has the number of values in each bucket, that of the values above all bounds last.
  // `sum` is that of all values. No number may be below that of the call before.
  void Follow(absl::Span<const uint64_t> counts, double sum);

 private:
  prometheus::Histogram& histogram_;
  std::vector<uint64_t> counts_;  // of the last call
  double sum_ = 0;
};

// A gauge for each reason to wait. The gauge of the present reason is 1, all others are 0.
template <typename Reason>
class ReasonGauges {
 public:
  ReasonGauges() = default;  // no gauges

  // Registers the family `name`. The label "on" of a gauge is the text of its reason.
  ReasonGauges(prometheus::Registry& registry, const std::string& name, const char* help,
               std::initializer_list<std::pair<Reason, const char*>> reasons) {
    auto& family = MakeGauges(registry, name, help);
    for (const auto& [reason, text] : reasons) {
      gauges_.emplace_back(reason, &family.Add({{"on", text}}));
    }
  }

  // A reason without a gauge sets all gauges to 0.
  void Set(Reason present) {
    for (const auto& [reason, gauge] : gauges_) gauge->Set(reason == present ? 1 : 0);
  }

 private:
  std::vector<std::pair<Reason, prometheus::Gauge*>> gauges_;
};

// The registry in which a caller wants metrics. If the caller wants none, the metrics have a
// registry of their own that is not served.
class RegistryOrOwn {
 public:
  // `given` may be null. It is not owned and must outlive this.
  explicit RegistryOrOwn(prometheus::Registry* given)
      : own_(given == nullptr ? std::make_unique<prometheus::Registry>() : nullptr),
        used_(given == nullptr ? own_.get() : given) {}

  prometheus::Registry& get() const { return *used_; }

 private:
  std::unique_ptr<prometheus::Registry> own_;
  prometheus::Registry* used_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_METRICS_FAMILIES_H_
