// The reasons why a mapping is faster or slower than another, as a report and as text.

#ifndef MALLOCMUZERO_CLI_EXPLAIN_REPORT_H_
#define MALLOCMUZERO_CLI_EXPLAIN_REPORT_H_

#include <string>

#include "mallocmuzero/v1/report.pb.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero::cli {

// A mapping and its name.
struct NamedMapping {
  std::string name;
  const Mapping& mapping;
};

// All fields of ExplainReport, with the `limit` buffers that gain or lose most.
v1::ExplainReport MakeExplainReport(const Program& program, const NamedMapping& ours,
                                    const NamedMapping& reference, int limit);

// The two totals, then two or three lines for each reason: cycles, tensor, the accesses that
// differ, and the cause.
std::string ExplainText(const v1::ExplainReport& report);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_EXPLAIN_REPORT_H_
