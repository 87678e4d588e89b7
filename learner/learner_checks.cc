#include "learner/learner_checks.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/check_field.h"
#include "base/status_macros.h"
#include "base/thread_count.h"
#include "learner/learner.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "model/network_config.h"

namespace mallocmuzero {
namespace {

void AddWrongNetwork(const v1::LearnerRole& learner, std::vector<WrongField>& wrong) {
  absl::Status network = ValidateNetworkConfig(learner.network());
  if (network.ok()) network = CheckPlayable(learner.network());
  if (!network.ok()) wrong.push_back({"network", std::string(network.message())});
  const absl::Status values = CheckValueTarget(learner.options(), learner.network());
  // The message has the form "network.FIELD: what would be right".
  const std::string message(values.message());
  const size_t colon = message.find(": ");
  if (!values.ok()) wrong.push_back({message.substr(0, colon), message.substr(colon + 2)});
}

void AddWrongProcesses(const v1::LearnerRole& learner, std::vector<WrongField>& wrong) {
  const uint32_t batch = learner.options().batch_size();
  if (learner.processes() > 1 && batch % learner.processes() != 0) {
    wrong.push_back(
        {"options.batch_size", absl::StrCat(batch, " given, a multiple of learner.processes (",
                                            learner.processes(), ") expected")});
  }
  if (learner.devices_size() > 0 && learner.devices_size() != learner.processes()) {
    wrong.push_back({"devices", absl::StrCat(learner.devices_size(), " given, one for each of ",
                                             learner.processes(), " processes expected")});
  }
}

}  // namespace

absl::Span<const FieldRange> LearnerRoleRanges() {
  constexpr double kMebibyte = 1 << 20;
  static constexpr FieldRange kRanges[] = {
      {"explored_decisions", 0, 1e6},
      {"searched_share", 0, 1},
      {"window_share", 0, 1},
      {"evaluated_share", 0, 1},
      {"demonstration_seconds", 0, 86400},
      {"importance_exponent", 0, 1},
      {"publish_updates", 1, 1e9},
      {"checkpoint_seconds", 1, 86400},
      {"processes", 1, 1024},
      {"group_timeout_seconds", 5, 3600},
      {"prefetched_batches", 1, 1024},
      {"scored_checkpoints", 0, 100000},
      {"scored_checkpoint_bytes", kMebibyte, std::numeric_limits<double>::max()},
      {"threads", 1, kMostThreads}};
  return kRanges;
}

std::vector<WrongField> WrongLearnerFields(const v1::LearnerRole& learner) {
  std::vector<WrongField> wrong;
  for (const WrongField& option : WrongLearnerOptions(learner.options())) {
    wrong.push_back({absl::StrCat("options.", option.field), option.message});
  }
  AddWrongNetwork(learner, wrong);
  if (learner.run_dir().empty()) wrong.push_back({"run_dir", "empty; a folder expected"});
  AddWrongProcesses(learner, wrong);
  return wrong;
}

absl::Status CheckLearnerRole(const v1::LearnerRole& learner) {
  MMZ_RETURN_IF_ERROR(FirstWrong(OutOfRange(learner, LearnerRoleRanges()), "learner."));
  MMZ_RETURN_IF_ERROR(
      FirstWrong(OutOfRange(learner.options(), LearnerOptionRanges()), "learner.options."));
  return FirstWrong(WrongLearnerFields(learner), "learner.");
}

}  // namespace mallocmuzero
