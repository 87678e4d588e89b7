#include "cli/agent/device_flag.h"

#include "cli/choice_flag.h"

namespace mallocmuzero::cli {

void AddDeviceFlag(CLI::App& command, std::string& device) {
  TakeOneOf(*command.add_option("--device", device, "The device that computes the network.")
                 ->capture_default_str(),
            {"cpu", "cuda"});
}

}  // namespace mallocmuzero::cli
