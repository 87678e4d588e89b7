// The scores of the published versions of the weights, from the actors' evaluation games.

#ifndef MALLOCMUZERO_LEARNER_ROLE_SCORED_VERSIONS_H_
#define MALLOCMUZERO_LEARNER_ROLE_SCORED_VERSIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "mallocmuzero/v1/learner.pb.h"

namespace mallocmuzero {

// A version with its score.
struct ScoredVersion {
  struct Score {
    uint32_t games = 0;
    double mean_return = 0;
  };
  uint64_t step = 0;
  std::string bytes;          // the checkpoint file
  std::vector<Score> scores;  // one for each program
};

struct ScoredVersionsOptions {
  // Published versions that wait for their games take at most this much memory. Beyond it the
  // oldest goes. The newest always stays.
  uint64_t most_bytes = uint64_t{64} << 20;

  // A version has a score once each program has this many evaluation games with it.
  uint32_t least_games = 8;
};

// Thread-safe.
class ScoredVersions {
 public:
  // `programs` are the SHA-256 (32 bytes) of the programs.
  explicit ScoredVersions(const std::vector<std::string>& programs,
                          ScoredVersionsOptions options = {});

  // Begins to wait for evaluation games with these weights.
  void Publish(uint64_t step, std::string bytes);

  // Counts the evaluation games of a report. Ignores games of other programs and versions.
  void AcceptReport(const v1::ActorReport& report);

  // Returns the versions that have got their score since the last call.
  std::vector<ScoredVersion> TakeScored();

 private:
  struct Waiting {
    ScoredVersion version;
    size_t unscored = 0;  // programs with too few games
  };

  const ScoredVersionsOptions options_;
  absl::flat_hash_map<std::string, size_t> program_of_;
  absl::Mutex mutex_;
  std::map<uint64_t, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);  // by step
  uint64_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<ScoredVersion> scored_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_SCORED_VERSIONS_H_
