// Buffers on which collectives in flight work.

#include <algorithm>

#include "env/program_rules_builder.h"

namespace mallocmuzero {

void ProgramRules::Builder::DropFlightsBeyondTheRules() {
  for (const Flight& flight : program_.flights()) {
    const Role& role = roles_[flight.buffer];
    bool follows = role.initial == 0 && role.inside == 0 && role.result == 0;
    bool starts = false;
    for (const AccessIndex a : program_.AccessesOfBuffer(flight.buffer)) {
      const Access& access = program_.accesses()[a];
      starts = starts || access.instruction == flight.start;
      const bool later = access.instruction > flight.start && access.instruction <= flight.done;
      if (later && access.kind == AccessKind::kWrite) follows = false;
    }
    if (!follows || !starts) rules_.buffers_[flight.buffer].stays_in_hbm = true;
  }
}

void ProgramRules::Builder::SetFlights(BufferIndex b) {
  for (const Flight& flight : program_.FlightsOf(b)) {
    for (const AccessIndex a : program_.AccessesOfBuffer(b)) {
      const InstructionIndex at = program_.accesses()[a].instruction;
      AccessRule& rule = rules_.accesses_[a];
      if (at > flight.done) rule.copy_from = flight.done + 1;
      if (at < flight.start || at > flight.done) continue;
      rule.flight_done = flight.done;
      rule.starts_flight = at == flight.start;
    }
  }
}

InstructionIndex ProgramRules::Builder::FlightDone(BufferIndex b, InstructionIndex at) const {
  const absl::Span<const Flight> flights = program_.FlightsOf(b);
  const auto found = std::find_if(flights.begin(), flights.end(), [at](const Flight& flight) {
    return flight.start <= at && at <= flight.done;
  });
  return found == flights.end() ? InstructionIndex(kNone) : found->done;
}

}  // namespace mallocmuzero
