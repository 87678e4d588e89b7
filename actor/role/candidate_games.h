// An actor's part in the evaluation of the learner's candidate, a version of the weights that needs
// evaluation games to get a score.

#ifndef MALLOCMUZERO_ACTOR_ROLE_CANDIDATE_GAMES_H_
#define MALLOCMUZERO_ACTOR_ROLE_CANDIDATE_GAMES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/learner.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "model/network.h"

namespace mallocmuzero {

// A round of evaluation games, all with the candidate's weights.
struct CandidateRound {
  std::shared_ptr<const NetworkSnapshot> network;
  v1::CheckpointNotice candidate;

  // The first game is of this program, modulo the number of programs. The others follow in turn.
  uint64_t first_program = 0;
};

// Decides which rounds of an actor are evaluation rounds, so that a given share of all games
// evaluates, and counts their results. Thread-safe.
class CandidateGames {
 public:
  // Different actors should have different first programs, modulo the number of programs.
  explicit CandidateGames(uint64_t first_program) : next_program_(first_program) {}

  // Takes over the candidate that the orders name; drops weights and results of another one.
  void SetOrders(const v1::ActorOrders& orders);

  // The candidate, if an evaluation round is due and only the candidate's weights are missing.
  std::optional<v1::CheckpointNotice> Wanted() const;

  // Offers weights, which need not be the candidate's.
  void SetNetwork(std::shared_ptr<const NetworkSnapshot> network,
                  const v1::CheckpointNotice& notice);

  // Call once before each round of `games` new games. Returns the inputs of the round if it is an
  // evaluation round, which happens so often that `share` of all games are evaluation games. The
  // first round is none. Rounds that were due while there was no candidate are not made up for.
  std::optional<CandidateRound> NextRound(double share, uint32_t games);

  // Counts the games of an evaluation round of the candidate with this SHA-256.
  void AddRound(const std::string& sha256, absl::Span<const v1::Trajectory> games);

  // Writes the totals of the candidate into a report.
  void Describe(v1::ActorReport& report) const;

 private:
  struct Total {
    uint32_t games = 0;
    double sum = 0;  // of returns
  };

  mutable absl::Mutex mutex_;
  v1::CheckpointNotice candidate_ ABSL_GUARDED_BY(mutex_);                  // without SHA-256: none
  std::shared_ptr<const NetworkSnapshot> network_ ABSL_GUARDED_BY(mutex_);  // null: not here
  std::map<std::string, Total> totals_ ABSL_GUARDED_BY(mutex_);             // by program

  // The latest weights that were offered. The learner may name them as its candidate later.
  std::shared_ptr<const NetworkSnapshot> latest_ ABSL_GUARDED_BY(mutex_);
  std::string latest_sha256_ ABSL_GUARDED_BY(mutex_);

  uint64_t next_program_ ABSL_GUARDED_BY(mutex_);

  // The number of evaluation games that are due. Negative after a round, since a round is more than
  // what was due.
  double due_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_CANDIDATE_GAMES_H_
