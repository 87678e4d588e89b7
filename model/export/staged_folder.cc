#include "model/export/staged_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file_io.h"
#include "base/status_macros.h"

namespace mallocmuzero {
namespace {

namespace fs = std::filesystem;

std::string WithoutSlash(const std::string& path) {
  return std::string(path.size() > 1 ? absl::StripSuffix(path, "/") : absl::string_view(path));
}

absl::Status FolderError(const std::string& target, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat(target, ": ", message));
}

}  // namespace

absl::Status CheckNewFolder(const std::string& target) {
  std::error_code error;
  const fs::path path = WithoutSlash(target);
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!fs::is_directory(parent, error)) {
    return FolderError(target, absl::StrCat("there is no folder ", parent.string()));
  }
  if (path.filename() == "." || path.filename() == "..") {
    return FolderError(target, "name a new folder");
  }
  const fs::file_status found = fs::symlink_status(path, error);
  if (!fs::exists(found)) return absl::OkStatus();
  // A folder cannot take the place of a link.
  if (fs::is_symlink(found)) return FolderError(target, "is a link; name a new folder");
  if (!fs::is_directory(path, error)) return FolderError(target, "exists and is no folder");
  if (!fs::is_empty(path, error)) {
    return FolderError(target, "the folder exists and is not empty; name a new one");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<StagedFolder>> StagedFolder::Create(const std::string& target) {
  MMZ_RETURN_IF_ERROR(CheckNewFolder(target));
  std::string path = absl::StrCat(WithoutSlash(target), ".mmz-XXXXXX");
  if (mkdtemp(path.data()) == nullptr) {
    return FolderError(target, absl::StrCat("cannot write here: ", std::strerror(errno)));
  }
  std::error_code error;
  fs::permissions(path, fs::perms(0755), error);  // mkdtemp allows nobody else to read it
  return absl::WrapUnique(new StagedFolder(WithoutSlash(target), std::move(path)));
}

StagedFolder::StagedFolder(std::string target, std::string path)
    : target_(std::move(target)), path_(std::move(path)) {}

StagedFolder::~StagedFolder() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
}

absl::StatusOr<std::string> StagedFolder::MakePlace(absl::string_view name) const {
  const fs::path file = fs::path(path_) / std::string(name);
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) return FolderError(target_, absl::StrCat("cannot write: ", error.message()));
  return file.string();
}

absl::Status StagedFolder::Write(absl::string_view name, absl::string_view bytes) const {
  const absl::StatusOr<std::string> place = MakePlace(name);
  return place.ok() ? WriteFileAtomically(*place, bytes) : place.status();
}

absl::Status StagedFolder::Move(const std::string& file, absl::string_view name) const {
  const absl::StatusOr<std::string> place = MakePlace(name);
  if (!place.ok()) return place.status();
  std::error_code error;
  fs::rename(file, *place, error);
  if (error) return FolderError(target_, absl::StrCat("cannot write: ", error.message()));
  return absl::OkStatus();
}

absl::Status StagedFolder::Publish() {
  std::error_code error;
  fs::rename(path_, target_, error);  // also over an empty folder
  if (error) return FolderError(target_, absl::StrCat("cannot write: ", error.message()));
  path_.clear();
  return absl::OkStatus();
}

}  // namespace mallocmuzero
