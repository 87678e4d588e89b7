#include "dashboard/dashboard.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/message_json.h"
#include "base/status_macros.h"
#include "dashboard/memory_map.h"
#include "dashboard/run_facts.h"
#include "learner/run_directory.h"

namespace mallocmuzero {
namespace {

std::string FolderName(const std::string& path) {
  const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  return normal.has_filename() ? normal.filename().string()
                               : normal.parent_path().filename().string();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dashboard>> Dashboard::Open(DashboardOptions options) {
  absl::StatusOr<RunDirectory> directory = RunDirectory::Open(options.run);
  if (!directory.ok()) return directory.status();
  const std::string metrics_path = directory->metrics_path();
  absl::StatusOr<RunPrograms> programs =
      RunPrograms::Create(*std::move(directory), options.programs);
  if (!programs.ok()) return programs.status();
  return std::unique_ptr<Dashboard>(
      new Dashboard(std::move(options), metrics_path, *std::move(programs)));
}

Dashboard::Dashboard(DashboardOptions options, const std::string& metrics_path,
                     RunPrograms programs)
    : options_(std::move(options)),
      references_(options_.local_search),
      metrics_(metrics_path),
      programs_(std::move(programs)) {}

absl::StatusOr<std::string> Dashboard::Answer(const ApiRequest& request) {
  if (request.path == "run") return Run();
  if (request.path == "gains") return Gains(request);
  if (request.path == "program") return DescribeOne(request);
  if (request.path == "map") return Map(request);
  if (request.path == "cluster" && options_.cluster != nullptr) {
    return MessageToJson(options_.cluster());
  }
  return absl::NotFoundError(absl::StrCat("/api/", request.path, ": no such question"));
}

void Dashboard::Complete(v1::DashboardProgramRow& row) {
  row.set_versions(programs_.CountVersions(row.hardware(), row.name()));
  const absl::StatusOr<std::shared_ptr<const Program>> program =
      programs_.Find(row.hardware(), row.name());
  if (!program.ok()) {
    row.set_no_map(absl::IsNotFound(program.status())
                       ? "The run's folder does not have the program yet, and --workloads does not "
                         "name it."
                       : std::string(program.status().message()));
    return;
  }
  references_.Add(*program);
  const std::optional<double> saved = references_.SavedPercent(**program);
  if (saved.has_value()) row.set_local_search(Rounded(*saved));
}

v1::DashboardGains Dashboard::MeanGains(const v1::DashboardRun& run) const {
  v1::DashboardGains mean = MakeMeanGains(metrics_.iterations());
  double local_search = 0;
  for (const v1::DashboardProgramRow& row : run.programs()) {
    if (!row.has_local_search()) return mean;
    local_search += row.local_search() / run.programs_size();
  }
  if (!run.programs().empty()) mean.set_local_search(Rounded(local_search));
  return mean;
}

absl::StatusOr<std::string> Dashboard::Run() {
  v1::DashboardRun run;
  run.set_name(FolderName(options_.run));
  run.set_folder(options_.run);
  run.set_version(options_.version);
  run.set_has_cluster(options_.cluster != nullptr);
  const absl::MutexLock lock(&mutex_);
  MMZ_RETURN_IF_ERROR(metrics_.Refresh());
  const std::vector<v1::TrainMetrics>& iterations = metrics_.iterations();
  if (!iterations.empty()) {
    const v1::TrainMetrics& last = iterations.back();
    run.set_silent_seconds(std::max(0.0, absl::ToDoubleSeconds(absl::Now() - metrics_.changed())));
    run.set_iteration(last.iteration());
    run.set_seconds(last.seconds());
    run.set_games(last.games());
    run.set_decisions(last.decisions());
    run.set_updates(last.updates());
  }
  const std::optional<double> interval = UsualInterval(iterations);
  if (interval.has_value()) run.set_interval_seconds(*interval);
  for (v1::DashboardProgramRow& row : MakeProgramRows(iterations)) {
    Complete(row);
    *run.add_programs() = std::move(row);
  }
  *run.mutable_curves() = MakeCurves(iterations);
  *run.mutable_mean() = MeanGains(run);
  for (v1::DashboardFinding& finding : MakeFindings(iterations, run.mean())) {
    *run.add_findings() = std::move(finding);
  }
  if (metrics_.damaged_lines() > 0) {
    v1::DashboardFinding& finding = *run.add_findings();
    finding.set_level(v1::DashboardFinding::WARNING);
    finding.set_title("Damaged metrics");
    finding.set_text(absl::StrCat(
        "metrics.jsonl has damaged lines, which are left out: ", metrics_.damaged_lines(), "."));
  }
  return MessageToJson(run);
}

absl::StatusOr<std::string> Dashboard::Gains(const ApiRequest& request) {
  const absl::MutexLock lock(&mutex_);
  MMZ_RETURN_IF_ERROR(metrics_.Refresh());
  const std::string chip = request.Get("chip");
  const std::string name = request.Get("program");
  v1::DashboardGains gains = MakeGains(metrics_.iterations(), chip, name);
  if (gains.seconds().empty()) {
    return absl::NotFoundError(absl::StrCat("the run has no program \"", name, "\""));
  }
  const absl::StatusOr<std::shared_ptr<const Program>> program = programs_.Find(chip, name);
  if (program.ok()) {
    const std::optional<double> saved = references_.SavedPercent(**program);
    if (saved.has_value()) gains.set_local_search(Rounded(*saved));
  }
  return MessageToJson(gains);
}

absl::StatusOr<std::string> Dashboard::DescribeOne(const ApiRequest& request) {
  const absl::MutexLock lock(&mutex_);
  MMZ_RETURN_IF_ERROR(metrics_.Refresh());
  const absl::StatusOr<std::shared_ptr<const Program>> program =
      programs_.Find(request.Get("chip"), request.Get("program"));
  if (!program.ok()) return program.status();
  v1::DashboardProgram described = DescribeProgram(**program);
  for (v1::DashboardVersion& version : programs_.Versions(**program, metrics_.iterations())) {
    *described.add_versions() = std::move(version);
  }
  return MessageToJson(described);
}

absl::StatusOr<std::string> Dashboard::Map(const ApiRequest& request) {
  const std::string axis = request.Get("axis");
  if (axis != "cycles" && axis != "instructions") {
    return absl::InvalidArgumentError("axis: cycles or instructions expected");
  }
  const std::string id = request.Get("mapping");
  std::shared_ptr<const Program> program;
  NamedMapping named;
  {
    const absl::MutexLock lock(&mutex_);
    absl::StatusOr<std::shared_ptr<const Program>> found =
        programs_.Find(request.Get("chip"), request.Get("program"));
    if (!found.ok()) return found.status();
    program = *std::move(found);
    absl::StatusOr<NamedMapping> loaded = programs_.Load(*program, id);
    if (!loaded.ok()) return loaded.status();
    named = *std::move(loaded);
  }
  v1::DashboardMap map =
      MakeMap(*program, {.mapping = named.mapping, .has_addresses = named.has_addresses},
              axis == "cycles" ? view::Axis::kCycles : view::Axis::kInstructions);
  map.set_id(id);
  map.set_title(named.title);
  return MessageToJson(map);
}

}  // namespace mallocmuzero
