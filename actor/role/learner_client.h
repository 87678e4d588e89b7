// The learner as an actor sees it: newer weights, programs, orders.

#ifndef MALLOCMUZERO_ACTOR_ROLE_LEARNER_CLIENT_H_
#define MALLOCMUZERO_ACTOR_ROLE_LEARNER_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
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
  uint64_t seed = 0;  // of the random part of the time between attempts

  // Time between two reports, and how long an answer may take.
  absl::Duration report_interval = absl::Seconds(2);
  absl::Duration timeout = absl::Seconds(5);

  bool fetch_weights = true;
};

// The files of an assignment by their SHA-256, as Fetch gives them.
using ProgramFiles = absl::flat_hash_map<std::string, std::shared_ptr<const std::string>>;

// Functions that the client calls on its own threads, each one at a time. They must not block for
// long.
struct LearnerClientHooks {
  // Returns the next report.
  std::function<v1::ActorReport()> report;

  // Receives the result of a report: the learner's orders, or why the report did not arrive.
  std::function<void(const v1::ActorReport& report, const absl::Status& status,
                     const v1::ActorOrders& orders)>
      reported;

  // Receives a new assignment with all its files. An error means that the learner made a mistake:
  // the client asks it again after a while.
  std::function<absl::Status(const v1::Assignment& assignment, const ProgramFiles& files)> assigned;

  // Whether newer weights would be used. A version that no round is played with is not fetched. If
  // the function is empty, every version is fetched.
  std::function<bool()> wants_weights;

  // Receives newer weights: a checkpoint file with the right SHA-256. Errors are as above.
  std::function<absl::Status(uint64_t step, const std::string& bytes)> weights;
};

// Counts since the client began.
struct LearnerClientFigures {
  absl::Time last_contact = absl::InfinitePast();

  uint64_t reports = 0;
  uint64_t failed_reports = 0;
  uint64_t notices = 0;
  uint64_t fetched_bytes = 0;
  uint64_t damaged_fetches = 0;  // whose SHA-256 was wrong
  double fetch_seconds = 0;
  std::string last_error;  // of the last call that failed, in a few words
  std::string trouble;     // the same, while it lasts; empty: the learner answers
};

// Keeps the connection for as long as it lives. If the learner goes away, it tries again with
// backoff, and an interrupted fetch continues where it stopped. Thread-safe.
class LearnerClient {
 public:
  LearnerClient(const LearnerClientOptions& options, LearnerClientHooks hooks);

  // Ends all calls at once.
  ~LearnerClient();
  LearnerClient(const LearnerClient&) = delete;
  LearnerClient& operator=(const LearnerClient&) = delete;

  // Ends all calls at once, and tells the learner, in no more than `timeout`, that the actor stops.
  void Leave(absl::Duration timeout);

  LearnerClientFigures figures() const;

 private:
  class Impl;

  std::unique_ptr<Impl> impl_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_LEARNER_CLIENT_H_
