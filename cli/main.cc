#include "cli/command.h"

int main(int argc, char** argv) { return mallocmuzero::cli::RunCommandLine(argc, argv); }
