// The state of a game: all that the next decision depends on.

#ifndef MALLOCMUZERO_ENV_GAME_STATE_H_
#define MALLOCMUZERO_ENV_GAME_STATE_H_

#include <cstdint>
#include <vector>

#include "base/shared_vector.h"
#include "env/copy_timeline.h"
#include "env/program_rules.h"
#include "env/residency.h"
#include "simulator/core/links.h"

namespace mallocmuzero {

// Whether HBM has the value of a buffer.
struct HbmValue {
  // point from which HBM has the value, -1: HBM does not have it yet
  InstructionIndex current_since = -1;
  WriteBackIndex write_back = -1;  // the write-back that brings the value, -1: none

  bool is_current() const { return current_since >= 0; }

  // True if HBM has the value, or has it when its write-back is done.
  bool IsOnItsWay() const { return is_current() || write_back >= 0; }

  friend bool operator==(const HbmValue&, const HbmValue&) = default;
};

// A value, like the game: copy it to take a snapshot.
struct GameState {
  // Before the first access. `program_rules` must outlive the state.
  explicit GameState(const ProgramRules& program_rules)
      : rules(&program_rules),
        residency(program_rules),
        timeline(program_rules.program()),
        hbm(program_rules.program().buffer_count(), HbmValue()) {
    for (const BufferIndex b : hbm.indices()) {
      const ProgramRules::BufferRule& rule = program_rules.buffer(b);
      if (rule.starts_in_hbm) hbm.Mutable(b).current_since = rule.available;
    }
  }

  const Program& program() const { return rules->program(); }

  friend bool operator==(const GameState&, const GameState&) = default;

  const ProgramRules* rules;
  AccessIndex access = 0;             // to decide next, into Program::accesses
  InstructionIndex instruction = -1;  // of that access; the instructions before have run
  Residency residency;
  CopyTimeline timeline;
  Links links;                              // after the events of the current point
  SharedVector<BufferIndex, HbmValue> hbm;  // by buffer
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_GAME_STATE_H_
