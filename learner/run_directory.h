// The folder of a training run and the files in it.

#ifndef MALLOCMUZERO_LEARNER_RUN_DIRECTORY_H_
#define MALLOCMUZERO_LEARNER_RUN_DIRECTORY_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/mapping.pb.h"
#include "mallocmuzero/v1/program.pb.h"
#include "mallocmuzero/v1/train.pb.h"
#include "mallocmuzero/v1/train_metrics.pb.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {

//   RUN/config.textproto         TrainConfig
//   RUN/metrics.jsonl            TrainMetrics, one line for each iteration
//   RUN/checkpoints/latest       networks, optimiser, TrainState
//   RUN/checkpoints/previous     the one before it
//   RUN/replay/N.games           TrajectorySegment that the checkpoint of iteration N belongs to
//   RUN/best/CHIP/PROGRAM.mapping    the best mapping found for each program
//   RUN/history/CHIP/PROGRAM/000001.mapping   the best mappings in the order in which they were
//                                found (best_history.h)
//   RUN/programs/CHIP/PROGRAM.program   the program that these mappings belong to
//
// Every file but metrics.jsonl is replaced in one step. Errors name the file.
class RunDirectory {
 public:
  // Makes the folder. FailedPrecondition if there is a config of another run.
  static absl::StatusOr<RunDirectory> Create(const std::string& path,
                                             const v1::TrainConfig& config);

  // The same without a config. Until WriteConfig the folder has no run, so another Prepare or
  // Create may take it.
  static absl::StatusOr<RunDirectory> Prepare(const std::string& path);
  absl::Status WriteConfig(const v1::TrainConfig& config) const;

  // NotFound if there is no run.
  static absl::StatusOr<RunDirectory> Open(const std::string& path);

  const std::string& path() const { return path_; }
  std::string checkpoint_path() const { return path_ + "/checkpoints/latest"; }
  std::string previous_checkpoint_path() const { return path_ + "/checkpoints/previous"; }

  std::string metrics_path() const { return path_ + "/metrics.jsonl"; }

  // Whether the folder has files that only a run with a checkpoint writes.
  bool HasBegun() const;

  // Whether a start goes on with the run: it has a checkpoint, or has begun and lost it.
  bool GoesOn() const;

  absl::StatusOr<v1::TrainConfig> ReadConfig() const;

  // Appends a line. On an error nothing is appended. If the file would be longer than `most_bytes`,
  // every second line outside its latest quarter is removed, so that the old part of the curve gets
  // coarser but stays complete.
  absl::Status AppendMetrics(const v1::TrainMetrics& metrics,
                             size_t most_bytes = kMostMetricsBytes) const;
  static constexpr size_t kMostMetricsBytes = size_t{64} << 20;

  // All lines. A last line that was cut short, for example by a crash, is left out. InvalidArgument
  // names any other damaged line.
  absl::StatusOr<std::vector<v1::TrainMetrics>> ReadMetrics() const;

  // Removes the lines after an iteration, because the run goes on from the checkpoint of this
  // iteration. Damaged lines are no error.
  absl::Status TruncateMetrics(uint64_t last_iteration) const;

  // The games that belong to the checkpoint of an iteration. WriteGames returns OutOfRange, and
  // writes nothing, if they take more than `most_bytes` before they are compressed.
  absl::Status WriteGames(uint64_t iteration, absl::Span<const SharedTrajectory> games,
                          uint64_t most_bytes = kMostGamesBytes) const;
  static constexpr uint64_t kMostGamesBytes = std::numeric_limits<int>::max();  // as protobuf can
  absl::StatusOr<std::vector<SharedTrajectory>> ReadGames(uint64_t iteration) const;

  // Removes all games but those of the two latest iterations up to this one. Those two belong to
  // the latest and the previous checkpoint.
  void RemoveOtherGames(uint64_t iteration) const;

  // Names that are not valid file names are changed: '/', '%', control characters and a leading dot
  // become % and two hexadecimal digits, and a long name is cut and ends in a hash.
  std::string BestPath(const std::string& chip, const std::string& program) const;
  std::string HistoryFolder(const std::string& chip, const std::string& program) const;
  std::string ProgramPath(const std::string& chip, const std::string& program) const;

  // Writes the best mapping and adds it to the program's history. Writes the program, too, if the
  // folder does not have it.
  absl::Status WriteBest(const v1::Program& program, const v1::Mapping& mapping) const;

 private:
  std::string GamesPath(uint64_t iteration) const;

  explicit RunDirectory(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_RUN_DIRECTORY_H_
