// Short forms for making Prometheus metrics.

#ifndef MALLOCMUZERO_METRICS_FAMILIES_H_
#define MALLOCMUZERO_METRICS_FAMILIES_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <string>

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

// Raises a counter to a total that is kept elsewhere. A total below the counter's value is ignored.
void Raise(prometheus::Counter& counter, double total);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_METRICS_FAMILIES_H_
