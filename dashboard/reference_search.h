// Local search in the background, whose results a run's gains are compared with.

#ifndef MALLOCMUZERO_DASHBOARD_REFERENCE_SEARCH_H_
#define MALLOCMUZERO_DASHBOARD_REFERENCE_SEARCH_H_

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// Searches one program after the other on a thread of its own with the lowest priority, so that it
// takes only time that training leaves. Thread-safe.
class ReferenceSearch {
 public:
  // Each program gets this time. A budget of 0 searches nothing.
  explicit ReferenceSearch(absl::Duration budget);
  ~ReferenceSearch();
  ReferenceSearch(const ReferenceSearch&) = delete;
  ReferenceSearch& operator=(const ReferenceSearch&) = delete;

  // Adds a program to those to search, once.
  void Add(const std::shared_ptr<const Program>& program);

  // The share of cycles that local search saves against the default (without a default: against
  // everything in HBM), in percent. It has no value until the
  // search is done.
  std::optional<double> SavedPercent(const Program& program) const;

 private:
  void Work();
  bool Stopped() const;

  const absl::Duration budget_;
  mutable absl::Mutex mutex_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::shared_ptr<const Program>> waiting_ ABSL_GUARDED_BY(mutex_);
  // Saved percent by fingerprint of the program. A program that waits has no value.
  std::map<std::string, std::optional<double>> saved_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_DASHBOARD_REFERENCE_SEARCH_H_
