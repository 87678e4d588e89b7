// Exports the networks of a checkpoint for other software.

#ifndef MALLOCMUZERO_MODEL_EXPORT_EXPORT_H_
#define MALLOCMUZERO_MODEL_EXPORT_EXPORT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "env/program_set.h"
#include "mallocmuzero/v1/export.pb.h"

namespace mallocmuzero {

inline constexpr absl::string_view kOnnxFormat = "onnx";
inline constexpr absl::string_view kTorchScriptFormat = "torchscript";

// The file that describes an export, in its folder.
inline constexpr absl::string_view kManifestFile = "manifest.json";

struct ExportOptions {
  std::string checkpoint;  // path, or URL (s3://...)
  std::string format;      // kOnnxFormat or kTorchScriptFormat
  std::string output;      // path of the new folder, or URL of a prefix without objects

  // Programs of whose games `samples` decisions are recorded; null: none are.
  const ProgramSet* programs = nullptr;
  size_t samples = 0;
  uint64_t seed = 0;

  // A file with the JSON of `bench play` for the checkpoint; empty: scores are unknown.
  std::string scores;
};

// Writes the folder: the networks, manifest.json, and if they are there baselines.json and samples.
// On an error there is no folder. InvalidArgument or NotFound, one line that names the file or the
// folder, for all that the caller can put right; errors of model/export/object_storage.h for URLs.
absl::StatusOr<v1::ExportReport> ExportCheckpoint(const ExportOptions& options);

// The report of an export with that manifest, without paths.
v1::ExportReport ReportOf(const v1::ExportManifest& manifest);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_EXPORT_EXPORT_H_
