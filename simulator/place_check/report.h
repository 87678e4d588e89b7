// Collects violations of a placed module.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_REPORT_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_REPORT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "simulator/place_check/check_placed.h"

namespace mallocmuzero::place_check {

// A list of at most kMaxPlacedViolations violations; further ones are dropped. Their messages are
// valid UTF-8 and abridged to kMaxViolationBytes.
class Report {
 public:
  template <typename... Parts>
  void Add(PlacedRule rule, const Parts&... parts) {
    if (violations_.size() >= kMaxPlacedViolations) return;
    violations_.push_back({rule, Abridge(ToUtf8(absl::StrCat(parts...)), kMaxViolationBytes)});
  }

  bool empty() const { return violations_.empty(); }
  size_t size() const { return violations_.size(); }
  std::vector<PlacedViolation> Take() { return std::move(violations_); }

 private:
  std::vector<PlacedViolation> violations_;
};

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_REPORT_H_
