#include "learner/run_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/exists.h"
#include "base/file_io.h"
#include "base/list_folder.h"
#include "base/make_folder.h"
#include "base/message_file.h"
#include "base/message_json.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "learner/best_history.h"
#include "mallocmuzero/v1/trajectory.pb.h"

namespace mallocmuzero {
namespace {

constexpr char kConfigFile[] = "/config.textproto";
constexpr char kGamesFolder[] = "/replay";
constexpr char kGamesExtension[] = ".games";

// File systems allow names of 255 bytes; this leaves room for the extension.
constexpr size_t kMostNameBytes = 200;

bool HoldsFiles(const std::string& folder) {
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(
      folder, std::filesystem::directory_options::skip_permission_denied, error);
  // A loop over a range would throw at a folder that cannot be opened.
  for (; !error && entry != std::filesystem::end(entry); entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_directory(ignored)) return true;
  }
  return false;
}

absl::Status CannotWrite(const std::string& path) {
  return ErrnoStatus(path, "cannot write", errno);
}

// Returns a file name that cannot lead out of its folder. Different names give different results.
std::string FileNameOf(const std::string& name) {
  std::string file;
  for (const uint8_t c : name) {
    const bool is_safe =
        c != '/' && c != '%' && !absl::ascii_iscntrl(c) && (c != '.' || !file.empty());
    absl::StrAppend(&file, is_safe ? std::string(1, c) : absl::StrFormat("%%%02X", c));
  }
  if (file.empty()) return "%";
  if (file.size() <= kMostNameBytes) return file;
  return absl::StrCat(file.substr(0, kMostNameBytes - 17), "%",
                      absl::BytesToHexString(Sha256(name)).substr(0, 16));
}

// Returns the lines of metrics that stay when the file must get shorter.
std::string Thinned(absl::string_view content) {
  const std::vector<absl::string_view> lines = absl::StrSplit(content, '\n');
  const size_t old = lines.size() - lines.size() / 4;
  std::string kept;
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    if (i >= old || i % 2 == 0) absl::StrAppend(&kept, lines[i], "\n");
  }
  return kept;
}

// All of the line or nothing: half a one would make the next one unreadable too.
absl::Status AppendLine(const std::string& path, absl::string_view line) {
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return CannotWrite(path);
  absl::Status status;
  struct stat before {};
  if (fstat(file, &before) != 0) status = CannotWrite(path);
  while (status.ok() && !line.empty()) {
    const ssize_t written = write(file, line.data(), line.size());
    if (written >= 0) {
      line.remove_prefix(written);
    } else if (errno != EINTR) {
      status = CannotWrite(path);
      if (ftruncate(file, before.st_size) != 0) {
        status = absl::InternalError(absl::StrCat(status.message(), "; half a line is left"));
      }
    }
  }
  if (close(file) != 0 && status.ok()) status = CannotWrite(path);
  return status;
}

}  // namespace

absl::StatusOr<RunDirectory> RunDirectory::Create(const std::string& path,
                                                  const v1::TrainConfig& config) {
  absl::StatusOr<RunDirectory> directory = Prepare(path);
  if (directory.ok()) MMZ_RETURN_IF_ERROR(directory->WriteConfig(config));
  return directory;
}

absl::StatusOr<RunDirectory> RunDirectory::Prepare(const std::string& path) {
  if (Exists(path + kConfigFile)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": there is a run in this folder already; --resume goes on with it"));
  }
  for (const char* folder : {"", "/checkpoints", kGamesFolder, "/best"}) {
    MMZ_RETURN_IF_ERROR(MakeFolder(absl::StrCat(path, folder)));
  }
  return RunDirectory(path);
}

absl::Status RunDirectory::WriteConfig(const v1::TrainConfig& config) const {
  return WriteMessage(path_ + kConfigFile, config);
}

absl::StatusOr<RunDirectory> RunDirectory::Open(const std::string& path) {
  if (!Exists(path + kConfigFile)) {
    return absl::NotFoundError(
        absl::StrCat(path, ": no training run here (config.textproto expected)"));
  }
  return RunDirectory(path);
}

bool RunDirectory::HasBegun() const {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(metrics_path(), error);
  return (!error && bytes > 0) || Exists(previous_checkpoint_path()) ||
         HoldsFiles(path_ + kGamesFolder) || HoldsFiles(path_ + "/best");
}

bool RunDirectory::GoesOn() const { return Exists(checkpoint_path()) || HasBegun(); }

absl::StatusOr<v1::TrainConfig> RunDirectory::ReadConfig() const {
  return ReadMessage<v1::TrainConfig>(path_ + kConfigFile);
}

absl::Status RunDirectory::AppendMetrics(const v1::TrainMetrics& metrics, size_t most_bytes) const {
  absl::StatusOr<std::string> line = MessageToJson(metrics);
  if (!line.ok()) return line.status();
  line->push_back('\n');
  std::error_code error;
  const auto size = std::filesystem::file_size(metrics_path(), error);
  if (!error && size > 0 && size + line->size() > most_bytes) {
    const absl::StatusOr<std::string> content = ReadFile(metrics_path());
    if (!content.ok()) return content.status();
    MMZ_RETURN_IF_ERROR(WriteFileAtomically(metrics_path(), Thinned(*content)));
  }
  return AppendLine(metrics_path(), *line);
}

absl::StatusOr<std::vector<v1::TrainMetrics>> RunDirectory::ReadMetrics() const {
  const std::string path = metrics_path();
  std::vector<v1::TrainMetrics> all;
  const absl::StatusOr<std::string> content = ReadFile(path);
  if (absl::IsNotFound(content.status())) return all;
  if (!content.ok()) return content.status();
  const std::vector<absl::string_view> lines = absl::StrSplit(*content, '\n');
  // The text behind the last newline is empty or part of a line.
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    const absl::Status status = MessageFromJson(lines[i], all.emplace_back());
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":", i + 1, ": ", status.message()));
    }
  }
  return all;
}

absl::Status RunDirectory::TruncateMetrics(uint64_t last_iteration) const {
  const std::string path = metrics_path();
  absl::StatusOr<std::string> content = ReadFile(path);
  if (absl::IsNotFound(content.status())) content = "";
  if (!content.ok()) return content.status();
  const std::vector<absl::string_view> lines = absl::StrSplit(*content, '\n');
  std::string kept;
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    v1::TrainMetrics metrics;
    // A damaged line stays: the run can go on, and readers of the metrics get an error.
    if (MessageFromJson(lines[i], metrics).ok() && metrics.iteration() > last_iteration) break;
    absl::StrAppend(&kept, lines[i], "\n");
  }
  return WriteFileAtomically(path, kept);
}

std::string RunDirectory::GamesPath(uint64_t iteration) const {
  return absl::StrCat(path_, kGamesFolder, "/", iteration, kGamesExtension);
}

absl::Status RunDirectory::WriteGames(uint64_t iteration, absl::Span<const SharedTrajectory> games,
                                      uint64_t most_bytes) const {
  v1::TrajectorySegment segment;
  for (const SharedTrajectory& game : games) *segment.add_trajectories() = *game;
  FillHeader(segment);
  const std::string path = GamesPath(iteration);
  const uint64_t bytes = segment.ByteSizeLong();
  // Protobuf writes nothing of a larger message.
  if (bytes > most_bytes) {
    return absl::OutOfRangeError(
        absl::StrCat(path, ": the stored games take ", bytes, " bytes, at most ", most_bytes,
                     " can be saved; go on with a lower replay.max_bytes or replay.max_decisions"));
  }
  return WriteFileAtomically(path, SerializeDeterministically(segment), true);
}

absl::StatusOr<std::vector<SharedTrajectory>> RunDirectory::ReadGames(uint64_t iteration) const {
  absl::StatusOr<v1::TrajectorySegment> segment =
      ReadMessage<v1::TrajectorySegment>(GamesPath(iteration));
  if (!segment.ok()) return segment.status();
  std::vector<SharedTrajectory> games;
  for (v1::Trajectory& game : *segment->mutable_trajectories()) {
    games.push_back(std::make_shared<const v1::Trajectory>(std::move(game)));
  }
  return games;
}

void RunDirectory::RemoveOtherGames(uint64_t iteration) const {
  const absl::StatusOr<std::vector<std::filesystem::directory_entry>> entries =
      ListFolder(path_ + kGamesFolder);
  if (!entries.ok()) return;  // the next call tries again
  std::vector<std::pair<uint64_t, std::filesystem::path>> kept;
  for (const std::filesystem::directory_entry& entry : *entries) {
    uint64_t of = 0;
    if (entry.path().extension() == kGamesExtension &&
        absl::SimpleAtoi(entry.path().stem().string(), &of) && of <= iteration) {
      kept.emplace_back(of, entry.path());
    } else {
      std::error_code ignored;
      std::filesystem::remove(entry.path(), ignored);
    }
  }
  std::sort(kept.begin(), kept.end());
  for (size_t i = 0; i + 2 < kept.size(); ++i) {
    std::error_code ignored;
    std::filesystem::remove(kept[i].second, ignored);
  }
}

std::string RunDirectory::BestPath(const std::string& chip, const std::string& program) const {
  return absl::StrCat(path_, "/best/", FileNameOf(chip), "/", FileNameOf(program), ".mapping");
}

std::string RunDirectory::HistoryFolder(const std::string& chip, const std::string& program) const {
  return absl::StrCat(path_, "/history/", FileNameOf(chip), "/", FileNameOf(program));
}

std::string RunDirectory::ProgramPath(const std::string& chip, const std::string& program) const {
  return absl::StrCat(path_, "/programs/", FileNameOf(chip), "/", FileNameOf(program), ".program");
}

absl::Status RunDirectory::WriteBest(const v1::Program& program, const v1::Mapping& mapping) const {
  const std::string& chip = program.hardware().name();
  const std::string path = ProgramPath(chip, program.name());
  if (!Exists(path)) {
    MMZ_RETURN_IF_ERROR(MakeFolder(absl::StrCat(path_, "/programs/", FileNameOf(chip))));
    MMZ_RETURN_IF_ERROR(WriteMessage(path, program));
  }
  MMZ_RETURN_IF_ERROR(MakeFolder(absl::StrCat(path_, "/best/", FileNameOf(chip))));
  MMZ_RETURN_IF_ERROR(WriteMessage(BestPath(chip, program.name()), mapping));
  return AddBestVersion(HistoryFolder(chip, program.name()), mapping);
}

}  // namespace mallocmuzero
