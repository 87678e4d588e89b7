// A made-up training run for tests of the dashboard.

#ifndef MALLOCMUZERO_DASHBOARD_TESTING_DEMO_RUN_H_
#define MALLOCMUZERO_DASHBOARD_TESTING_DEMO_RUN_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "mallocmuzero/v1/train_metrics.pb.h"

namespace mallocmuzero::testing {

// The names of the programs of the run, which are for the chip "small".
inline constexpr char kLargeProgram[] = "layers";  // 1,500 instructions
inline constexpr char kHostileProgram[] = "<script>document.title='taken over'</script>";

// The metrics of one iteration. Returns rise with it.
v1::TrainMetrics DemoMetrics(uint32_t iteration);

// Makes the folder of a run with 40 iterations of two programs. The large program has several best
// mappings and a default, the other has loops and no default.
absl::Status WriteDemoRun(const std::string& path);

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_DASHBOARD_TESTING_DEMO_RUN_H_
