#include "cli/command.h"
#include "model/network.h"

int main(int argc, char** argv) {
  mallocmuzero::KeepFreedMemory();
  return mallocmuzero::cli::RunCommandLine(argc, argv);
}
