#include "learner/run_checkpoint.h"

#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/check_field.h"
#include "base/exists.h"
#include "base/status_macros.h"

namespace mallocmuzero {
namespace {

namespace fs = std::filesystem;

// Gives the file `from` a second name in one step, replacing a file of that name.
absl::Status NameAlso(const std::string& from, const std::string& to) {
  const std::string temporary = to + ".new";
  std::error_code error;
  fs::remove(temporary, error);
  fs::create_hard_link(from, temporary, error);
  // Some file systems have no hard links.
  if (error) fs::copy_file(from, temporary, error);
  if (!error) fs::rename(temporary, to, error);
  // Remove it after a success too: renaming one link of a file over another link changes nothing.
  std::error_code ignored;
  fs::remove(temporary, ignored);
  if (!error) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(to, ": cannot replace: ", error.message()));
}

}  // namespace

absl::StatusOr<std::optional<Checkpoint>> LoadLatest(const RunDirectory& directory) {
  const std::string path = directory.checkpoint_path();
  absl::StatusOr<Checkpoint> checkpoint = LoadCheckpoint(path);
  if (checkpoint.ok()) return std::optional<Checkpoint>(*std::move(checkpoint));
  absl::Status status = checkpoint.status();
  if (absl::IsNotFound(status)) {
    if (!directory.HasBegun()) return std::optional<Checkpoint>();
    status = absl::FailedPreconditionError(absl::StrCat(
        path, ": missing, though the run has begun: restore it or take another folder"));
  }
  if (!Exists(directory.previous_checkpoint_path())) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(),
                                                  "; to go on from the checkpoint before it, copy ",
                                                  directory.previous_checkpoint_path(), " there"));
}

absl::StatusOr<v1::TrainState> ReadState(const Checkpoint& checkpoint) {
  v1::TrainState state;
  if (checkpoint.training_state.empty() || !state.ParseFromString(checkpoint.training_state)) {
    return absl::InvalidArgumentError("the checkpoint of a training run expected");
  }
  // A run would make updates without end for a number below 0 or an infinite one, and none for NaN.
  MMZ_RETURN_IF_ERROR(CheckField(std::isfinite(state.draws_due()) && state.draws_due() > -1,
                                 "draws_due", "a finite number, 0 or more,"));
  MMZ_RETURN_IF_ERROR(CheckField(std::isfinite(state.seconds()), "seconds", "a finite number"));
  return state;
}

absl::Status SaveLatest(const RunDirectory& directory, const Checkpoint& checkpoint) {
  const std::string latest = directory.checkpoint_path();
  // The new file is complete before a name changes, so that a full disk leaves both checkpoints.
  const std::string next = directory.path() + "/checkpoints/next";
  MMZ_RETURN_IF_ERROR(SaveCheckpoint(next, checkpoint));
  std::error_code error;
  absl::Status status;
  if (Exists(latest)) status = NameAlso(latest, directory.previous_checkpoint_path());
  if (status.ok()) {
    fs::rename(next, latest, error);
    if (!error) return absl::OkStatus();
    status = absl::InternalError(absl::StrCat(latest, ": cannot replace: ", error.message()));
  }
  fs::remove(next, error);
  return status;
}

}  // namespace mallocmuzero
