// A learner's rates per second, over the last seconds.

#ifndef MALLOCMUZERO_LEARNER_ROLE_LEARNER_RATES_H_
#define MALLOCMUZERO_LEARNER_ROLE_LEARNER_RATES_H_

#include <deque>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "learner/role/actor_book.h"
#include "learner/role/training.h"

namespace mallocmuzero {

// Not thread-safe.
class LearnerRates {
 public:
  // Takes the present counts. Call it once a second.
  void Add(const TrainingFigures& training, const ActorTotals& actors, absl::Time now);

  // The rates by their names in RoleStatus.figures; empty before the second call of Add.
  // "drawn_age" is the mean age of the games of drawn positions.
  std::map<std::string, double> Figures() const;

 private:
  struct Sample {
    absl::Time time;
    double updates = 0;
    double rows = 0;
    double games = 0;
    double decisions = 0;
    double drawn = 0;  // positions that have an age
    double drawn_age = 0;
  };

  std::deque<Sample> samples_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_LEARNER_RATES_H_
