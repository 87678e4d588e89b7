#include "model/export/fetch.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file_io.h"
#include "base/message_file.h"
#include "base/message_json.h"
#include "base/sha256.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "model/export/export.h"
#include "model/export/object_storage.h"
#include "model/export/staged_folder.h"

namespace mallocmuzero {
namespace {

// A name in a manifest may not lead out of the folder.
bool IsInside(const std::string& name) {
  const std::filesystem::path path(name);
  if (name.empty() || path.is_absolute()) return false;
  for (const std::filesystem::path& part : path) {
    if (part == "..") return false;
  }
  return true;
}

absl::Status CheckFile(const std::string& folder, const std::string& name, uint64_t bytes,
                       const std::string& sha256) {
  if (!IsInside(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat(kManifestFile, ": file \"", name, "\" is not in the folder of the export"));
  }
  const std::string path = absl::StrCat(folder, "/", name);
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  if (!error && size != bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": has ", size, " bytes, the manifest says ", bytes));
  }
  const absl::StatusOr<std::string> content = ReadFile(path);
  if (error || !content.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": missing or not readable"));
  }
  if (absl::BytesToHexString(Sha256(*content)) == sha256) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": damaged: its SHA-256 is not that of the manifest"));
}

// Moves the manifest and the files that it lists.
absl::Status MoveListedFiles(const v1::ExportManifest& manifest, const std::string& from,
                             const StagedFolder& to) {
  std::set<std::filesystem::path> names = {std::string(kManifestFile)};
  for (const v1::ExportManifest::Network& network : manifest.networks()) {
    names.insert(std::filesystem::path(network.file()).lexically_normal());
  }
  for (const v1::ExportManifest::File& file : manifest.files()) {
    names.insert(std::filesystem::path(file.file()).lexically_normal());
  }
  for (const std::filesystem::path& name : names) {
    MMZ_RETURN_IF_ERROR(to.Move(absl::StrCat(from, "/", name.string()), name.string()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::ExportManifest> CheckExport(const std::string& folder) {
  const absl::StatusOr<std::string> json = ReadFile(absl::StrCat(folder, "/", kManifestFile));
  if (!json.ok()) return absl::InvalidArgumentError("no export: it has no manifest.json");
  v1::ExportManifest manifest;
  MMZ_RETURN_IF_ERROR(StatusAt(kManifestFile, MessageFromJson(*json, manifest)));
  MMZ_RETURN_IF_ERROR(CheckHeader(manifest, kManifestFile));
  for (const v1::ExportManifest::Network& network : manifest.networks()) {
    MMZ_RETURN_IF_ERROR(CheckFile(folder, network.file(), network.bytes(), network.sha256()));
  }
  for (const v1::ExportManifest::File& file : manifest.files()) {
    MMZ_RETURN_IF_ERROR(CheckFile(folder, file.file(), file.bytes(), file.sha256()));
  }
  return manifest;
}

absl::StatusOr<v1::ExportReport> FetchExport(const std::string& url, const std::string& output) {
  const absl::StatusOr<std::unique_ptr<StagedFolder>> all = StagedFolder::Create(output);
  if (!all.ok()) return all.status();
  MMZ_RETURN_IF_ERROR(DownloadFolder(url, (*all)->path()));
  const absl::StatusOr<v1::ExportManifest> manifest = CheckExport((*all)->path());
  if (!manifest.ok()) return StatusAt(url, manifest.status());
  const absl::StatusOr<std::unique_ptr<StagedFolder>> listed = StagedFolder::Create(output);
  if (!listed.ok()) return listed.status();
  MMZ_RETURN_IF_ERROR(MoveListedFiles(*manifest, (*all)->path(), **listed));
  MMZ_RETURN_IF_ERROR((*listed)->Publish());
  v1::ExportReport report = ReportOf(*manifest);
  report.set_output(output);
  return report;
}

}  // namespace mallocmuzero
