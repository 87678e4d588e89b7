// Bounds the messages that are logged in a minute.

#ifndef MALLOCMUZERO_RPC_MESSAGE_LIMIT_H_
#define MALLOCMUZERO_RPC_MESSAGE_LIMIT_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace mallocmuzero {

// Lets the first messages of each minute through. Thread-safe.
class MessageLimit {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr uint32_t kMostInAMinute = 20;

  // Takes a message that comes at `now`. Returns nullopt if the message is to be left out.
  // Otherwise returns the number of messages left out since the last call that returned a number.
  std::optional<uint64_t> Take(Time now) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    if (!began_.has_value() || now - *began_ >= std::chrono::minutes(1)) {
      began_ = now;
      taken_ = 0;
    }
    if (taken_ >= kMostInAMinute) {
      ++left_out_;
      return std::nullopt;
    }
    ++taken_;
    return std::exchange(left_out_, 0);
  }

 private:
  absl::Mutex mutex_;
  std::optional<Time> began_ ABSL_GUARDED_BY(mutex_);  // the present minute
  uint32_t taken_ ABSL_GUARDED_BY(mutex_) = 0;         // in it
  uint64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_MESSAGE_LIMIT_H_
