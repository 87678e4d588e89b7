#include "learner/checkpoint_store.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/exists.h"
#include "base/file_io.h"
#include "base/list_folder.h"
#include "base/message_file.h"
#include "base/message_json.h"
#include "base/sha256.h"
#include "base/status_macros.h"

namespace mallocmuzero {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kPrefix = "step-";
constexpr absl::string_view kUnfinished = ".new";  // ends the name of a folder being written
constexpr absl::string_view kRemoved = ".gone";    // ends the name of a folder being removed
constexpr char kManifestFile[] = "/manifest.json";
constexpr char kPinnedFile[] = "/pinned";

std::string FolderOf(const RunDirectory& directory, uint64_t step) {
  return absl::StrCat(directory.path(), "/checkpoints/", kPrefix, step);
}

// The step in the name of a folder; none if the name is not of the form step-N.
std::optional<uint64_t> StepOf(const std::string& name) {
  absl::string_view digits = name;
  uint64_t step = 0;
  if (!absl::ConsumePrefix(&digits, kPrefix) || !absl::SimpleAtoi(digits, &step)) return {};
  if (absl::StrCat(kPrefix, step) != name) return {};
  return step;
}

absl::Status CannotWrite(const std::string& path, const std::error_code& error) {
  return absl::InternalError(absl::StrCat(path, ": cannot write: ", error.message()));
}

// The name changes first, so that no reader sees a folder that lacks a file.
void Remove(const std::string& folder) {
  const std::string removed = absl::StrCat(folder, kRemoved);
  std::error_code ignored;
  fs::remove_all(removed, ignored);
  fs::rename(folder, removed, ignored);
  fs::remove_all(removed, ignored);
}

absl::Status WriteFolder(const std::string& folder, const v1::CheckpointManifest& manifest,
                         absl::string_view bytes) {
  absl::StatusOr<std::string> json = MessageToJson(manifest);
  if (!json.ok()) return json.status();
  json->push_back('\n');
  std::error_code error;
  fs::remove_all(folder, error);
  fs::create_directories(folder, error);
  if (error) return CannotWrite(folder, error);
  MMZ_RETURN_IF_ERROR(WriteFileAtomically(folder + "/checkpoint", bytes));
  return WriteFileAtomically(folder + kManifestFile, *json);
}

// Makes the link `best`, which has either its old or its new target at any time.
absl::Status LinkBest(const RunDirectory& directory, absl::Span<const KeptCheckpoint> kept) {
  const std::string link = directory.path() + "/checkpoints/best";
  const KeptCheckpoint* best = FindBest(kept);
  std::error_code error;
  if (best == nullptr) {
    fs::remove(link, error);
    return absl::OkStatus();
  }
  const std::string temporary = absl::StrCat(link, kUnfinished);
  fs::remove(temporary, error);
  fs::create_symlink(fs::path(best->folder).filename(), temporary, error);
  if (!error) fs::rename(temporary, link, error);
  return error ? CannotWrite(link, error) : absl::OkStatus();
}

// The index of the checkpoint to evict first; none if all must stay.
std::optional<size_t> ChooseEvicted(absl::Span<const KeptCheckpoint> kept) {
  const KeptCheckpoint* best = FindBest(kept);
  std::optional<size_t> chosen;
  uint64_t least = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i].pinned || &kept[i] == best) continue;
    const uint64_t before = i == 0 ? 0 : kept[i - 1].manifest.step();
    const bool is_newest = i + 1 == kept.size();
    const uint64_t gap =
        is_newest ? std::numeric_limits<uint64_t>::max() : kept[i + 1].manifest.step() - before;
    if (chosen.has_value() && gap >= least) continue;
    chosen = i;
    least = gap;
  }
  return chosen;
}

void Evict(const CheckpointBounds& bounds, std::vector<KeptCheckpoint>& kept) {
  uint64_t bytes = 0;
  for (const KeptCheckpoint& checkpoint : kept) bytes += checkpoint.manifest.bytes();
  while (kept.size() > bounds.number || bytes > bounds.bytes) {
    const std::optional<size_t> evicted = ChooseEvicted(kept);
    if (!evicted.has_value()) return;
    bytes -= kept[*evicted].manifest.bytes();
    Remove(kept[*evicted].folder);
    kept.erase(kept.begin() + *evicted);
  }
}

absl::StatusOr<std::vector<KeptCheckpoint>> ReadCheckpoints(const RunDirectory& directory) {
  const absl::StatusOr<std::vector<fs::directory_entry>> entries =
      ListFolder(directory.path() + "/checkpoints");
  if (!entries.ok()) return entries.status();
  std::vector<KeptCheckpoint> kept;
  for (const fs::directory_entry& entry : *entries) {
    const std::optional<uint64_t> step = StepOf(entry.path().filename().string());
    if (!step.has_value()) continue;
    KeptCheckpoint checkpoint;
    checkpoint.folder = entry.path().string();
    const std::string name = checkpoint.folder + kManifestFile;
    const absl::StatusOr<std::string> json = ReadFile(name);
    if (!json.ok() || !MessageFromJson(*json, checkpoint.manifest).ok() ||
        !CheckHeader(checkpoint.manifest, name).ok() || checkpoint.manifest.step() != *step) {
      continue;
    }
    checkpoint.pinned = Exists(checkpoint.folder + kPinnedFile);
    kept.push_back(std::move(checkpoint));
  }
  std::sort(kept.begin(), kept.end(), [](const KeptCheckpoint& a, const KeptCheckpoint& b) {
    return a.manifest.step() < b.manifest.step();
  });
  return kept;
}

}  // namespace

std::vector<KeptCheckpoint> ListCheckpoints(const RunDirectory& directory) {
  return ReadCheckpoints(directory).value_or(std::vector<KeptCheckpoint>());
}

const KeptCheckpoint* FindBest(absl::Span<const KeptCheckpoint> kept) {
  const KeptCheckpoint* best = nullptr;
  for (const KeptCheckpoint& checkpoint : kept) {
    if (best == nullptr || checkpoint.manifest.score() >= best->manifest.score()) {
      best = &checkpoint;
    }
  }
  return best;
}

absl::Status KeepCheckpoint(const RunDirectory& directory, v1::CheckpointManifest manifest,
                            absl::string_view bytes, const CheckpointBounds& bounds) {
  const std::string folder = FolderOf(directory, manifest.step());
  if (Exists(folder + kPinnedFile)) return absl::OkStatus();
  FillHeader(manifest);
  manifest.set_sha256(absl::BytesToHexString(Sha256(bytes)));
  manifest.set_bytes(bytes.size());
  manifest.set_kept_at(absl::ToUnixSeconds(absl::Now()));
  const std::string unfinished = absl::StrCat(folder, kUnfinished);
  std::error_code error;
  if (const absl::Status status = WriteFolder(unfinished, manifest, bytes); !status.ok()) {
    fs::remove_all(unfinished, error);
    return status;
  }
  if (Exists(folder)) Remove(folder);
  fs::rename(unfinished, folder, error);
  if (error) return CannotWrite(folder, error);
  absl::StatusOr<std::vector<KeptCheckpoint>> kept = ReadCheckpoints(directory);
  if (!kept.ok()) return kept.status();
  // The link changes first, so that it never leads to a folder that is gone. A link that cannot be
  // made, as on a file system without links, must not fill the disk.
  absl::Status linked = LinkBest(directory, *kept);
  Evict(bounds, *kept);
  return linked;
}

absl::Status PinCheckpoint(const RunDirectory& directory, uint64_t step, bool pinned) {
  const std::string folder = FolderOf(directory, step);
  if (!Exists(folder + kManifestFile)) {
    return absl::NotFoundError(absl::StrCat(folder, ": the run keeps no checkpoint of this step"));
  }
  if (pinned) return WriteFileAtomically(folder + kPinnedFile, "");
  std::error_code error;
  fs::remove(folder + kPinnedFile, error);
  return error ? CannotWrite(folder + kPinnedFile, error) : absl::OkStatus();
}

void SweepCheckpoints(const RunDirectory& directory) {
  const absl::StatusOr<std::vector<fs::directory_entry>> entries =
      ListFolder(directory.path() + "/checkpoints");
  if (!entries.ok()) return;  // the next start tries again
  for (const fs::directory_entry& entry : *entries) {
    const std::string name = entry.path().filename().string();
    const bool is_half = absl::EndsWith(name, kUnfinished) || absl::EndsWith(name, kRemoved);
    std::error_code ignored;
    if (absl::StartsWith(name, kPrefix) && is_half) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace mallocmuzero
