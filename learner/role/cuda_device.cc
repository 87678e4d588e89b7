#include "learner/role/cuda_device.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace mallocmuzero {
namespace {

constexpr char kVariable[] = "CUDA_VISIBLE_DEVICES";

}  // namespace

absl::StatusOr<std::string> VisibleDevice(uint32_t index, absl::string_view inherited) {
  if (inherited.empty()) return absl::StrCat(index);
  const std::vector<std::string> visible = absl::StrSplit(inherited, ',');
  if (index < visible.size()) return visible[index];
  return absl::InvalidArgumentError(absl::StrCat(index, " given, 0 to ", visible.size() - 1,
                                                 " expected: ", kVariable, " is ", inherited));
}

absl::Status ChooseCudaDevice(const v1::LearnerRole& learner, uint32_t rank) {
  if (rank >= learner.devices_size()) return absl::OkStatus();
  const char* inherited = std::getenv(kVariable);
  const absl::StatusOr<std::string> device =
      VisibleDevice(learner.devices(rank), inherited == nullptr ? "" : inherited);
  if (!device.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("learner.devices[", rank, "]: ", device.status().message()));
  }
  setenv(kVariable, device->c_str(), /*overwrite=*/1);
  return absl::OkStatus();
}

}  // namespace mallocmuzero
