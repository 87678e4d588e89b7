// Measures the time that a scope takes.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_STOPWATCH_H_
#define MALLOCMUZERO_ACTOR_SEARCH_STOPWATCH_H_

#include <chrono>

namespace mallocmuzero {

// Adds the seconds from its construction to its destruction to a number.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds), start_(Clock::now()) {}
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  double& seconds_;
  Clock::time_point start_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SEARCH_STOPWATCH_H_
