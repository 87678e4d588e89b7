// The state that the threads of an actor share: weights and programs in use, the learner's orders,
// counts of the games played.

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

// The inputs of a round.
struct RoundInputs {
  std::shared_ptr<const AssignedPrograms> assigned;
  std::vector<double> program_weights;  // empty: even
  std::shared_ptr<const NetworkSnapshot> network;
  uint64_t step = 0;  // of the network
};

// The work of all threads.
struct PlayFigures {
  SelfPlayStats stats;
  double waiting_seconds = 0;  // for the learner, the replay or the spool
  double writing_seconds = 0;  // handing games over
};

// How long an actor goes on playing while its learner does not answer.
inline constexpr absl::Duration kLearnerAwayPatience = absl::Minutes(5);

// Thread-safe.
class ActorState {
 public:
  // The actor does not play with weights that are more than `max_policy_lag` updates behind the
  // newest.
  explicit ActorState(uint64_t max_policy_lag) : max_policy_lag_(max_policy_lag) {}

  void SetAssigned(std::shared_ptr<const AssignedPrograms> assigned);

  // Takes newer weights. Their step need not be the newest: weights can be long on their way.
  void SetNetwork(std::shared_ptr<const NetworkSnapshot> network, uint64_t step);

  // True if there are no weights, or a round has begun with the weights there are.
  bool WantsNetwork() const;

  // Takes the learner's answer to a report, or notes that no answer came.
  void SetOrders(const v1::ActorOrders& orders, absl::Time now);

  // The inputs of the next round; none if the actor must wait for the learner.
  std::optional<RoundInputs> NextRound(absl::Time now);

  // Adds a finished round. The next report tells the learner the returns of self-play games and the
  // return of each program's latest evaluation game. Games that were searched again are not
  // reported.
  void AddRound(const SelfPlayStats& stats, absl::Span<const v1::Trajectory> self_play,
                absl::Span<const v1::Trajectory> evaluations);
  void AddSeconds(double waiting, double writing);

  // Sets what one of the threads waits for.
  void SetBlocked(uint32_t thread, PlayBlock block);

  // Why there is no contact with the learner; empty: there is.
  void SetLearnerTrouble(std::string trouble);

  // Takes a program that the learner wants demonstrations of. Null: there is none left, or
  // `assigned` is no longer the assignment. The caller plays the demonstrations and calls
  // AddDemonstrated once the writer has them.
  const PlayedProgram* TakeUndemonstrated(const AssignedPrograms& assigned);
  void AddDemonstrated(const std::string& program);

  // If all threads wait, what one of them waits for.
  PlayBlock blocked() const;

  PlayFigures figures() const;
  uint64_t network_step() const;
  uint64_t policy_lag() const;

  // Moves the outcomes, evaluations and demonstrations since the last call into a report. PutBack
  // takes them back from a report that did not arrive.
  void TakeOutcomes(v1::ActorReport& report);
  void PutBackOutcomes(const v1::ActorReport& report);

 private:
  struct Outcome {
    uint64_t games = 0;
    double sum = 0;
    double best = 0;
  };
  // The state of a program's demonstrations: being played; given to the writer and to be reported;
  // reported.
  enum class Shown : uint8_t { kTaken, kHandedOver, kReported };
  struct Evaluation {
    uint64_t step = 0;
    double policy_return = 0;
  };

  void AddOutcome(const std::string& program, uint64_t games, double sum, double best)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddEvaluation(const std::string& program, uint64_t step, double policy_return)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t Lag() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return newest_step_ > inputs_.step ? newest_step_ - inputs_.step : 0;
  }

  const uint64_t max_policy_lag_;
  mutable absl::Mutex mutex_;
  RoundInputs inputs_ ABSL_GUARDED_BY(mutex_);
  bool network_used_ ABSL_GUARDED_BY(mutex_) = true;
  uint64_t newest_step_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time last_contact_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::string learner_trouble_ ABSL_GUARDED_BY(mutex_);
  PlayFigures figures_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Outcome> outcomes_ ABSL_GUARDED_BY(mutex_);        // by program
  std::map<std::string, Evaluation> evaluations_ ABSL_GUARDED_BY(mutex_);  // by program
  std::map<uint32_t, PlayBlock> blocked_ ABSL_GUARDED_BY(mutex_);          // by thread

  std::vector<uint32_t> undemonstrated_ ABSL_GUARDED_BY(mutex_);  // as ordered
  std::map<std::string, Shown> shown_ ABSL_GUARDED_BY(mutex_);    // by program
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_ACTOR_STATE_H_
