// Writes a made-up run, which the browser test shows.
//   dashboard_demo_run FOLDER
#include <cstdio>

#include "absl/status/status.h"
#include "dashboard/testing/demo_run.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: dashboard_demo_run FOLDER\n", stderr);
    return 2;
  }
  const absl::Status written = mallocmuzero::testing::WriteDemoRun(argv[1]);
  if (written.ok()) return 0;
  std::fprintf(stderr, "dashboard_demo_run: %s\n", written.ToString().c_str());
  return 1;
}
