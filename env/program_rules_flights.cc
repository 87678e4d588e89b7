// Buffers on which collectives in flight work.

#include <algorithm>

#include "env/program_rules_builder.h"

namespace mallocmuzero {

void ProgramRules::Builder::DropFlightsBeyondTheRules() {
  for (const Flight& flight : program_.flights()) {
    const Role& role = roles_[flight.buffer];
    bool follows = role.initial == 0 && role.inside == 0 && role.result == 0;
    const auto accesses = program_.AccessesOfBuffer(flight.buffer);
    auto a = std::partition_point(accesses.begin(), accesses.end(), [&](AccessIndex access) {
      return program_.accesses()[access].instruction < flight.start;
    });
    const bool starts = a != accesses.end() && program_.accesses()[*a].instruction == flight.start;
    for (; a != accesses.end() && program_.accesses()[*a].instruction <= flight.done; ++a) {
      const bool is_later = program_.accesses()[*a].instruction > flight.start;
      if (is_later && KindOf(*a) == AccessKind::kWrite) follows = false;
    }
    if (!follows || !starts) rules_.buffers_[flight.buffer].stays_in_hbm = true;
  }
}

void ProgramRules::Builder::SetFlights(BufferIndex b) {
  const absl::Span<const Flight> flights = program_.FlightsOf(b);
  size_t next = 0;  // the first flight that is not over before the access
  for (const AccessIndex a : program_.AccessesOfBuffer(b)) {
    const InstructionIndex at = program_.accesses()[a].instruction;
    while (next < flights.size() && flights[next].done < at) ++next;
    AccessRule& rule = rules_.accesses_[a];
    if (next > 0) rule.copy_from = flights[next - 1].done + 1;
    if (next == flights.size() || at < flights[next].start) continue;
    rule.flight_done = flights[next].done;
    rule.starts_flight = at == flights[next].start;
  }
}

void ProgramRules::Builder::SetMayFly(absl::Span<const AccessIndex> later, AccessRule& rule) const {
  for (const AccessIndex a : later) {
    const InstructionIndex at = program_.accesses()[a].instruction;
    if (at > rule.flight_done) break;
    if (KindOf(a) != AccessKind::kUpdate) continue;
    const AccessRule& update = rules_.accesses_[a];
    const bool can_write_back = at == rule.flight_done;
    rule.may_fly = rule.may_fly && (can_write_back || update.keep_until != kNone);
    rule.may_fly_written_back = rule.may_fly_written_back && update.keep_until_end != kNone;
  }
}

}  // namespace mallocmuzero
