#include "serve/serve_config.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check_field.h"
#include "base/file_io.h"
#include "base/status_macros.h"
#include "base/thread_count.h"
#include "cluster/config_folder.h"
#include "cluster/config_mistakes.h"
#include "cluster/config_text.h"
#include "model/network.h"
#include "rpc/protocol.h"
#include "train/train_config.h"

namespace mallocmuzero {
namespace {

constexpr char kDefaultAddress[] = "127.0.0.1:7500";
constexpr uint32_t kDefaultWaiting = 64;
constexpr uint64_t kDefaultMaxProgramBytes = 32 << 20;
constexpr double kDefaultMaxBudgetSeconds = 3600;
constexpr double kDefaultReloadSeconds = 2;

constexpr FieldRange kRanges[] = {
    {"reload_seconds", 0.01, 86400},
    {"searches", 1, kMostThreads},
    {"threads_per_search", 1, kMostThreads},
    {"waiting", 0, 100'000},
    {"evaluators", 1, kMostThreads},
    {"batch_wait_microseconds", 0, 1'000'000},
    {"max_program_bytes", 1, kMaxMessageBytes},
    {"max_budget_seconds", 1e-3, 7 * 86400},
    {"simulations", 1, 10'000},
};

}  // namespace

absl::StatusOr<v1::ServeConfig> ReadServeConfig(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  return ParseServeConfig(*text, path);
}

absl::StatusOr<v1::ServeConfig> ParseServeConfig(absl::string_view text, const std::string& path) {
  v1::ServeConfig config;
  ConfigMistakes mistakes;
  const ConfigPlaces places = ParseConfigText(text, config, mistakes);
  const ConfigSection section(config, places, mistakes);
  if (places.complete) CheckRanges(section, kRanges);
  MMZ_RETURN_IF_ERROR(mistakes.ToStatus(path));
  const ConfigFolder folder(path);
  folder.MakeAbsolute(*config.mutable_checkpoint());
  if (config.has_security()) folder.MakeAbsolute(*config.mutable_security());
  return config;
}

absl::StatusOr<v1::ServeConfig> CompleteServeConfig(v1::ServeConfig config) {
  const absl::StatusOr<Device> device =
      ParseDevice(config.device().empty() ? "cpu" : config.device());
  if (!device.ok()) return device.status();
  const uint32_t cores = ThreadCount(0);
  if (config.address().empty()) config.set_address(kDefaultAddress);
  if (config.reload_seconds() == 0) config.set_reload_seconds(kDefaultReloadSeconds);
  if (config.searches() == 0) config.set_searches(cores);
  if (config.threads_per_search() == 0) config.set_threads_per_search(1);
  if (!config.has_waiting()) config.set_waiting(kDefaultWaiting);
  if (config.evaluators() == 0) config.set_evaluators(*device == Device::kCpu ? cores : 1);
  if (config.max_program_bytes() == 0) config.set_max_program_bytes(kDefaultMaxProgramBytes);
  if (config.max_budget_seconds() == 0) config.set_max_budget_seconds(kDefaultMaxBudgetSeconds);
  if (config.simulations() == 0) config.set_simulations(DefaultSearchOptions().simulations());
  if (config.device().empty()) config.set_device("cpu");
  if (config.precision().empty()) config.set_precision("fp32");
  for (const FieldRange& range : kRanges) {
    const std::string wrong = WrongRange(config, range);
    if (!wrong.empty()) return absl::InvalidArgumentError(absl::StrCat(range.field, ": ", wrong));
  }
  return config;
}

}  // namespace mallocmuzero
