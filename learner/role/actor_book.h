// The learner's record of its actors, made from their reports.

#ifndef MALLOCMUZERO_LEARNER_ROLE_ACTOR_BOOK_H_
#define MALLOCMUZERO_LEARNER_ROLE_ACTOR_BOOK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/learner.pb.h"
#include "mallocmuzero/v1/status.pb.h"
#include "replay/return_units.h"

namespace mallocmuzero {

// The totals of all actors.
struct ActorTotals {
  uint32_t actors = 0;       // that reported within the last 5 minutes, reanalysers included
  uint32_t reanalysers = 0;  // among these
  uint32_t blocked = 0;      // among these
  double games = 0;          // new games since this learner started
  double decisions = 0;      // in these games
  double simulations = 0;    // since this learner started, those of reanalysers included
  double spooled_bytes = 0;  // as last reported
  uint64_t largest_lag = 0;  // updates that the oldest weights in use are behind the newest
};

// Forgets actors that have been silent for 5 minutes, or for 10 seconds if there is no room for
// another one, which bounds its memory. Thread-safe.
class ActorBook {
 public:
  // `programs` are the SHA-256 (32 bytes) of the programs.
  explicit ActorBook(const std::vector<std::string>& programs);

  // Takes a report in. InvalidArgument names a field that is not valid; ResourceExhausted if there
  // are more than 20,000 actors; FailedPrecondition if the actor plays by other rules.
  absl::Status Report(const v1::ActorReport& report, absl::Time now);

  // The mean return of about the latest 64 games of each program, in the constructor's order; none
  // for a program without games.
  std::vector<std::optional<HbmShare>> MeanReturns() const;

  // The best return that any actor has reported for each program, likewise.
  std::vector<std::optional<HbmShare>> BestReturns() const;

  // The serialized size of all reports that are kept, in bytes.
  size_t StoredBytes() const;

  // The status of each actor that reported within the last 5 minutes, sorted by name. `newest_step`
  // is the step of the newest weights, from which policy lags are computed.
  std::vector<v1::RoleStatus> Describe(uint64_t newest_step, absl::Time now) const;
  ActorTotals Totals(uint64_t newest_step, absl::Time now) const;

 private:
  struct Actor {
    v1::ActorReport report;  // the last one, without its lists
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

  std::vector<std::optional<HbmShare>> Returns(double Program::*which) const;
  void AddOutcomes(const v1::ActorReport& report) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::flat_hash_map<std::string, size_t> program_of_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Actor> actors_ ABSL_GUARDED_BY(mutex_);
  absl::Time next_forgetting_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::vector<Program> programs_ ABSL_GUARDED_BY(mutex_);
  ActorTotals totals_ ABSL_GUARDED_BY(mutex_);  // only the counts since the start
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_ACTOR_BOOK_H_
