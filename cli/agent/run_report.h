// The last figures of a training run, and a page that shows them with its pictures.

#ifndef MALLOCMUZERO_CLI_AGENT_RUN_REPORT_H_
#define MALLOCMUZERO_CLI_AGENT_RUN_REPORT_H_

#include <string>

#include "absl/types/span.h"
#include "mallocmuzero/v1/run_report.pb.h"
#include "mallocmuzero/v1/train_metrics.pb.h"

namespace mallocmuzero::cli {

// The report of a run from its iterations, one or more in their order, with the paths of the files
// in `folder`.
v1::RunReport MakeRunReport(const std::string& run, const std::string& folder,
                            absl::Span<const v1::TrainMetrics> iterations);

// Facts and a table of the programs, for a terminal.
std::string RunReportText(const v1::RunReport& report);

// The report as a page that shows the pictures. They must be in the page's folder.
std::string RunReportMarkdown(const v1::RunReport& report);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_AGENT_RUN_REPORT_H_
