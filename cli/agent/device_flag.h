// The flag --device of benchmarks of networks.

#ifndef MALLOCMUZERO_CLI_AGENT_DEVICE_FLAG_H_
#define MALLOCMUZERO_CLI_AGENT_DEVICE_FLAG_H_

#include <string>

#include "CLI/CLI.hpp"

namespace mallocmuzero::cli {

// Adds --device, which sets `device` to "cpu" or "cuda". Its present value is the default.
void AddDeviceFlag(CLI::App& command, std::string& device);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_AGENT_DEVICE_FLAG_H_
