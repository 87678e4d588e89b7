#include "dashboard/run_programs.h"

#include <cmath>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/exists.h"
#include "base/size32.h"
#include "learner/best_history.h"
#include "simulator/core/simulate.h"
#include "view/gains.h"

namespace mallocmuzero {
namespace {

constexpr char kDefaultId[] = "default";
constexpr char kAllHbmId[] = "all_hbm";
constexpr char kBestId[] = "best";

// The rewards of a game and the price of its mapping differ by less than this share.
constexpr double kRounding = 1e-9;

// When the file was written last; the least time if there is none.
std::filesystem::file_time_type WriteTime(const std::string& path) {
  std::error_code error;
  return std::filesystem::last_write_time(path, error);
}

// The iterations in which the best game of a program became better.
class Improvements {
 public:
  Improvements(absl::Span<const v1::TrainMetrics> iterations,
               const v1::TrainMetrics::Program& program) {
    for (const v1::TrainMetrics& metrics : iterations) {
      const v1::TrainMetrics::Program* found = view::FindProgram(metrics, program);
      if (found == nullptr || !found->has_best_return()) continue;
      const double best = found->best_return();
      const bool is_better = improvements_.empty() || best > improvements_.back().best_return;
      if (is_better && !std::isnan(best)) improvements_.push_back({best, &metrics});
    }
  }

  // The first iteration whose best game is at least as good as this return; null if there is none.
  const v1::TrainMetrics* WhenFound(double value) const {
    for (const Improvement& improvement : improvements_) {
      if (improvement.best_return >= value - kRounding) return improvement.metrics;
    }
    return nullptr;
  }

 private:
  struct Improvement {
    double best_return;
    const v1::TrainMetrics* metrics;
  };

  std::vector<Improvement> improvements_;
};

v1::DashboardVersion Version(std::string id, std::string title, double cycles) {
  v1::DashboardVersion version;
  version.set_id(std::move(id));
  version.set_title(std::move(title));
  version.set_cycles(cycles);
  return version;
}

std::string BestTitle(absl::string_view id, const std::string& solver) {
  const std::string title = id == kBestId ? "best" : absl::StrCat("best #", id);
  return solver.empty() ? title : absl::StrCat(title, ", found by ", solver);
}

}  // namespace

absl::StatusOr<RunPrograms> RunPrograms::Create(RunDirectory directory,
                                                absl::Span<const std::string> paths) {
  RunPrograms programs(std::move(directory));
  for (const std::string& path : paths) {
    absl::StatusOr<Program> program = LoadProgram(path);
    if (!program.ok()) return program.status();
    const Key key = {program->hardware().name(), program->proto().name()};
    programs.given_[key] = std::make_shared<const Program>(*std::move(program));
  }
  return programs;
}

absl::StatusOr<std::shared_ptr<const Program>> RunPrograms::Find(const std::string& chip,
                                                                 const std::string& name) {
  const Key key = {chip, name};
  const std::string path = directory_.ProgramPath(chip, name);
  const auto given = given_.find(key);
  if (given != given_.end() && !Exists(path)) return given->second;
  const std::filesystem::file_time_type written = WriteTime(path);
  const auto loaded = loaded_.find(key);
  if (loaded != loaded_.end() && loaded->second.written == written) return loaded->second.value;
  absl::StatusOr<Program> program = LoadProgram(path);
  if (!program.ok()) return program.status();
  auto shared = std::make_shared<const Program>(*std::move(program));
  loaded_[key] = {written, shared};
  return shared;
}

std::vector<std::pair<std::string, std::string>> RunPrograms::BestFiles(
    const std::string& chip, const std::string& name) const {
  std::vector<std::pair<std::string, std::string>> files;
  for (const BestVersion& version : ListBestVersions(directory_.HistoryFolder(chip, name))) {
    files.emplace_back(absl::StrCat(version.number), version.path);
  }
  const std::string best = directory_.BestPath(chip, name);
  // Runs of earlier versions have no history.
  if (files.empty() && Exists(best)) files.emplace_back(kBestId, best);
  return files;
}

uint32_t RunPrograms::CountVersions(const std::string& chip, const std::string& name) const {
  return Size32(BestFiles(chip, name));
}

std::vector<v1::DashboardVersion> RunPrograms::Versions(
    const Program& program, absl::Span<const v1::TrainMetrics> iterations) {
  std::vector<v1::DashboardVersion> versions;
  const double all_hbm = SimulateAllHbm(program).total_cycles;
  if (program.baseline() != nullptr) {
    versions.push_back(
        Version(kDefaultId, "compiler's default", program.baseline()->compiled_cycles));
  }
  versions.push_back(Version(kAllHbmId, "everything in HBM", all_hbm));
  v1::TrainMetrics::Program wanted;
  wanted.set_name(program.proto().name());
  wanted.set_hardware(program.hardware().name());
  const Improvements improvements(iterations, wanted);
  for (const auto& [id, path] : BestFiles(wanted.hardware(), wanted.name())) {
    const absl::StatusOr<Mapping> mapping = LoadMapping(path, program);
    if (!mapping.ok()) continue;
    const std::filesystem::file_time_type written = WriteTime(path);
    const auto known = cycles_.find(path);
    const double cycles = known != cycles_.end() && known->second.written == written
                              ? known->second.value
                              : Simulate(program, *mapping).total_cycles;
    cycles_[path] = {written, cycles};
    v1::DashboardVersion& version =
        versions.emplace_back(Version(id, BestTitle(id, mapping->solver), cycles));
    const v1::TrainMetrics* found = improvements.WhenFound(1 - cycles / all_hbm);
    if (found == nullptr) continue;
    version.set_seconds(found->seconds());
    version.set_iteration(found->iteration());
  }
  return versions;
}

absl::StatusOr<NamedMapping> RunPrograms::Load(const Program& program, absl::string_view id) const {
  if (id == kAllHbmId) return NamedMapping{"everything in HBM", AllHbmMapping(program)};
  if (id == kDefaultId) {
    if (program.baseline() == nullptr) return absl::NotFoundError("the program has no default");
    return NamedMapping{"compiler's default", program.baseline()->mapping,
                        program.baseline()->packed};
  }
  for (const auto& [known, path] : BestFiles(program.hardware().name(), program.proto().name())) {
    if (known != id) continue;
    absl::StatusOr<Mapping> mapping = LoadMapping(path, program);
    if (!mapping.ok()) return mapping.status();
    std::string title = BestTitle(id, mapping->solver);
    return NamedMapping{std::move(title), *std::move(mapping)};
  }
  return absl::NotFoundError(absl::StrCat("no mapping \"", id, "\" of this program"));
}

}  // namespace mallocmuzero
