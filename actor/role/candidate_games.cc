#include "actor/role/candidate_games.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {

void CandidateGames::SetOrders(const v1::ActorOrders& orders) {
  const absl::MutexLock lock(&mutex_);
  if (orders.candidate().sha256() == candidate_.sha256()) return;
  candidate_ = orders.candidate();
  network_ = candidate_.sha256() == latest_sha256_ ? latest_ : nullptr;
  totals_.clear();
}

std::optional<v1::CheckpointNotice> CandidateGames::Wanted() const {
  const absl::MutexLock lock(&mutex_);
  if (candidate_.sha256().empty() || network_ != nullptr || due_ <= 0) return std::nullopt;
  return candidate_;
}

void CandidateGames::SetNetwork(std::shared_ptr<const NetworkSnapshot> network,
                                const v1::CheckpointNotice& notice) {
  const absl::MutexLock lock(&mutex_);
  latest_ = std::move(network);
  latest_sha256_ = notice.sha256();
  if (latest_sha256_ == candidate_.sha256()) network_ = latest_;
}

std::optional<CandidateRound> CandidateGames::NextRound(double share, uint32_t games) {
  const absl::MutexLock lock(&mutex_);
  const bool is_due = due_ > 0 && network_ != nullptr;
  if (is_due) due_ -= games;
  due_ = std::min(due_ + share * games, share * games);
  if (!is_due) return std::nullopt;
  const uint64_t first_program = std::exchange(next_program_, next_program_ + games);
  return CandidateRound{
      .network = network_, .candidate = candidate_, .first_program = first_program};
}

void CandidateGames::AddRound(const std::string& sha256, absl::Span<const v1::Trajectory> games) {
  const absl::MutexLock lock(&mutex_);
  if (sha256 != candidate_.sha256()) return;
  for (const v1::Trajectory& game : games) {
    Total& total = totals_[game.program_sha256()];
    ++total.games;
    total.sum += TotalReturn(game).share();
  }
}

void CandidateGames::Describe(v1::ActorReport& report) const {
  const absl::MutexLock lock(&mutex_);
  if (totals_.empty()) return;
  v1::ActorReport::CandidateGames& described = *report.mutable_candidate_games();
  described.set_sha256(candidate_.sha256());
  for (const auto& [program, total] : totals_) {
    v1::ActorReport::CandidateGames::Program& added = *described.add_programs();
    added.set_program_sha256(program);
    added.set_games(total.games);
    added.set_mean_return(total.sum / total.games);
  }
}

}  // namespace mallocmuzero
