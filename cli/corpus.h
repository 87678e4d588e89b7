// The captured corpus: workloads/<chip>/<name>.program and workloads/split.csv, as a table.

#ifndef MALLOCMUZERO_CLI_CORPUS_H_
#define MALLOCMUZERO_CLI_CORPUS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/latency.pb.h"
#include "mallocmuzero/v1/report.pb.h"

namespace mallocmuzero::cli {

struct CorpusProgram {
  std::string family;
  std::string split;  // train, validation or test
  v1::ImportReport report;
  v1::Calibration calibration;
};

// The paths of the programs in a folder and its folders. InvalidArgument if there are none.
absl::StatusOr<std::vector<std::string>> FindSomePrograms(const std::string& folder);

// The programs of FindPrograms(folder) that `folder`/split.csv gives this split. InvalidArgument if
// there is none.
absl::StatusOr<std::vector<std::string>> FindSplit(const std::string& folder,
                                                   const std::string& split);

// Every .program or .program.zst in a subfolder of `folder`, by chip and name. Each must be in
// `folder`/split.csv (columns name, family, split). Errors name the file.
absl::StatusOr<std::vector<CorpusProgram>> ReadCorpus(const std::string& folder);

// Whether placement matters for this program: the compiler's default leaves 10 % or more of the
// accessed bytes in HBM or stalls 1 % or more of its cycles, and everything in fast memory would
// cost 3 % or more less.
bool IsContended(const v1::ImportReport& report);

// One Markdown table for each chip, with a line of totals above it.
std::string CorpusMarkdown(const std::vector<CorpusProgram>& programs);

// The same programs as a report, for --json.
v1::CorpusReport MakeCorpusReport(const std::vector<CorpusProgram>& programs);

// Replaces the text of `document` between the lines "<!-- corpus:begin -->" and "<!-- corpus:end
// -->" by `markdown`. InvalidArgument if the document lacks these markers in this order.
absl::StatusOr<std::string> ReplaceBetweenMarkers(absl::string_view document,
                                                  absl::string_view markdown);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_CORPUS_H_
