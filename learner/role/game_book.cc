#include "learner/role/game_book.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "env/program_rules.h"
#include "env/recorded_game.h"

namespace mallocmuzero {
namespace {

// Games of a generation: 40 bytes each.
constexpr size_t kSeenGames = 500'000;

// A baseline of fewer games follows each of them at once: the first few say little of the spread.
constexpr uint64_t kFewGames = 32;

constexpr char kAgent[] = "agent";
constexpr char kDemonstration[] = "demonstration";

std::pair<uint64_t, uint64_t> Halves(const std::string& id) {
  std::pair<uint64_t, uint64_t> halves;
  std::memcpy(&halves.first, id.data(), sizeof(halves.first));
  std::memcpy(&halves.second, id.data() + sizeof(halves.first), sizeof(halves.second));
  return halves;
}

}  // namespace

absl::StatusOr<std::unique_ptr<GameBook>> GameBook::Create(const ProgramSet& programs, bool follows,
                                                           double ranked_quantile) {
  absl::StatusOr<std::vector<ProgramProgress>> progress = StartProgress(programs);
  if (!progress.ok()) return progress.status();
  return absl::WrapUnique(new GameBook(programs, *std::move(progress), follows, ranked_quantile));
}

GameBook::GameBook(const ProgramSet& programs, std::vector<ProgramProgress> progress, bool follows,
                   double ranked_quantile)
    : programs_(programs), follows_(follows) {
  const absl::MutexLock lock(&mutex_);
  for (ProgramProgress& program : progress) {
    const uint32_t accesses = program.program->rules().access_count();
    records_.push_back(
        {.progress = std::move(program), .baseline = ReturnBaseline(accesses, ranked_quantile)});
  }
  PublishBaselines();
}

bool GameBook::IsKnown(const Id& id, size_t hash) {
  for (const Seen* seen : {&seen_, &seen_before_}) {
    const auto found = seen->find(id);
    if (found != seen->end()) return found->second == hash;
  }
  return false;
}

absl::Status GameBook::Take(const v1::Trajectory& game) {
  const PlayedProgram* program = programs_.Find(game.program_sha256());
  absl::Status status = program == nullptr
                            ? absl::NotFoundError("a game of a program that is not trained on")
                            : CheckTrajectory(*program, game);
  if (!status.ok()) return status;
  // A game searched again comes with new policies, and with the decisions that were checked before.
  const Id id = Halves(game.id());
  const size_t hash = absl::HashOf(game.actions(), game.program_sha256());
  {
    const absl::MutexLock lock(&mutex_);
    if (IsKnown(id, hash)) return absl::OkStatus();
  }
  status = CheckRecordedGame(*program, game);
  if (!status.ok()) return status;
  const absl::MutexLock lock(&mutex_);
  if (IsKnown(id, hash)) return absl::OkStatus();  // another thread was faster
  if (seen_.size() >= kSeenGames) {
    seen_before_ = std::move(seen_);
    seen_.clear();
  }
  seen_[id] = hash;
  ++taken_;
  Record& record = records_[programs_.IndexOf(program->sha256())];
  const bool own = game.source() == v1::Trajectory::SELF_PLAY;
  if (NoteIfBest(game, own ? kAgent : kDemonstration, record.progress)) record.has_new_best = true;
  if (game.source() == v1::Trajectory::DEMONSTRATION) record.demonstrated = true;
  // Demonstrations say nothing of how the agent plays.
  if (own && !follows_) record.baseline.Add(game);
  return absl::OkStatus();
}

void GameBook::TakeReport(const v1::ActorReport& report, uint64_t newest_step, absl::Time now) {
  const absl::MutexLock lock(&mutex_);
  for (const v1::ActorReport::Evaluation& evaluation : report.evaluations()) {
    if (programs_.Find(evaluation.program_sha256()) == nullptr) continue;
    Record& record = records_[programs_.IndexOf(evaluation.program_sha256())];
    const uint64_t step = evaluation.network_step();
    if (step < record.policy_step || step > newest_step) continue;
    record.policy_step = step;
    record.progress.policy_return = evaluation.policy_return();
  }
  for (const std::string& program : report.demonstrated()) {
    if (programs_.Find(program) == nullptr) continue;
    records_[programs_.IndexOf(program)].demonstration_due = now + kDemonstrationPatience;
  }
}

std::vector<uint32_t> GameBook::Undemonstrated(uint64_t first, size_t most, absl::Time now) const {
  const absl::MutexLock lock(&mutex_);
  std::vector<uint32_t> left;
  for (size_t p = 0; p < records_.size(); ++p) {
    const Record& record = records_[p];
    if (record.demonstrated || now < record.demonstration_due) continue;
    left.push_back(static_cast<uint32_t>(p));
  }
  if (left.empty()) return left;
  std::rotate(left.begin(), left.begin() + static_cast<int64_t>(first % left.size()), left.end());
  left.resize(std::min(left.size(), most));
  return left;
}

void GameBook::RefreshRecord(Record& record) {
  if (follows_ || record.baseline.games() == 0) return;
  record.baseline.Refresh();
  record.refreshed_games = record.baseline.games();
}

void GameBook::PublishBaselines() {
  auto baselines = std::make_shared<Baselines>();
  for (const Record& record : records_) {
    baselines->emplace(record.progress.program->sha256(), record.baseline);
  }
  baselines_ = std::move(baselines);
}

std::shared_ptr<const Baselines> GameBook::baselines() const {
  const absl::MutexLock lock(&mutex_);
  return baselines_;
}

void GameBook::Refresh() {
  const absl::MutexLock lock(&mutex_);
  for (Record& record : records_) RefreshRecord(record);
  PublishBaselines();
}

void GameBook::RefreshNewPrograms() {
  const absl::MutexLock lock(&mutex_);
  bool changed = false;
  for (Record& record : records_) {
    if (record.refreshed_games >= kFewGames || record.baseline.games() == record.refreshed_games) {
      continue;
    }
    RefreshRecord(record);
    changed = true;
  }
  if (changed) PublishBaselines();
}

uint64_t GameBook::taken() const {
  const absl::MutexLock lock(&mutex_);
  return taken_;
}

void GameBook::SaveTo(v1::TrainState& state) const {
  const absl::MutexLock lock(&mutex_);
  state.set_rules_version(kGameRulesVersion);
  state.clear_programs();
  for (const Record& record : records_) {
    v1::TrainState::Program& saved = *state.add_programs();
    saved = SaveProgress(record.progress, record.baseline);
    saved.set_demonstrated(record.demonstrated);
  }
  for (const v1::TrainState::Program& other : others_) *state.add_programs() = other;
}

absl::Status GameBook::RestoreFrom(const v1::TrainState& state) {
  if (state.rules_version() != 0) MMZ_RETURN_IF_ERROR(CheckRules(state.rules_version()));
  const absl::MutexLock lock(&mutex_);
  others_.clear();
  for (const v1::TrainState::Program& saved : state.programs()) {
    if (programs_.Find(saved.sha256()) == nullptr) {
      others_.push_back(saved);
      continue;
    }
    Record& record = records_[programs_.IndexOf(saved.sha256())];
    if (!RestoreProgress(saved, record.progress, record.baseline)) continue;
    record.refreshed_games = record.baseline.games();
    record.demonstrated = saved.demonstrated();
    record.has_new_best = true;
  }
  PublishBaselines();
  return absl::OkStatus();
}

absl::Status GameBook::WriteBestMappings(const RunDirectory& directory) {
  std::vector<std::pair<Record*, ProgramProgress>> better;
  {
    const absl::MutexLock lock(&mutex_);
    for (Record& record : records_) {
      if (record.has_new_best) better.emplace_back(&record, record.progress);
      record.has_new_best = false;
    }
  }
  absl::Status status;
  for (const auto& [record, progress] : better) {
    if (status.ok()) status = WriteBestMapping(directory, progress);
    if (status.ok()) continue;
    const absl::MutexLock lock(&mutex_);
    record->has_new_best = true;
  }
  return status;
}

std::vector<ProgramStanding> GameBook::Standings() const {
  const absl::MutexLock lock(&mutex_);
  std::vector<ProgramStanding> standings;
  for (const Record& record : records_) {
    double best = record.progress.greedy_return;
    if (!record.progress.best_actions.empty()) best = std::max(best, record.progress.best_return);
    const double compiler = record.progress.program->default_return();
    if (!std::isnan(compiler)) best = std::max(best, compiler);
    standings.push_back({.best_return = best, .scale = record.baseline.scale().share()});
  }
  return standings;
}

std::vector<v1::TrainMetrics::Program> GameBook::Describe() const {
  const absl::MutexLock lock(&mutex_);
  std::vector<v1::TrainMetrics::Program> described;
  for (const Record& record : records_) {
    described.push_back(DescribeProgress(record.progress, record.baseline.scale().share()));
  }
  return described;
}

}  // namespace mallocmuzero
