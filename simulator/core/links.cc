#include "simulator/core/links.h"

#include <tuple>

namespace mallocmuzero {

std::vector<LinkEvent> LinkEvents(
    const google::protobuf::RepeatedPtrField<v1::Collective>& collectives) {
  std::vector<LinkEvent> events;
  double end = 0;
  for (const v1::Collective& collective : collectives) {
    if (collective.cycles() <= 0) continue;
    end += collective.cycles();
    events.push_back({InstructionIndex(collective.start()), collective.cycles(), end});
    events.push_back({InstructionIndex(collective.done()), 0, end});
  }
  std::stable_sort(events.begin(), events.end(), [](const LinkEvent& a, const LinkEvent& b) {
    return std::tuple(a.point, a.started <= 0) < std::tuple(b.point, b.started <= 0);
  });
  return events;
}

}  // namespace mallocmuzero
