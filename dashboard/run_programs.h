// The programs of a run and the mappings that the run has found for them.

#ifndef MALLOCMUZERO_DASHBOARD_RUN_PROGRAMS_H_
#define MALLOCMUZERO_DASHBOARD_RUN_PROGRAMS_H_

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/dashboard.pb.h"
#include "mallocmuzero/v1/train_metrics.pb.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// A mapping with its name.
struct NamedMapping {
  std::string title;
  Mapping mapping;
  bool has_addresses = true;
};

// Reads programs and mappings when they are first needed, and keeps them. Reads a file again if it
// has changed, as when another run begins in the same folder. Thread-compatible.
class RunPrograms {
 public:
  // Looks for a program in the run's folder first, because the run's mappings belong to it, then
  // among the files `paths`. Errors are those of LoadProgram.
  static absl::StatusOr<RunPrograms> Create(RunDirectory directory,
                                            absl::Span<const std::string> paths);

  // The program lives as long as this object's copies of it. NotFound if neither the folder nor the
  // files have it.
  absl::StatusOr<std::shared_ptr<const Program>> Find(const std::string& chip,
                                                      const std::string& name);

  // Number of best mappings that the folder has of a program.
  uint32_t CountVersions(const std::string& chip, const std::string& name) const;

  // The mappings that can be drawn; see DashboardProgram.versions. `iterations` tell when a mapping
  // was found. A file that is not a mapping of the program is left out.
  std::vector<v1::DashboardVersion> Versions(const Program& program,
                                             absl::Span<const v1::TrainMetrics> iterations);

  // The mapping that DashboardVersion.id names. NotFound if there is none, or the error of the
  // file.
  absl::StatusOr<NamedMapping> Load(const Program& program, absl::string_view id) const;

 private:
  using Key = std::pair<std::string, std::string>;  // chip and name

  // Something that was read from a file, and the write time that the file had.
  template <typename T>
  struct OfFile {
    std::filesystem::file_time_type written;
    T value;
  };

  explicit RunPrograms(RunDirectory directory) : directory_(std::move(directory)) {}

  // The files of the program's best mappings by id, oldest first.
  std::vector<std::pair<std::string, std::string>> BestFiles(const std::string& chip,
                                                             const std::string& name) const;

  RunDirectory directory_;
  std::map<Key, std::shared_ptr<const Program>> given_;           // of `paths`
  std::map<Key, OfFile<std::shared_ptr<const Program>>> loaded_;  // of the folder
  std::map<std::string, OfFile<double>> cycles_;                  // of mappings, by path
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_DASHBOARD_RUN_PROGRAMS_H_
