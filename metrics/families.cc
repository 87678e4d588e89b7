#include "metrics/families.h"

#include <string>

namespace mallocmuzero {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
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

void Raise(Counter& counter, double total) {
  if (total > counter.Value()) counter.Increment(total - counter.Value());
}

}  // namespace mallocmuzero
