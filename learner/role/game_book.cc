#include "learner/role/game_book.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "env/recorded_game.h"

namespace mallocmuzero {
namespace {

// The number of games in a generation, 40 bytes each.
constexpr size_t kSeenGames = 500'000;

// A baseline with fewer games is refreshed with every block of batches, because the first few games
// say little about the deviation of returns.
constexpr uint64_t kFewGames = 32;

constexpr char kDemonstration[] = "demonstration";

std::pair<uint64_t, uint64_t> Halves(const std::string& id) {
  std::pair<uint64_t, uint64_t> halves;
  std::memcpy(&halves.first, id.data(), sizeof(halves.first));
  std::memcpy(&halves.second, id.data() + sizeof(halves.first), sizeof(halves.second));
  return halves;
}

size_t HashOfDecisions(const v1::Trajectory& game) {
  const auto span = [](const auto& field) {
    return absl::MakeConstSpan(field.data(), field.size());
  };
  return absl::HashOf(game.program_sha256(), game.actions(), span(game.accesses()),
                      game.initial_return(), span(game.rewards()));
}

// False for a game of a solver, unless it was searched again.
bool HasSearchedValues(const v1::Trajectory& game) {
  return std::any_of(game.root_values().begin(), game.root_values().end(),
                     [](float value) { return !std::isnan(value); });
}

}  // namespace

absl::StatusOr<std::unique_ptr<GameBook>> GameBook::Create(const ProgramSet& programs, bool follows,
                                                           double ranked_quantile) {
  absl::StatusOr<ProgramRecords> records = ProgramRecords::Create(programs, ranked_quantile);
  if (!records.ok()) return records.status();
  return absl::WrapUnique(new GameBook(programs, *std::move(records), follows));
}

GameBook::GameBook(const ProgramSet& programs, ProgramRecords records, bool follows)
    : programs_(programs),
      follows_(follows),
      records_(std::move(records)),
      notes_(programs.size()),
      // Not in the history: no network has learned with them. A restored book knows better ones.
      baselines_(std::make_shared<const Baselines>(records_.baselines())) {}

bool GameBook::IsKnown(const Id& id, size_t hash) const {
  for (const Seen* seen : {&seen_, &seen_before_}) {
    const auto found = seen->find(id);
    if (found != seen->end()) return found->second == hash;
  }
  return false;
}

bool GameBook::AddsToBaseline(const v1::Trajectory& game) const {
  // Baselines are about the agent's own games, without demonstrations.
  if (follows_ || game.source() != v1::Trajectory::SELF_PLAY) return false;
  return game.network_step() >= notes_[programs_.IndexOf(game.program_sha256())].counted_before;
}

absl::Status GameBook::Accept(const v1::Trajectory& game) {
  const PlayedProgram* program = programs_.Find(game.program_sha256());
  absl::Status status = program == nullptr
                            ? absl::NotFoundError("a game of a program that is not trained on")
                            : CheckTrajectory(*program, game);
  if (!status.ok()) return status;
  // A game that was searched again has new policies but the same decisions and rewards, which need
  // no second check.
  const Id id = Halves(game.id());
  const size_t hash = HashOfDecisions(game);
  {
    const absl::MutexLock lock(&mutex_);
    if (IsKnown(id, hash)) return absl::OkStatus();
  }
  status = CheckRecordedGame(*program, game);
  if (!status.ok()) return status;
  const absl::MutexLock lock(&mutex_);
  if (IsKnown(id, hash)) return absl::OkStatus();  // another thread has taken it meanwhile
  if (seen_.size() >= kSeenGames) {
    seen_before_ = std::move(seen_);
    seen_.clear();
  }
  seen_[id] = hash;
  ++taken_;
  const bool own = game.source() == v1::Trajectory::SELF_PLAY;
  records_.NoteGame(game, own ? kAgentPlayer : kDemonstration);
  if (game.source() == v1::Trajectory::DEMONSTRATION) {
    notes_[programs_.IndexOf(program->sha256())].demonstrated = true;
  }
  if (AddsToBaseline(game)) records_.AddToBaseline(game);
  return absl::OkStatus();
}

void GameBook::SetPolicyReturn(size_t program, HbmShare policy_return) {
  const absl::MutexLock lock(&mutex_);
  records_.SetPolicyReturn(program, policy_return);
}

void GameBook::AcceptReport(const v1::ActorReport& report, absl::Time now) {
  const absl::MutexLock lock(&mutex_);
  for (const std::string& program : report.demonstrated()) {
    if (programs_.Find(program) == nullptr) continue;
    notes_[programs_.IndexOf(program)].demonstration_due = now + kDemonstrationPatience;
  }
}

void GameBook::AddBestGames(const v1::ActorReport& report, size_t most_bytes,
                            v1::ActorOrders& orders) const {
  absl::flat_hash_map<absl::string_view, HbmShare> known;
  for (const v1::ActorReport::KnownGame& game : report.known_games()) {
    known.try_emplace(game.program_sha256(), game.total_return());
  }
  const absl::MutexLock lock(&mutex_);
  size_t bytes = 0;
  for (const ProgramProgress& progress : records_.progress()) {
    const auto found = known.find(progress.program->sha256());
    const bool knows_as_good = found != known.end() && found->second >= progress.best_return;
    if (progress.best_actions.empty() || knows_as_good) continue;
    bytes += progress.best_actions.size();
    if (bytes > most_bytes && orders.best_games_size() > 0) return;
    v1::ActorOrders::BestGame& best = *orders.add_best_games();
    best.set_program_sha256(progress.program->sha256());
    best.set_total_return(progress.best_return.share());
    best.set_actions(BytesOf(progress.best_actions));
  }
}

std::vector<uint32_t> GameBook::Undemonstrated(uint64_t first, size_t most, absl::Time now) const {
  const absl::MutexLock lock(&mutex_);
  std::vector<uint32_t> left;
  for (size_t p = 0; p < notes_.size(); ++p) {
    if (notes_[p].demonstrated || now < notes_[p].demonstration_due) continue;
    left.push_back(p);
  }
  if (left.empty()) return left;
  std::rotate(left.begin(), left.begin() + first % left.size(), left.end());
  left.resize(std::min(left.size(), most));
  return left;
}

void GameBook::RefreshRecord(size_t p) {
  const uint64_t games = records_.baseline(p).games();
  if (follows_ || games == 0) return;
  records_.Refresh(p);
  notes_[p].refreshed_games = games;
}

void GameBook::PublishBaselines() {
  baselines_ = std::make_shared<const Baselines>(records_.baselines());
  history_.Add(step_, baselines_);
}

std::shared_ptr<const Baselines> GameBook::baselines() const {
  const absl::MutexLock lock(&mutex_);
  return baselines_;
}

SharedTrajectory GameBook::WithSearchedReturns(const SharedTrajectory& game) const {
  if (game->searched_returns_size() > 0 || !HasSearchedValues(*game)) return game;
  std::shared_ptr<const Baselines> then;
  {
    const absl::MutexLock lock(&mutex_);
    then = history_.At(game->network_step());
  }
  if (then == nullptr) return game;
  const auto baseline = then->find(game->program_sha256());
  if (baseline == then->end() || baseline->second.is_ranked()) return game;
  if (!baseline->second.is_measured()) return game;
  auto converted = std::make_shared<v1::Trajectory>(*game);
  NoteSearchedReturns(baseline->second, *converted);
  return converted;
}

void GameBook::Refresh(uint64_t step) {
  const absl::MutexLock lock(&mutex_);
  step_ = step;
  for (size_t p = 0; p < notes_.size(); ++p) RefreshRecord(p);
  PublishBaselines();
}

void GameBook::RefreshNewPrograms() {
  const absl::MutexLock lock(&mutex_);
  bool changed = false;
  for (size_t p = 0; p < notes_.size(); ++p) {
    const uint64_t refreshed = notes_[p].refreshed_games;
    if (refreshed >= kFewGames || records_.baseline(p).games() == refreshed) continue;
    RefreshRecord(p);
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
  records_.SaveTo(state);
  for (int p = 0; p < std::ssize(notes_); ++p) {
    state.mutable_programs(p)->set_demonstrated(notes_[p].demonstrated);
  }
  for (const v1::TrainState::Program& other : others_) *state.add_programs() = other;
}

absl::Status GameBook::RestoreFrom(const v1::TrainState& state) {
  MMZ_RETURN_IF_ERROR(CheckRules(state));
  const absl::MutexLock lock(&mutex_);
  // Copies, so that a damaged record changes nothing.
  ProgramRecords records = records_;
  std::vector<Notes> notes = notes_;
  std::vector<v1::TrainState::Program> others;
  for (const v1::TrainState::Program& saved : state.programs()) {
    if (programs_.Find(saved.sha256()) == nullptr) {
      others.push_back(saved);
      continue;
    }
    const size_t p = programs_.IndexOf(saved.sha256());
    MMZ_RETURN_IF_ERROR(records.Restore(p, saved));
    notes[p].refreshed_games = records.baseline(p).games();
    notes[p].counted_before = records.baseline(p).games() > 0 ? state.update() : 0;
    notes[p].demonstrated = saved.demonstrated();
  }
  step_ = state.update();
  records_ = std::move(records);
  notes_ = std::move(notes);
  others_ = std::move(others);
  PublishBaselines();
  return absl::OkStatus();
}

absl::Status GameBook::WriteBestMappings(const RunDirectory& directory) {
  std::vector<ImprovedProgram> improved;
  {
    const absl::MutexLock lock(&mutex_);
    improved = records_.TakeImproved();
  }
  // Without the lock, so that other threads do not wait for the disk.
  const absl::Status status = mallocmuzero::WriteBestMappings(directory, improved);
  const absl::MutexLock lock(&mutex_);
  records_.PutBackImproved(improved);
  return status;
}

std::vector<ProgramStanding> GameBook::Standings() const {
  const absl::MutexLock lock(&mutex_);
  return records_.Standings();
}

std::vector<v1::TrainMetrics::Program> GameBook::Describe(
    absl::Span<const std::optional<HbmShare>> mean_returns) const {
  const absl::MutexLock lock(&mutex_);
  return records_.Describe(mean_returns);
}

}  // namespace mallocmuzero
