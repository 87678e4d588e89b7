#include "env/testing/corpus_programs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "simulator/core/hardware.h"
#include "simulator/import/import.h"

namespace mallocmuzero::testing {

std::vector<std::string> CorpusPaths(const std::string& source_dir) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(source_dir + "/workloads", error)) {
    std::string path = entry.path().string();
    const bool of_a_chip = absl::StrContains(path, "/tpu_");
    if (of_a_chip && absl::EndsWith(path, ".program")) paths.push_back(std::move(path));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> BundledNames(const std::string& source_dir) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(source_dir + "/tests/data/hlo", error)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

absl::StatusOr<Program> ImportFolder(const std::string& folder, const std::string& name,
                                     const std::string& chip) {
  ImportOptions options{.all_hbm_path = folder + "/all_hbm.hlo.zst",
                        .default_path = folder + "/default.hlo.zst",
                        .sample_paths = {},
                        .program_name = name};
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename().string();
    if (absl::StartsWith(file, "sample_")) options.sample_paths.push_back(entry.path().string());
  }
  std::sort(options.sample_paths.begin(), options.sample_paths.end());
  const absl::StatusOr<v1::Hardware> hardware = LoadHardware(chip);
  if (!hardware.ok()) return hardware.status();
  absl::StatusOr<v1::Program> program = ImportProgram(options, *hardware);
  if (!program.ok()) return program.status();
  return Program::FromProto(*std::move(program));
}

}  // namespace

absl::StatusOr<Program> ImportBundled(const std::string& source_dir, const std::string& name) {
  return ImportFolder(absl::StrCat(source_dir, "/tests/data/hlo/", name), name, "tpu_v4i");
}

absl::StatusOr<Program> ImportSharded(const std::string& source_dir, const std::string& name,
                                      const std::string& chip) {
  return ImportFolder(absl::StrCat(source_dir, "/tests/data/hlo_sharded/", name), name, chip);
}

}  // namespace mallocmuzero::testing
