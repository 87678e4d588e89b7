#include "simulator/core/hardware.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/message_file.h"
#include "simulator/core/built_in_hardware.h"

namespace mallocmuzero {
namespace {

// Bounds that keep every price finite; no real chip comes near them.
constexpr double kMinRate = 1e-6;
constexpr double kMaxRate = 1e15;
constexpr int64_t kMaxFastMemoryBytes = int64_t{1} << 50;

}  // namespace

absl::Status CheckHardware(const v1::Hardware& hardware, absl::string_view source) {
  const auto error = [&](absl::string_view field, absl::string_view expected, auto found) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": ", field, ": ", expected, " expected, found ", found));
  };
  if (hardware.name().empty()) return error("name", "a chip's name", "none");
  if (hardware.fast_memory_space() < 1 || hardware.fast_memory_space() > 255) {
    return error("fast_memory_space", "the n of S(n), 1 to 255,", hardware.fast_memory_space());
  }
  if (hardware.fast_memory_bytes() < 1 || hardware.fast_memory_bytes() > kMaxFastMemoryBytes) {
    return error("fast_memory_bytes", "1 to 2^50", hardware.fast_memory_bytes());
  }
  const int64_t alignment = hardware.fast_memory_alignment_bytes();
  if (alignment < 1 || (alignment & (alignment - 1)) != 0 ||
      alignment > hardware.fast_memory_bytes()) {
    return error("fast_memory_alignment_bytes", "a power of two up to fast_memory_bytes",
                 alignment);
  }
  const std::pair<const char*, double> rates[] = {
      {"hbm_bytes_per_cycle", hardware.hbm_bytes_per_cycle()},
      {"fast_memory_read_bytes_per_cycle", hardware.fast_memory_read_bytes_per_cycle()},
      {"fast_memory_write_bytes_per_cycle", hardware.fast_memory_write_bytes_per_cycle()},
      {"flops_per_cycle", hardware.flops_per_cycle()},
      {"clock_hz", hardware.clock_hz()},
  };
  for (const auto& [field, rate] : rates) {
    // The negated form also rejects NaN.
    if (!(rate >= kMinRate && rate <= kMaxRate)) {
      return error(field, "a number from 1e-6 to 1e15", rate);
    }
  }
  const double links = hardware.link_bytes_per_cycle();
  if (links != 0 && !(links >= kMinRate && links <= kMaxRate)) {
    return error("link_bytes_per_cycle", "0 or a number from 1e-6 to 1e15", links);
  }
  return absl::OkStatus();
}

std::vector<std::string> BuiltInHardwareNames() {
  std::vector<std::string> names;
  for (const BuiltInHardware& chip : kBuiltInHardware) names.emplace_back(chip.name);
  return names;
}

absl::StatusOr<v1::Hardware> LoadHardware(const std::string& name_or_path) {
  v1::Hardware hardware;
  absl::Status status;
  const BuiltInHardware* built_in = nullptr;
  for (const BuiltInHardware& chip : kBuiltInHardware) {
    if (name_or_path == chip.name) built_in = &chip;
  }
  if (built_in != nullptr) {
    status = ParseMessage(built_in->textproto, /*text=*/true, name_or_path, hardware);
  } else {
    status = ReadMessageInto(name_or_path, hardware);
    if (absl::IsNotFound(status)) {
      return absl::NotFoundError(absl::StrCat("hardware: ", name_or_path,
                                              " is neither a file nor one of ",
                                              absl::StrJoin(BuiltInHardwareNames(), ", ")));
    }
  }
  if (status.ok()) status = CheckHardware(hardware, name_or_path);
  if (!status.ok()) return status;
  return hardware;
}

}  // namespace mallocmuzero
