#include "env/program_files.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

namespace {

namespace fs = std::filesystem;

// The folders that FindPrograms has not read yet. Links come after all other folders, so that a
// program has the path without links if it has one.
struct Folders {
  std::vector<fs::path> own;
  std::vector<fs::path> links;

  bool IsEmpty() const { return own.empty() && links.empty(); }
  fs::path Take() {
    std::vector<fs::path>& from = own.empty() ? links : own;
    fs::path folder = std::move(from.back());
    from.pop_back();
    return folder;
  }
};

bool IsProgram(absl::string_view name) {
  return absl::EndsWith(name, ".program") || absl::EndsWith(name, ".program.zst");
}

// A volume of Kubernetes has each file or folder in a hidden folder and a link to it beside that
// folder. Only root may read the lost+found of a disk.
bool IsLeftOut(absl::string_view name) {
  return absl::StartsWith(name, ".") || name == "lost+found";
}

// Adds the programs in one folder to `paths`, and its folders to `folders`.
std::error_code ReadFolder(const fs::path& folder, Folders& folders,
                           std::vector<std::string>& paths) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code leads_nowhere;
    if (IsLeftOut(name)) continue;
    if (it->is_directory(leads_nowhere)) {
      (it->is_symlink(leads_nowhere) ? folders.links : folders.own).push_back(it->path());
    } else if (IsProgram(name)) {
      paths.push_back(it->path().string());
    }
  }
  std::sort(folders.links.rbegin(), folders.links.rend());  // the order of a folder is arbitrary
  return error;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FindPrograms(const std::string& folder) {
  std::vector<std::string> paths;
  Folders folders = {.own = {folder}, .links = {}};
  std::set<fs::path> entered;  // links may lead back
  while (!folders.IsEmpty()) {
    const fs::path next = folders.Take();
    std::error_code error;
    if (!entered.insert(fs::canonical(next, error)).second) continue;
    if (!error) error = ReadFolder(next, folders, paths);
    if (error) return absl::NotFoundError(absl::StrCat(next.string(), ": ", error.message()));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

absl::StatusOr<ProgramSet> LoadPrograms(absl::Span<const std::string> files_or_folders) {
  std::vector<std::string> files;
  for (const std::string& path : files_or_folders) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
      files.push_back(path);
      continue;
    }
    const absl::StatusOr<std::vector<std::string>> found = FindPrograms(path);
    if (!found.ok()) return found.status();
    if (found->empty()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": no .program file in this folder"));
    }
    files.insert(files.end(), found->begin(), found->end());
  }
  std::vector<Program> programs;
  for (const std::string& path : files) {
    absl::StatusOr<Program> program = LoadProgram(path);
    if (!program.ok()) return program.status();
    programs.push_back(*std::move(program));
  }
  return ProgramSet::Create(std::move(programs));
}

}  // namespace mallocmuzero
