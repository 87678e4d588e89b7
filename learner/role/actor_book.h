// What the learner knows of its actors, from their reports.

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

// Of all actors together.
struct ActorTotals {
  uint32_t actors = 0;       // heard of lately
  uint32_t reanalysers = 0;  // of those
  uint32_t blocked = 0;      // of those, likewise
  double games = 0;          // new ones since the learner began, and so on
  double decisions = 0;
  double simulations = 0;    // those of reanalysers too
  double spooled_bytes = 0;  // now
  uint64_t largest_lag = 0;  // updates that the oldest weights in use are behind, now
};

// Thread-safe. Its memory is bounded: an actor that is silent for long is forgotten.
class ActorBook {
 public:
  // By SHA-256, as in mappings.
  explicit ActorBook(const std::vector<std::string>& programs);

  // Takes a report in. InvalidArgument names the field that cannot be; ResourceExhausted if there
  // are more actors than anyone has, FailedPrecondition if the actor plays by other rules.
  absl::Status Report(const v1::ActorReport& report, absl::Time now);

  // Mean return of the latest games of each program, in the order given; NaN where there are none.
  std::vector<double> MeanReturns() const;

  // The best that any actor has reported, likewise.
  std::vector<double> BestReturns() const;

  // Of the reports that are kept, serialized.
  size_t StoredBytes() const;

  // Of actors heard of lately, by name. `newest_step` is that of the newest weights.
  std::vector<v1::RoleStatus> Describe(uint64_t newest_step, absl::Time now) const;
  ActorTotals Totals(uint64_t newest_step, absl::Time now) const;

 private:
  struct Actor {
    v1::ActorReport report;  // the last one, without what is of games
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
  ActorTotals totals_ ABSL_GUARDED_BY(mutex_);  // what has been counted
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_ACTOR_BOOK_H_
