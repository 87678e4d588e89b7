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
  std::string address;  // host:port
  std::shared_ptr<const Security> security;
  uint64_t seed = 0;  // of the jitter between attempts

  // Time between two reports, and how long an answer may take.
  absl::Duration report_interval = absl::Seconds(2);
  absl::Duration timeout = absl::Seconds(5);

  bool fetch_weights = true;
};

// The files of an assignment by their SHA-256, as Fetch gives them.
using ProgramFiles = absl::flat_hash_map<std::string, std::shared_ptr<const std::string>>;

// Called on the client's own threads, one call of each at a time. None may wait for long.
struct LearnerClientHooks {
  // What to report.
  std::function<v1::ActorReport()> report;

  // How a report went: OK, with orders, or why the learner does not have it.
  std::function<void(const v1::ActorReport& report, const absl::Status& status,
                     const v1::ActorOrders& orders)>
      reported;

  // A new assignment with all its files. An error is the learner's mistake: it is asked again, not
  // at once.
  std::function<absl::Status(const v1::Assignment& assignment, const ProgramFiles& files)> assigned;

  // Whether newer weights would be used: a version that nobody plays with is not worth its way. Not
  // given: always.
  std::function<bool()> wants_weights;

  // Newer weights: a checkpoint file whose SHA-256 is right. An error as above.
  std::function<absl::Status(uint64_t step, const std::string& bytes)> weights;
};

// All of it since the client began.
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

// Keeps in touch for as long as it lives, however often the learner goes away: attempts come with
// backoff, a fetch goes on where it was cut. Thread-safe.
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
