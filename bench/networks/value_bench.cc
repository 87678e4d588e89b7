#include "bench/networks/value_bench.h"

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/size32.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "env/program_set.h"
#include "learner/return_baseline.h"
#include "mallocmuzero/v1/bench.pb.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "model/checkpoint.h"
#include "model/learned_baseline.h"
#include "model/network.h"
#include "train/value_ranking.h"

namespace mallocmuzero::bench {
namespace {

// The baseline that a checkpoint has for a program; null if it has none.
const v1::ReturnBaselineState* FindBaseline(const v1::TrainState& state,
                                            const PlayedProgram& program) {
  for (const v1::TrainState::Program& saved : state.programs()) {
    if (saved.sha256() == program.sha256() && saved.baseline().games() > 0) {
      return &LearnedBaseline(saved);
    }
  }
  return nullptr;
}

bool IsRanked(const v1::TrainState& state) {
  return state.programs_size() > 0 && state.programs(0).baseline().has_return_to_beat();
}

}  // namespace

absl::StatusOr<v1::ValueBenchReport> BenchValues(const std::string& path,
                                                 const ProgramSet& programs,
                                                 ValueRankingOptions options) {
  const absl::StatusOr<Checkpoint> checkpoint = LoadCheckpoint(path);
  if (!checkpoint.ok()) return checkpoint.status();
  v1::TrainState state;
  if (!state.ParseFromString(checkpoint->training_state)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": damaged: its training state cannot be read"));
  }
  const absl::StatusOr<std::unique_ptr<Network>> network = MakeNetwork(*checkpoint);
  if (!network.ok()) return StatusAt(path, network.status());
  const auto snapshot = (*network)->Snapshot({});
  if (!snapshot.ok()) return snapshot.status();

  options.ranked = IsRanked(state);
  v1::ValueBenchReport report;
  report.set_programs(Size32(programs));
  report.set_games(options.games);
  report.set_seed(options.seed);
  report.set_least_difference(options.least_difference);
  for (size_t p = 0; p < programs.size(); ++p) {
    const PlayedProgram& program = programs[p];
    // The quantile has no effect on ranking.
    ReturnBaseline baseline(program.rules().access_count(), options.ranked ? 0.5 : 0);
    const v1::ReturnBaselineState* saved = FindBaseline(state, program);
    const bool is_known = saved != nullptr && baseline.Restore(*saved);
    if (!is_known) report.set_new_programs(report.new_programs() + 1);
    MMZ_RETURN_IF_ERROR(
        RankGames(program, *snapshot, is_known ? &baseline : nullptr, options, report));
  }
  return report;
}

}  // namespace mallocmuzero::bench
