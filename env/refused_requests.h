// Requests for places in fast memory that were refused, so that nobody searches for them again.

#ifndef MALLOCMUZERO_ENV_REFUSED_REQUESTS_H_
#define MALLOCMUZERO_ENV_REFUSED_REQUESTS_H_

#include <algorithm>
#include <array>
#include <cstddef>

#include "env/residency.h"

namespace mallocmuzero {

// The last few requests that one state of fast memory has refused at one instruction. An
// instruction often reads several values of one size, and to see that one of them has no place can
// take long.
class RefusedRequests {
 public:
  bool Has(const Residency::Request& request) const {
    const auto end = requests_.begin() + std::min(added_, requests_.size());
    return std::find(requests_.begin(), end, request) != end;
  }

  void Add(const Residency::Request& request) { requests_[added_++ % requests_.size()] = request; }

  // Call it when fast memory or the instruction changes.
  void Clear() { added_ = 0; }

 private:
  std::array<Residency::Request, 4> requests_;
  size_t added_ = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_REFUSED_REQUESTS_H_
