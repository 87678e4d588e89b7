#include "cli/agent/device_flag.h"

namespace mallocmuzero::cli {

void AddDeviceFlag(CLI::App& command, std::string& device) {
  command.add_option("--device", device, "The device that computes the network.")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
}

}  // namespace mallocmuzero::cli
