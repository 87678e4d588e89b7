// The baselines of a learner at its latest and at some earlier updates.

#ifndef MALLOCMUZERO_LEARNER_ROLE_BASELINE_HISTORY_H_
#define MALLOCMUZERO_LEARNER_ROLE_BASELINE_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "learner/batch_maker.h"

namespace mallocmuzero {

// An actor stores values in the units of the network that it plays with. The learner knows that
// network's number of updates, and finds here the baselines that the network was trained with.
// Bounded: of older baselines only some are kept, the fewer the older they are. Thread-compatible.
class BaselineHistory {
 public:
  static constexpr size_t kMostBaselines = 16;

  // Adds the baselines for the updates that follow the first `step` ones. Forgets those of later
  // updates, which a learner that goes back to a checkpoint makes again.
  void Add(uint64_t step, std::shared_ptr<const Baselines> baselines);

  // The baselines by which a network learned values in its last update, if it has had `step` of
  // them; or the nearest ones that are kept. Baselines of Add(step) are later: the network is
  // published when they are made. Null before the first Add.
  std::shared_ptr<const Baselines> At(uint64_t step) const;

 private:
  struct Entry {
    uint64_t step = 0;
    std::shared_ptr<const Baselines> baselines;
  };

  void Thin();

  std::deque<Entry> entries_;  // steps ascend
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_BASELINE_HISTORY_H_
