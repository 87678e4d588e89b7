// Families of metrics, each made in one line.

#ifndef MALLOCMUZERO_METRICS_FAMILIES_H_
#define MALLOCMUZERO_METRICS_FAMILIES_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <string>

namespace mallocmuzero {

// All live as long as the registry.
prometheus::Family<prometheus::Gauge>& MakeGauges(prometheus::Registry& registry,
                                                  const std::string& name, const char* help);
prometheus::Family<prometheus::Counter>& MakeCounters(prometheus::Registry& registry,
                                                      const std::string& name, const char* help);

// The only one of its family, without labels.
prometheus::Gauge& MakeGauge(prometheus::Registry& registry, const std::string& name,
                             const char* help);
prometheus::Counter& MakeCounter(prometheus::Registry& registry, const std::string& name,
                                 const char* help);

// A counter follows a total that is kept elsewhere.
void Raise(prometheus::Counter& counter, double total);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_METRICS_FAMILIES_H_
