// The programs that a run plays and learns from.

#ifndef MALLOCMUZERO_ENV_PROGRAM_SET_H_
#define MALLOCMUZERO_ENV_PROGRAM_SET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "env/observation.h"
#include "env/program_rules.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// A program with its rules and observation tables. Immutable; it must not move in memory.
class PlayedProgram {
 public:
  static std::unique_ptr<PlayedProgram> Create(Program program);

  PlayedProgram(const PlayedProgram&) = delete;
  PlayedProgram& operator=(const PlayedProgram&) = delete;

  const std::string& name() const { return program_->proto().name(); }
  const std::string& sha256() const { return program_->proto().fingerprint(); }
  const Program& program() const { return *program_; }
  const ProgramRules& rules() const { return rules_; }
  const ObservationTables& tables() const { return tables_; }

  // Decisions of one game of the eager player: about the length of all games.
  uint32_t decisions() const { return decisions_; }

  // Share of the all-HBM cycles that the compiler's own placement saves as compiled; NaN if there
  // is none.
  double default_return() const { return default_return_; }

 private:
  PlayedProgram(std::unique_ptr<const Program> program, ProgramRules rules);

  std::unique_ptr<const Program> program_;  // rules point to it
  ProgramRules rules_;
  ObservationTables tables_;
  uint32_t decisions_ = 0;
  double default_return_ = 0;
};

// Distinct programs, in the order in which they were given. Immutable; threads may share it.
class ProgramSet {
 public:
  // Leaves out programs without decisions; idle() has their names. InvalidArgument if two programs
  // are equal, if two programs for one chip have the same name, or if no program is left.
  static absl::StatusOr<ProgramSet> Create(std::vector<Program> programs);

  size_t size() const { return programs_.size(); }
  const PlayedProgram& operator[](size_t index) const { return *programs_[index]; }

  // Null if the program is not in the set.
  const PlayedProgram* Find(absl::string_view sha256) const;

  // The program must be in the set.
  size_t IndexOf(absl::string_view sha256) const { return by_sha256_.find(sha256)->second; }

  // Names of programs that leave nothing to decide.
  const std::vector<std::string>& idle() const { return idle_; }

 private:
  std::vector<std::unique_ptr<PlayedProgram>> programs_;
  absl::flat_hash_map<std::string, size_t> by_sha256_;
  std::vector<std::string> idle_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_PROGRAM_SET_H_
