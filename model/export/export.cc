#include "model/export/export.h"

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "base/message_file.h"
#include "base/message_json.h"
#include "base/rounding.h"
#include "base/sha256.h"
#include "base/size32.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "google/protobuf/struct.pb.h"
#include "model/architecture.h"
#include "model/checkpoint.h"
#include "model/export/manifest.h"
#include "model/export/network_weights.h"
#include "model/export/object_storage.h"
#include "model/export/onnx_graph.h"
#include "model/export/samples.h"
#include "model/export/staged_folder.h"
#include "model/export/torch_script.h"
#include "model/on_device.h"
#include "model/value_codec.h"

namespace mallocmuzero {
namespace {

using Manifest = v1::ExportManifest;

constexpr absl::string_view kBaselinesFile = "baselines.json";

std::string HexSha256(absl::string_view bytes) { return absl::BytesToHexString(Sha256(bytes)); }

// A scored checkpoint is RUN/checkpoints/step-N/checkpoint, with manifest.json beside it.
absl::Status AddCheckpointManifest(const std::string& path, Manifest::Checkpoint& checkpoint) {
  const std::filesystem::path file(path);
  if (file.filename() != "checkpoint") return absl::OkStatus();
  const std::string beside = (file.parent_path() / std::string(kManifestFile)).string();
  const absl::StatusOr<std::string> json = ReadFile(beside);
  if (absl::IsNotFound(json.status())) return absl::OkStatus();
  if (!json.ok()) return json.status();
  google::protobuf::Struct& manifest = *checkpoint.mutable_manifest();
  MMZ_RETURN_IF_ERROR(StatusAt(beside, MessageFromJson(*json, manifest)));
  // The weights that a learner publishes come without the state of training, which has the version.
  const auto rules = manifest.fields().find("rules_version");
  if (rules != manifest.fields().end() && checkpoint.rules_version() == 0) {
    checkpoint.set_rules_version(static_cast<uint32_t>(RoundToZero(rules->second.number_value())));
  }
  const auto sha256 = manifest.fields().find("sha256");
  if (sha256 == manifest.fields().end() ||
      absl::AsciiStrToLower(sha256->second.string_value()) == checkpoint.sha256()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(beside, ": sha256 is that of another checkpoint than ", path));
}

absl::Status AddScores(const std::string& path, Manifest& manifest) {
  if (path.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> json = ReadFile(path);
  if (!json.ok()) return json.status();
  const absl::Status parsed = MessageFromJson(*json, *manifest.mutable_scores());
  if (!parsed.ok()) return {parsed.code(), absl::StrCat(path, ": ", parsed.message())};
  if (manifest.scores().programs().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the JSON of `bench play` with at least one program expected"));
  }
  const std::string& played = manifest.scores().checkpoint_sha256();
  if (played.empty() || played == manifest.checkpoint().sha256()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": scores of another checkpoint than the exported one (sha256 ", played,
                   ", expected ", manifest.checkpoint().sha256(), ")"));
}

// Writes a file that is not a network, and lists it.
absl::Status WriteListed(const StagedFolder& folder, absl::string_view name,
                         absl::string_view bytes, Manifest& manifest) {
  Manifest::File& file = *manifest.add_files();
  file.set_file(std::string(name));
  file.set_bytes(Size32(bytes));
  file.set_sha256(HexSha256(bytes));
  return folder.Write(name, bytes);
}

absl::StatusOr<std::string> NetworkFile(const Graph& graph, const NetworkWeights& weights,
                                        const ValueCodec& codec, bool is_onnx) {
  if (is_onnx) return OnnxModel(graph, weights, codec);
  return TorchScriptModule(graph, weights, codec);
}

absl::Status WriteNetworks(const Network& network, bool is_onnx, const StagedFolder& folder,
                           Manifest& manifest) {
  const Architecture architecture(network.config());
  const NetworkWeights weights(network.ExportWeights());
  const ValueCodec codec(network.config());
  for (const Graph* graph :
       {&architecture.representation(), &architecture.dynamics(), &architecture.prediction()}) {
    const absl::StatusOr<std::string> bytes = NetworkFile(*graph, weights, codec, is_onnx);
    if (!bytes.ok()) return bytes.status();
    Manifest::Network& entry = *manifest.add_networks();
    entry = DescribeNetwork(*graph);
    entry.set_file(absl::StrCat(entry.name(), is_onnx ? ".onnx" : ".pt"));
    entry.set_bytes(Size32(*bytes));
    entry.set_sha256(HexSha256(*bytes));
    MMZ_RETURN_IF_ERROR(folder.Write(entry.file(), *bytes));
  }
  return absl::OkStatus();
}

absl::Status WriteSamples(const Network& network, const ExportOptions& options,
                          const StagedFolder& folder, Manifest& manifest) {
  if (options.programs == nullptr) return absl::OkStatus();
  manifest.set_sample_count(options.samples);
  const RecordedDecisions decisions =
      RecordDecisions(*options.programs, options.samples, options.seed);
  std::vector<NamedTensor> tensors;
  MMZ_RETURN_IF_ERROR(OnDevice(absl::StrCat("the outputs of ", options.samples, " decisions"),
                               [&] { tensors = EvaluateDecisions(network, decisions); }));
  for (const NamedTensor& tensor : tensors) {
    Manifest::Sample& sample = *manifest.add_samples();
    sample.set_tensor(tensor.name);
    sample.set_file(absl::StrCat("samples/", tensor.name, ".npy"));
    MMZ_RETURN_IF_ERROR(WriteListed(folder, sample.file(), NumpyFile(tensor), manifest));
  }
  return absl::OkStatus();
}

absl::Status WriteBaselines(const Checkpoint& checkpoint, const StagedFolder& folder,
                            Manifest& manifest) {
  const v1::ExportBaselines baselines = DescribeBaselines(checkpoint);
  if (baselines.programs().empty()) return absl::OkStatus();
  manifest.mutable_units()->set_baselines(std::string(kBaselinesFile));
  const absl::StatusOr<std::string> json = MessageToJson(baselines);
  if (!json.ok()) return json.status();
  return WriteListed(folder, kBaselinesFile, *json, manifest);
}

// The manifest without files.
absl::StatusOr<Manifest> BeginManifest(const ExportOptions& options, absl::string_view bytes,
                                       const Checkpoint& checkpoint) {
  Manifest manifest = DescribeCheckpoint(checkpoint);
  FillHeader(manifest);
  manifest.set_format(options.format);
  if (options.format == kOnnxFormat) {
    manifest.set_onnx_opset(kOnnxOpset);
    manifest.set_onnx_ir_version(kOnnxIrVersion);
  }
  manifest.mutable_checkpoint()->set_sha256(HexSha256(bytes));
  MMZ_RETURN_IF_ERROR(AddCheckpointManifest(options.checkpoint, *manifest.mutable_checkpoint()));
  MMZ_RETURN_IF_ERROR(AddScores(options.scores, manifest));
  return manifest;
}

// A new folder for files that do not stay on this machine.
absl::StatusOr<std::unique_ptr<StagedFolder>> MakeTransientFolder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  // Without this check the files would be in the present folder.
  if (error) return absl::InvalidArgumentError("TMPDIR: a folder for temporary files expected");
  return StagedFolder::Create((folder / absl::StrCat("mallocmuzero-export-", getpid())).string());
}

absl::StatusOr<std::string> ReadCheckpointFile(const std::string& path) {
  if (!IsObjectUrl(path)) return ReadFile(path);
  const absl::StatusOr<std::unique_ptr<StagedFolder>> folder = MakeTransientFolder();
  if (!folder.ok()) return folder.status();
  const std::string file = absl::StrCat((*folder)->path(), "/checkpoint");
  MMZ_RETURN_IF_ERROR(DownloadFile(path, file));
  return ReadFile(file);
}

absl::StatusOr<std::unique_ptr<Network>> NetworkOf(const Checkpoint& checkpoint,
                                                   const std::string& path) {
  absl::StatusOr<std::unique_ptr<Network>> network = MakeNetwork(checkpoint);
  if (network.ok()) return network;
  return StatusAt(path, network.status());
}

// Writes all files into the folder; the manifest comes last.
absl::Status WriteFiles(const ExportOptions& options, const Checkpoint& checkpoint,
                        const StagedFolder& folder, Manifest& manifest) {
  const absl::StatusOr<std::unique_ptr<Network>> network =
      NetworkOf(checkpoint, options.checkpoint);
  if (!network.ok()) return network.status();
  MMZ_RETURN_IF_ERROR(WriteNetworks(**network, options.format == kOnnxFormat, folder, manifest));
  MMZ_RETURN_IF_ERROR(WriteBaselines(checkpoint, folder, manifest));
  MMZ_RETURN_IF_ERROR(WriteSamples(**network, options, folder, manifest));
  const absl::StatusOr<std::string> json = MessageToJson(manifest);
  if (!json.ok()) return json.status();
  return folder.Write(kManifestFile, absl::StrCat(*json, "\n"));
}

}  // namespace

v1::ExportReport ReportOf(const Manifest& manifest) {
  v1::ExportReport report;
  uint64_t bytes = 0;
  for (const Manifest::Network& network : manifest.networks()) bytes += network.bytes();
  for (const Manifest::File& file : manifest.files()) bytes += file.bytes();
  report.set_format(manifest.format());
  report.set_bytes(bytes);
  report.set_samples(manifest.sample_count());
  return report;
}

absl::StatusOr<v1::ExportReport> ExportCheckpoint(const ExportOptions& options) {
  const bool is_url = IsObjectUrl(options.output);
  MMZ_RETURN_IF_ERROR(is_url ? CheckNewPrefix(options.output) : CheckNewFolder(options.output));
  const absl::StatusOr<std::string> bytes = ReadCheckpointFile(options.checkpoint);
  if (!bytes.ok()) return bytes.status();
  const absl::StatusOr<Checkpoint> checkpoint = ParseCheckpoint(*bytes, options.checkpoint);
  if (!checkpoint.ok()) return checkpoint.status();
  absl::StatusOr<Manifest> manifest = BeginManifest(options, *bytes, *checkpoint);
  if (!manifest.ok()) return manifest.status();
  const absl::StatusOr<std::unique_ptr<StagedFolder>> folder =
      is_url ? MakeTransientFolder() : StagedFolder::Create(options.output);
  if (!folder.ok()) return folder.status();
  MMZ_RETURN_IF_ERROR(WriteFiles(options, *checkpoint, **folder, *manifest));
  MMZ_RETURN_IF_ERROR(is_url ? UploadFolder((*folder)->path(), kManifestFile, options.output)
                             : (*folder)->Publish());
  v1::ExportReport report = ReportOf(*manifest);
  report.set_checkpoint(options.checkpoint);
  report.set_output(options.output);
  return report;
}

}  // namespace mallocmuzero
