// Fetches exports and checkpoints from object storage, and checks them.

#ifndef MALLOCMUZERO_MODEL_EXPORT_FETCH_H_
#define MALLOCMUZERO_MODEL_EXPORT_FETCH_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mallocmuzero/v1/export.pb.h"

namespace mallocmuzero {

// Downloads the export at `url` (s3://...) to the new folder `output`. Every file must have the
// size and the SHA-256 of the manifest; otherwise, and on every other error, there is no folder.
// Objects that the manifest does not list are left out.
absl::StatusOr<v1::ExportReport> FetchExport(const std::string& url, const std::string& output);

// InvalidArgument, one line that names the file, unless `folder` has all files of its manifest as
// the manifest describes them. Returns the manifest.
absl::StatusOr<v1::ExportManifest> CheckExport(const std::string& folder);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_EXPORT_FETCH_H_
