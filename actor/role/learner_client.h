// An actor's connection to its learner: sends reports, gets orders, programs and newer weights.

#ifndef MALLOCMUZERO_ACTOR_ROLE_LEARNER_CLIENT_H_
#define MALLOCMUZERO_ACTOR_ROLE_LEARNER_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/learner.pb.h"

namespace mallocmuzero {

class Security;  // rpc/security.h

struct LearnerClientOptions {
  std::string address;  // HOST:PORT
  std::shared_ptr<const Security> security;
  uint64_t seed = 0;  // for the jitter of the pauses between attempts

  // The time between two reports, and the deadline of a report.
  absl::Duration report_interval = absl::Seconds(2);
  absl::Duration timeout = absl::Seconds(5);

  bool fetch_weights = true;
};

// The files of an assignment, by their SHA-256 (32 bytes), as the learner sent them.
using ProgramFiles = absl::flat_hash_map<std::string, std::shared_ptr<const std::string>>;

// Functions that the client calls from its own threads, each by one thread at a time. They must not
// block for long.
struct LearnerClientHooks {
  // Makes the next report.
  std::function<v1::ActorReport()> report;

  // Tells the result of a report: OK with the learner's orders, or the error if the learner may not
  // have got it.
  std::function<void(const v1::ActorReport& report, const absl::Status& status,
                     const v1::ActorOrders& orders)>
      reported;

  // Gets a new assignment with all its files. After an error the client asks the learner for the
  // assignment again after a pause.
  std::function<absl::Status(const v1::Assignment& assignment, const ProgramFiles& files)> assigned;

  // Returns whether newer weights would be used now; the client does not fetch weights that would
  // be replaced unused. Not set: always.
  std::function<bool()> wants_weights;

  // Gets newer weights: a checkpoint file whose SHA-256 was verified. After an error the client
  // fetches weights again after a pause.
  std::function<absl::Status(const v1::CheckpointNotice& notice, const std::string& bytes)> weights;

  // Returns the candidate whose weights to fetch now; nullopt: none. Not set: always none.
  std::function<std::optional<v1::CheckpointNotice>()> wanted_candidate;

  // Gets the candidate's weights, as `weights` does.
  std::function<absl::Status(const v1::CheckpointNotice& notice, const std::string& bytes)>
      candidate_weights;
};

// Totals since the client was made.
struct LearnerClientFigures {
  absl::Time last_contact = absl::InfinitePast();  // by SteadyNow

  uint64_t reports = 0;
  uint64_t failed_reports = 0;
  uint64_t notices = 0;
  uint64_t fetches = 0;  // newer weights that have arrived; some versions are never fetched
  uint64_t fetched_bytes = 0;
  uint64_t damaged_fetches = 0;  // files with a wrong SHA-256
  double fetch_seconds = 0;
  std::string last_error;  // why the last failed call failed, in a few words
  std::string trouble;     // why calls fail now; empty while the learner answers
};

// Stays connected to the learner until this object is destroyed. Retries with backoff when the
// learner goes away and continues interrupted transfers where they ended. Owns two threads.
// Thread-safe.
class LearnerClient {
 public:
  // Starts the threads. Does not wait for the learner.
  LearnerClient(const LearnerClientOptions& options, LearnerClientHooks hooks);

  // Ends all calls and joins the threads.
  ~LearnerClient();
  LearnerClient(const LearnerClient&) = delete;
  LearnerClient& operator=(const LearnerClient&) = delete;

  // Ends all calls, then tells the learner that the actor stops. Blocks for at most about
  // `timeout`. Afterwards no hook is called.
  void Leave(absl::Duration timeout);

  LearnerClientFigures figures() const;

 private:
  class Impl;

  std::unique_ptr<Impl> impl_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_LEARNER_CLIENT_H_
