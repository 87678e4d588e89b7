#include "env/program_files.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

absl::StatusOr<std::vector<std::string>> FindPrograms(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    // A volume of Kubernetes has each file in a hidden folder and a link to it beside that folder.
    if (absl::StartsWith(it->path().filename().string(), ".")) {
      it.disable_recursion_pending();
      continue;
    }
    const std::string path = it->path().string();
    if (absl::EndsWith(path, ".program") || absl::EndsWith(path, ".program.zst")) {
      paths.push_back(path);
    }
  }
  if (error) return absl::NotFoundError(absl::StrCat(folder, ": ", error.message()));
  std::sort(paths.begin(), paths.end());
  return paths;
}

absl::StatusOr<ProgramSet> LoadPrograms(absl::Span<const std::string> files_or_folders) {
  std::vector<std::string> files;
  for (const std::string& path : files_or_folders) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored)) {
      files.push_back(path);
      continue;
    }
    const absl::StatusOr<std::vector<std::string>> found = FindPrograms(path);
    if (!found.ok()) return found.status();
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
