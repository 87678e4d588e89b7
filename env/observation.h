// What a player sees of a game, as floats for a network.

#ifndef MALLOCMUZERO_ENV_OBSERVATION_H_
#define MALLOCMUZERO_ENV_OBSERVATION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "env/game.h"
#include "env/observation_layout.h"
#include "env/program_rules.h"

namespace mallocmuzero {

// Everything in observations that does not change in a game. Immutable; writers on many threads
// share one. Every number is relative (to the fast memory, to the all-HBM cycles, to the buffer),
// in [-1, 1], and logarithmic where it can be large or small.
class ObservationTables {
 public:
  // `rules` must outlive the tables.
  explicit ObservationTables(const ProgramRules& rules);

  const ProgramRules& rules() const { return *rules_; }

 private:
  friend class ObservationWriter;
  class Builder;

  using AccessRow = std::array<float, observation::kStaticFeatures>;

  const ProgramRules* rules_;
  std::vector<AccessRow> accesses_;
  std::vector<uint32_t> candidates_;       // accesses not in HBM by rule, ascending
  std::vector<uint32_t> first_candidate_;  // by access, into candidates_: the first behind it
  std::vector<double> idle_before_;        // by instruction: bytes those before it leave in HBM
  std::vector<int32_t> previous_access_;   // by access: to the same buffer, kNone: none
  std::vector<float> distances_;           // by number of instructions, as a feature
  std::array<float, observation::kProgramFeatures> program_{};
};

// Writes observations. Not thread-safe; `tables` must outlive it.
class ObservationWriter {
 public:
  explicit ObservationWriter(const ObservationTables& tables) : tables_(tables) {}

  // Writes what the player to move sees; env/observation_layout.h says where. `out` has
  // kObservationSize floats, the game is of the tables' rules and not finished. Allocates nothing.
  void Write(const Game& game, absl::Span<float> out);

 private:
  void WriteMemory(const Game& game, float* out);
  void WriteBandwidth(const Game& game, float* out) const;
  void WriteDecision(const Game& game, float* out) const;
  void WriteAccesses(const Game& game, float* out) const;
  void WriteAccess(const Game& game, uint32_t access, float* out) const;
  void WriteActions(const Game& game, float* out) const;
  void WriteRecent(const Game& game, float* out) const;
  void WriteProgram(const Game& game, float* out) const;

  const ObservationTables& tables_;
  uint32_t now_ = 0;     // instruction of the current access
  uint32_t buffer_ = 0;  // of the current access
  // By the number of rows of the image a share belongs to: [n] adds to rows 0 to n - 1.
  std::array<std::array<float, observation::kAddressBins>, observation::kTimes + 1> taken_{};
  std::array<std::array<float, observation::kAddressBins>, observation::kTimes + 1> held_{};
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_OBSERVATION_H_
