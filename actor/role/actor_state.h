// The state that the threads of an actor share: the weights and programs in use, the learner's
// orders, and the figures of the games played.

#ifndef MALLOCMUZERO_ACTOR_ROLE_ACTOR_STATE_H_
#define MALLOCMUZERO_ACTOR_ROLE_ACTOR_STATE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "actor/role/assigned_programs.h"
#include "actor/role/play_block.h"
#include "actor/self_play.h"
#include "mallocmuzero/v1/learner.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "model/network.h"

namespace mallocmuzero {

// The inputs of a round of games.
struct RoundInputs {
  std::shared_ptr<const AssignedPrograms> assigned;
  std::vector<double> program_weights;  // by program; empty: all the same
  std::shared_ptr<const NetworkSnapshot> network;
  uint64_t step = 0;  // the number of updates that made the network
};

// The figures of all threads since the start.
struct PlayFigures {
  SelfPlayStats stats;
  double waiting_seconds = 0;  // for the learner, the replay or the spool
  double writing_seconds = 0;  // handing games to the writer
};

// How long an actor continues to play while its learner does not answer.
inline constexpr absl::Duration kLearnerAwayPatience = absl::Minutes(5);

// Thread-safe.
class ActorState {
 public:
  // Rounds do not begin with weights that are more than `max_policy_lag` updates behind the newest.
  explicit ActorState(uint64_t max_policy_lag) : max_policy_lag_(max_policy_lag) {}

  // Takes over a new assignment and drops the orders, which are for the old one.
  void SetAssigned(std::shared_ptr<const AssignedPrograms> assigned);

  // Takes over weights. Does not change the newest known step, because the weights may have been on
  // their way for long.
  void SetNetwork(std::shared_ptr<const NetworkSnapshot> network, uint64_t step);

  // Whether newer weights should be fetched: there are none, a round has begun with the current
  // ones, or the current ones are too old to play with.
  bool WantsNetwork() const;

  // Takes over the learner's answer to a report, which arrived at `now`.
  void SetOrders(const v1::ActorOrders& orders, absl::Time now);

  // Whether a round may begin now; otherwise the thread must wait for the learner.
  bool MayBegin(absl::Time now) const;

  // Returns the inputs of the next round, or nullopt unless MayBegin. Call it only if nothing else
  // holds the round back: the weights count as used.
  std::optional<RoundInputs> NextRound(absl::Time now);

  // Adds a round's figures. The next report tells the learner the returns of the self-play games.
  // Pass no games if they are evaluation games, or stored games that were searched again.
  void AddRound(const SelfPlayStats& stats, absl::Span<const v1::Trajectory> self_play);
  void AddSeconds(double waiting, double writing);

  // Sets the reason why a thread waits; kNothing if it does not.
  void SetBlocked(uint32_t thread, PlayBlock block);

  // Sets why the learner cannot be reached; empty if it can.
  void SetLearnerTrouble(std::string trouble);

  // Takes a program of which the learner wants demonstrations and that no thread has taken since
  // the learner asked. Returns null if there is none or `assigned` is no longer current. The caller
  // must play the demonstrations and call AddDemonstrated once the writer has them. The pointer is
  // valid as long as `assigned`.
  const PlayedProgram* TakeUndemonstrated(const AssignedPrograms& assigned);
  // Notes for the next report that the demonstrations of a program (SHA-256) were handed over.
  void AddDemonstrated(const std::string& program);

  // The reason why a thread waits, if all threads do; otherwise kNothing.
  PlayBlock blocked() const;

  PlayFigures figures() const;
  uint64_t network_step() const;
  uint64_t policy_lag() const;

  // TakeOutcomes moves the outcomes and demonstrations since the last call into a report. Call
  // PutBackOutcomes if there was no answer to the report. The next report then has the same
  // outcomes and no later ones, because the learner may have counted them although the answer was
  // lost.
  void TakeOutcomes(v1::ActorReport& report);
  void PutBackOutcomes(const v1::ActorReport& report);

 private:
  struct Outcome {
    uint64_t games = 0;
    double sum = 0;
    double best = 0;
  };
  // The state of a program's demonstrations: a thread plays them; the writer has them and the next
  // report will say so; a report has said so.
  enum class Shown : uint8_t { kTaken, kHandedOver, kReported };

  bool MayBeginLocked(absl::Time now) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void AddOutcome(const std::string& program, double value) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t Lag() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return newest_step_ > inputs_.step ? newest_step_ - inputs_.step : 0;
  }

  const uint64_t max_policy_lag_;
  mutable absl::Mutex mutex_;
  RoundInputs inputs_ ABSL_GUARDED_BY(mutex_);
  bool network_used_ ABSL_GUARDED_BY(mutex_) = true;
  uint64_t newest_step_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time last_contact_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();  // by SteadyNow
  std::string learner_trouble_ ABSL_GUARDED_BY(mutex_);
  PlayFigures figures_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Outcome> outcomes_ ABSL_GUARDED_BY(mutex_);  // by program
  uint64_t outcomes_number_ ABSL_GUARDED_BY(mutex_) = 0;             // of the last report with any
  v1::ActorReport unanswered_ ABSL_GUARDED_BY(mutex_);               // outcomes that were put back
  std::map<uint32_t, PlayBlock> blocked_ ABSL_GUARDED_BY(mutex_);    // by thread

  std::vector<uint32_t> undemonstrated_ ABSL_GUARDED_BY(mutex_);  // programs, from the orders
  std::map<std::string, Shown> shown_ ABSL_GUARDED_BY(mutex_);    // by program
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_ACTOR_STATE_H_
