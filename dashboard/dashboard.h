// Answers the questions of the dashboard's page about one run.

#ifndef MALLOCMUZERO_DASHBOARD_DASHBOARD_H_
#define MALLOCMUZERO_DASHBOARD_DASHBOARD_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "dashboard/http_server.h"
#include "dashboard/metrics_tail.h"
#include "dashboard/reference_search.h"
#include "dashboard/run_programs.h"
#include "mallocmuzero/v1/dashboard.pb.h"

namespace mallocmuzero {

struct DashboardOptions {
  std::string run;      // folder of the run
  std::string version;  // of this software

  // Program files for memory maps, for runs whose folder does not have the programs.
  std::vector<std::string> programs;

  // Time of local search for each program; 0: none.
  absl::Duration local_search;

  // Asks the roles of the cluster; null if the run has no cluster. Called from several threads at
  // once.
  std::function<v1::DashboardCluster()> cluster;
};

// Thread-safe. Reads the run's folder and writes nothing.
class Dashboard {
 public:
  // NotFound if there is no run in the folder, or an error of a program file.
  static absl::StatusOr<std::unique_ptr<Dashboard>> Open(DashboardOptions options);

  // Answers in JSON:
  //   run                            DashboardRun
  //   gains?chip=&program=           DashboardGains
  //   program?chip=&program=         DashboardProgram
  //   map?chip=&program=&mapping=&axis=cycles|instructions   DashboardMap
  //   cluster                        DashboardCluster
  // NotFound if there is no such question, program or mapping; InvalidArgument for another axis.
  absl::StatusOr<std::string> Answer(const ApiRequest& request);

 private:
  Dashboard(DashboardOptions options, const std::string& metrics_path, RunPrograms programs);

  absl::StatusOr<std::string> Run() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::string> Gains(const ApiRequest& request) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::string> DescribeOne(const ApiRequest& request) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::string> Map(const ApiRequest& request) ABSL_LOCKS_EXCLUDED(mutex_);

  // Sets what the folder knows of a program and starts its local search.
  void Complete(v1::DashboardProgramRow& row) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  v1::DashboardGains MeanGains(const v1::DashboardRun& run) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const DashboardOptions options_;
  ReferenceSearch references_;
  absl::Mutex mutex_;
  MetricsTail metrics_ ABSL_GUARDED_BY(mutex_);
  RunPrograms programs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_DASHBOARD_DASHBOARD_H_
