// Observations: the state of a game as floats for a network.

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

// The numbers of observations that no decision changes. Immutable; writers on several threads may
// share one. Every number is relative (to the fast memory, to the all-HBM cycles or to the buffer)
// and in [-1, 1]. Numbers that can be large or small are logarithmic.
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
  IndexVector<AccessIndex, AccessRow> accesses_;
  std::vector<AccessIndex> candidates_;  // accesses that may be in fast memory, ascending
  IndexVector<AccessIndex, uint32_t> first_candidate_;  // into candidates_: the first one after it
  IndexVector<InstructionIndex, double> idle_before_;   // bytes that all before it leave
  IndexVector<AccessIndex, AccessIndex> previous_access_;  // to its buffer
  std::vector<float> distances_;                           // by number of instructions: its feature
  std::array<float, observation::kProgramFeatures> program_{};
};

// What the observation of a decision shows of the incumbent: a whole game of the same program,
// which the player decides anew up to `window_end`.
struct ShownIncumbent {
  IndexSpan<AccessIndex, const uint8_t> in_fast_memory;  // one flag for each access
  float lead = 0;  // return so far minus the incumbent's up to the same access
  AccessIndex window_end = 0;
};

// Writes observations. Not thread-safe; `tables` must outlive it.
class ObservationWriter {
 public:
  explicit ObservationWriter(const ObservationTables& tables) : tables_(tables) {}

  // Writes the observation of the game's next decision, in the order of env/observation_layout.h.
  // `out` must have kObservationSize floats. The game must have the tables' rules and not be
  // finished. `incumbent` is null if none is shown. Allocates nothing.
  void Write(const Game& game, absl::Span<float> out, const ShownIncumbent* incumbent = nullptr);

  // Writes the brief observation: observation::kBriefSize floats. It shows no incumbent. Otherwise
  // as Write.
  void WriteBrief(const Game& game, absl::Span<float> out);

 private:
  void LookAtDecision(const Game& game);
  void WriteMemory(const Game& game, float* out);
  void WriteIncumbent(const Game& game, float* out) const;
  void WriteBandwidth(const Game& game, float* out) const;
  void WriteDecision(const Game& game, float* out) const;
  void WriteAccesses(const Game& game, float* out) const;
  void WriteAccess(const Game& game, AccessIndex access, float* out) const;
  void WriteActions(const Game& game, float* out) const;
  void WriteRecent(const Game& game, float* out) const;
  void WriteProgram(const Game& game, float* out) const;

  const ObservationTables& tables_;
  const ShownIncumbent* incumbent_ = nullptr;
  InstructionIndex now_ = 0;  // instruction of the current access
  BufferIndex buffer_ = 0;    // of the current access
  // Shares of address bins. Entry n counts in rows 0 to n - 1 of the image.
  std::array<std::array<float, observation::kAddressBins>, observation::kTimes + 1> taken_{};
  std::array<std::array<float, observation::kAddressBins>, observation::kTimes + 1> held_{};
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_OBSERVATION_H_
