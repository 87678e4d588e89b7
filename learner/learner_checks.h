// Checks of the configuration of a cluster's learner. Without LibTorch's headers.

#ifndef MALLOCMUZERO_LEARNER_LEARNER_CHECKS_H_
#define MALLOCMUZERO_LEARNER_LEARNER_CHECKS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/check_field.h"
#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero {

// The allowed ranges of the numeric fields of LearnerRole. LearnerOptionRanges has those of its
// options.
absl::Span<const FieldRange> LearnerRoleRanges();

// The fields of a learner with wrong values, besides those out of range. Looks at no files.
std::vector<WrongField> WrongLearnerFields(const v1::LearnerRole& learner);

// The first wrong field as InvalidArgument, which names it as "learner.FIELD".
absl::Status CheckLearnerRole(const v1::LearnerRole& learner);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_LEARNER_CHECKS_H_
