// The scores of published versions of the weights, from the actors' evaluation games.

#ifndef MALLOCMUZERO_LEARNER_ROLE_SCORED_VERSIONS_H_
#define MALLOCMUZERO_LEARNER_ROLE_SCORED_VERSIONS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/learner.pb.h"

namespace mallocmuzero {

// A version of the weights that actors may fetch.
struct PublishedWeights {
  v1::CheckpointNotice notice;
  std::shared_ptr<const std::string> bytes;  // the checkpoint file
  uint64_t number = 0;                       // counts the versions of this process, from 1
};

// A version with its score.
struct ScoredVersion {
  struct Score {
    uint64_t games = 0;
    double mean_return = 0;
  };
  std::shared_ptr<const PublishedWeights> weights;
  std::vector<Score> scores;  // one for each program
};

struct ScoredVersionsOptions {
  // The candidate has its score once each program has this many games.
  uint64_t least_games = 8;

  // The candidate is dropped if it gets no game for `patience`, and each actor has played
  // `patience_games` games on average in that time.
  absl::Duration patience = absl::Minutes(10);
  double patience_games = 0;
};

// Holds the candidate, the one version that actors evaluate. It stays the candidate until it has
// its score, whatever is published meanwhile; the next version published is then the candidate.
// Thread-safe.
class ScoredVersions {
 public:
  // `programs` are the SHA-256 (32 bytes) of the programs.
  explicit ScoredVersions(const std::vector<std::string>& programs,
                          ScoredVersionsOptions options = {});

  // Makes the weights the candidate if there is none.
  void Publish(std::shared_ptr<const PublishedWeights> weights);

  // The candidate; null if there is none.
  std::shared_ptr<const PublishedWeights> candidate() const;

  // The score that a program has so far.
  struct ProgramScore {
    size_t program = 0;  // index
    ScoredVersion::Score score;
  };

  // Takes over an actor's totals for the candidate. Ignores totals of other versions and programs,
  // and totals with fewer games than the actor has reported before. Returns the scores that have
  // changed.
  std::vector<ProgramScore> AcceptReport(const v1::ActorReport& report);

  // The number of versions that have got their score.
  uint64_t scored() const;

  // Returns the versions that have got their score since the last call.
  std::vector<ScoredVersion> TakeScored();

  // Drops the candidate if the options say so. Call every second or so. `actors` is the number of
  // actors, and `games` the number of games that all actors have played up to `now`. Returns the
  // step of the dropped candidate, but only for the first one since the last evaluation game.
  std::optional<uint64_t> DropIfIdle(uint32_t actors, double games, absl::Time now);

 private:
  // An actor's totals, by program.
  using Totals = std::vector<ScoredVersion::Score>;

  void Clear() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ScoredVersionsOptions options_;
  absl::flat_hash_map<std::string, size_t> program_of_;
  mutable absl::Mutex mutex_;
  ScoredVersion candidate_ ABSL_GUARDED_BY(mutex_);  // without weights: none
  absl::flat_hash_map<std::string, Totals> totals_ ABSL_GUARDED_BY(mutex_);  // by actor
  std::vector<ScoredVersion> scored_ ABSL_GUARDED_BY(mutex_);  // since the last TakeScored
  uint64_t scored_count_ ABSL_GUARDED_BY(mutex_) = 0;

  // Whether the candidate was named or got a game since the last DropIfIdle. The next DropIfIdle
  // then remembers its time and number of games.
  bool moved_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time idle_since_ ABSL_GUARDED_BY(mutex_);
  double idle_games_ ABSL_GUARDED_BY(mutex_) = 0;
  bool drop_reported_ ABSL_GUARDED_BY(mutex_) = false;  // since the last evaluation game
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_SCORED_VERSIONS_H_
