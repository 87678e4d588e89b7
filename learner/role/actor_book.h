// The learner's knowledge of its actors, from their reports.

#ifndef MALLOCMUZERO_LEARNER_ROLE_ACTOR_BOOK_H_
#define MALLOCMUZERO_LEARNER_ROLE_ACTOR_BOOK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/learner.pb.h"
#include "mallocmuzero/v1/status.pb.h"

namespace mallocmuzero {

// Figures of all actors together.
struct ActorTotals {
  uint32_t actors = 0;       // that reported lately
  uint32_t reanalysers = 0;  // of those actors
  uint32_t blocked = 0;      // of those actors
  double games = 0;          // new games since the learner began, as the next two
  double decisions = 0;
  double simulations = 0;    // including those of reanalysers
  double spooled_bytes = 0;  // at present
  uint64_t largest_lag = 0;  // updates by which the oldest weights in use are behind
};

// Thread-safe. Its memory is bounded: an actor that does not report for long is forgotten.
class ActorBook {
 public:
  // `programs` are SHA-256 fingerprints.
  explicit ActorBook(const std::vector<std::string>& programs);

  // Takes a report. InvalidArgument names a field that is out of range; ResourceExhausted if there
  // are too many actors.
  absl::Status Report(const v1::ActorReport& report, absl::Time now);

  // The mean return of the latest games of each program, in the order of `programs`; NaN if there
  // are none.
  std::vector<double> MeanReturns() const;

  // The best return that any actor has reported for each program; NaN if there is none.
  std::vector<double> BestReturns() const;

  // The states of the actors that reported lately, by name. `newest_step` is the step of the newest
  // weights.
  std::vector<v1::RoleStatus> Describe(uint64_t newest_step, absl::Time now) const;
  ActorTotals Totals(uint64_t newest_step, absl::Time now) const;

 private:
  struct Actor {
    v1::ActorReport report;  // the last one, without the returns of games
    absl::Time first;
    absl::Time last;
    double games_per_second = 0;
    double decisions_per_second = 0;
    double simulations_per_second = 0;
  };
  struct Program {
    uint64_t games = 0;
    double mean_return = 0;
    double best_return = 0;
  };

  absl::Status Check(const v1::ActorReport& report) const;
  void Forget(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::flat_hash_map<std::string, size_t> program_of_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Actor> actors_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_forgetting_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::vector<Program> programs_ ABSL_GUARDED_BY(mutex_);
  ActorTotals totals_ ABSL_GUARDED_BY(mutex_);  // the counts only
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_ACTOR_BOOK_H_
