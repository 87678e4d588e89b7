// Reads the text file that says how a cluster is submitted to Slurm, checks it and fills in
// defaults.

#ifndef MALLOCMUZERO_CLUSTER_SLURM_SITE_H_
#define MALLOCMUZERO_CLUSTER_SLURM_SITE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/slurm.pb.h"

namespace mallocmuzero {

// Reads a SlurmSite in protobuf's text format. Fills in the defaults of docs/slurm.md and makes
// shared_dir absolute, which is relative to the file's folder in the file. NotFound if there is no
// such file. InvalidArgument with all mistakes of the file, a line each:
//   FILE:LINE: FIELD: what is wrong, what is expected
absl::StatusOr<v1::SlurmSite> ReadSlurmSite(const std::string& path);

// Does the same for `text`. Messages name the file by `path`.
absl::StatusOr<v1::SlurmSite> ParseSlurmSite(absl::string_view text, const std::string& path);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_SLURM_SITE_H_
