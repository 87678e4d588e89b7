#include "learner/role/batch_source.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/steady_clock.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {
namespace {

// The number of batches whose rows are drawn together, so that a game is replayed once for all its
// rows in them. The drawback is that they use priorities from before the first of these updates.
constexpr size_t kBatchesInBlock = 4;

// The timeout of a draw, after which the thread checks whether it must stop.
constexpr absl::Duration kPatience = absl::Milliseconds(500);
constexpr absl::Duration kRefusedPause = absl::Milliseconds(10);

// Replaces the games of drawn positions by games with searched_returns.
void AddSearchedReturns(const GameBook& book, std::vector<DrawnPosition>& drawn) {
  absl::flat_hash_map<SharedTrajectory, SharedTrajectory> converted;
  for (DrawnPosition& row : drawn) {
    SharedTrajectory& game = converted[row.trajectory];
    if (game == nullptr) game = book.WithSearchedReturns(row.trajectory);
    row.trajectory = game;
  }
}

}  // namespace

BatchSource::BatchSource(const BatchSourceOptions& options, const ProgramSet& programs,
                         GameBook& book, PositionSource replay)
    : options_(options), programs_(programs), book_(book), replay_(std::move(replay)) {
  for (uint32_t t = 0; t < std::max(1U, options_.threads); ++t) {
    threads_.emplace_back([this] { Work(); });
  }
}

BatchSource::~BatchSource() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

// Waits for `duration`; returns false at once if the source stops.
bool BatchSource::Pause(absl::Duration duration) const {
  const absl::MutexLock lock(&mutex_);
  return !mutex_.AwaitWithTimeout(absl::Condition(&stopping_), duration);
}

void BatchSource::Work() {
  while (Pause(absl::ZeroDuration())) MakeBlock();
}

absl::StatusOr<std::optional<LearningBatch>> BatchSource::Next(absl::Duration timeout) {
  const auto there = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !queue_.empty(); };
  const absl::MutexLock lock(&mutex_);
  if (!mutex_.AwaitWithTimeout(absl::Condition(&there), timeout)) return std::nullopt;
  std::optional<LearningBatch> batch = std::move(queue_.front());
  queue_.pop_front();
  return batch;
}

void BatchSource::SetPriorities(absl::Span<const DrawnPosition> drawn,
                                absl::Span<const double> errors) {
  replay_.prioritize(drawn, errors);
}

// Draws until there are `count` rows whose games may be learned from. Returns false if the source
// stops.
bool BatchSource::DrawRows(v1::Selection selection, size_t count,
                           std::vector<DrawnPosition>& drawn) {
  drawn.clear();
  bool pause = false;
  std::vector<DrawnPosition> refused;
  absl::flat_hash_map<const v1::Trajectory*, absl::Status> judged;
  while (drawn.size() < count) {
    // Refused games may be drawn again, so pause after a refusal.
    if (!Pause(pause ? kRefusedPause : absl::ZeroDuration())) return false;
    refused.clear();
    absl::StatusOr<std::vector<DrawnPosition>> more =
        replay_.draw(selection, count - drawn.size(), kPatience);
    if (!more.ok()) {
      // A stopped sampler returns at once, so pause too.
      pause = absl::IsCancelled(more.status());
      continue;
    }
    for (DrawnPosition& row : *more) {
      const v1::Trajectory* game = row.trajectory.get();
      auto found = judged.find(game);
      if (found == judged.end()) found = judged.emplace(game, book_.Accept(*game)).first;
      const bool is_position = row.position < game->accesses_size();
      if (found->second.ok() && is_position) {
        drawn.push_back(std::move(row));
        continue;
      }
      refused.push_back(std::move(row));
      const absl::MutexLock lock(&mutex_);
      ++refused_rows_;
      last_refusal_ = found->second.ok() ? "a position behind the end of its game"
                                         : std::string(found->second.message());
    }
    // Other games may get the addresses of games that were freed, so forget the verdicts.
    judged.clear();
    pause = !refused.empty();
    if (!pause) continue;
    replay_.prioritize(refused, std::vector<double>(refused.size()));
    if (selection == v1::BEST) ReplaceRefused(refused, drawn);
  }
  return true;
}

void BatchSource::NoteBest(absl::Span<const DrawnPosition> rows) {
  for (const DrawnPosition& row : rows) {
    const HbmShare total_return = TotalReturn(*row.trajectory);
    BestGame& best = best_[row.trajectory->program_sha256()];
    if (best.game == nullptr || total_return > best.total_return) {
      best = {.game = row.trajectory, .total_return = total_return};
    }
  }
}

// Shards keep the best games of all programs for good and draw them equally often. After the list
// of programs has shrunk, most draws may be of others. Each draw counts for the rate limiter, so
// draws in place of these would be at the cost of the other rows. Appends to `drawn` a row of a
// known best game for each row of `refused`, of the programs in turn.
void BatchSource::ReplaceRefused(absl::Span<const DrawnPosition> refused,
                                 std::vector<DrawnPosition>& drawn) {
  if (options_.best_games != 1) return;
  const absl::MutexLock lock(&mutex_);
  NoteBest(drawn);
  std::vector<SharedTrajectory> games;
  for (const auto& [program, best] : best_) games.push_back(best.game);
  if (games.empty()) return;
  for (const DrawnPosition& row : refused) {
    DrawnPosition& other = drawn.emplace_back(row);
    other.trajectory = games[replaced_rows_++ % games.size()];
    other.position %= other.trajectory->accesses_size();
  }
}

// Each shard keeps its own best game of a program, and most of these are not the best of all
// shards. Replaces their rows by rows of the best one, since different games give contradicting
// targets for imitation.
void BatchSource::ImitateTheBest(std::vector<DrawnPosition>& imitated) {
  if (options_.best_games != 1) return;
  const absl::MutexLock lock(&mutex_);
  NoteBest(imitated);
  for (DrawnPosition& row : imitated) {
    const BestGame& best = best_[row.trajectory->program_sha256()];
    row.trajectory = best.game;
    row.position %= best.game->accesses_size();
  }
}

void BatchSource::MakeBlock() {
  const BatchShape& shape = options_.shape;
  DrawnRows rows;
  const absl::Time start = SteadyNow();
  const bool drawn = DrawRows(v1::PRIORITIZED, kBatchesInBlock * shape.prioritized(), rows.drawn) &&
                     DrawRows(v1::BEST, kBatchesInBlock * shape.imitated, rows.imitated);
  const absl::Time made_since = SteadyNow();
  uint64_t generation = 0;  // read before the baselines are
  {
    const absl::MutexLock lock(&mutex_);
    generation = generation_;
    draw_seconds_ += absl::ToDoubleSeconds(made_since - start);
  }
  if (!drawn) return;
  book_.RefreshNewPrograms();
  ImitateTheBest(rows.imitated);
  const std::shared_ptr<const Baselines> baselines = book_.baselines();
  AddSearchedReturns(book_, rows.drawn);
  AddSearchedReturns(book_, rows.imitated);
  rows.positions = static_cast<double>(replay_.positions());
  absl::StatusOr<std::vector<LearningBatch>> batches =
      MakeBatches(BatchMaker(programs_, *baselines, options_.learner, 1), shape, kBatchesInBlock,
                  std::move(rows), std::make_shared<UnrollBatch>());
  {
    const absl::MutexLock lock(&mutex_);
    make_seconds_ += absl::ToDoubleSeconds(SteadyNow() - made_since);
    last_refusal_ = std::string(batches.status().message());
    if (!batches.ok()) {
      refused_rows_ += kBatchesInBlock * shape.rows;
      return;
    }
  }
  Enqueue(*std::move(batches), generation);
}

void BatchSource::Enqueue(std::vector<LearningBatch> batches, uint64_t generation) {
  const auto has_room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || queue_.size() < std::max(1U, options_.queued_batches);
  };
  for (LearningBatch& batch : batches) {
    const absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&has_room));
    if (stopping_ || generation != generation_) return;
    queue_.push_back(std::move(batch));
  }
}

void BatchSource::DropQueued() {
  const absl::MutexLock lock(&mutex_);
  ++generation_;
  queue_.clear();
}

size_t BatchSource::depth() const {
  const absl::MutexLock lock(&mutex_);
  return queue_.size();
}

double BatchSource::draw_seconds() const {
  const absl::MutexLock lock(&mutex_);
  return draw_seconds_;
}

double BatchSource::make_seconds() const {
  const absl::MutexLock lock(&mutex_);
  return make_seconds_;
}

uint64_t BatchSource::refused_rows() const {
  const absl::MutexLock lock(&mutex_);
  return refused_rows_;
}

std::string BatchSource::last_refusal() const {
  const absl::MutexLock lock(&mutex_);
  return last_refusal_;
}

}  // namespace mallocmuzero
