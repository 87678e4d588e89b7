#include "serve/network_store.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_at.h"
#include "model/checkpoint.h"

namespace mallocmuzero {

absl::StatusOr<std::string> FindCheckpoint(const std::string& file_or_run) {
  const std::filesystem::path given(file_or_run);
  const std::filesystem::path latest = given / "checkpoints" / "latest";
  std::error_code ignored;
  for (const std::filesystem::path& path :
       {given, latest, given / "checkpoint", latest / "checkpoint"}) {
    if (std::filesystem::is_regular_file(path, ignored)) return path.string();
  }
  return absl::NotFoundError(absl::StrCat(
      file_or_run, ": a checkpoint, or the folder of a training run with one, expected"));
}

absl::StatusOr<std::unique_ptr<NetworkStore>> NetworkStore::Open(
    const NetworkStoreOptions& options) {
  const absl::StatusOr<std::string> path = FindCheckpoint(options.checkpoint);
  if (!path.ok()) return path.status();
  auto store = absl::WrapUnique(new NetworkStore(options));
  store->seen_ = VersionOf(*path);
  absl::StatusOr<std::shared_ptr<const LoadedNetwork>> loaded = store->Load(*path);
  if (!loaded.ok()) return loaded.status();
  const absl::MutexLock lock(&store->mutex_);
  store->current_ = *std::move(loaded);
  return store;
}

std::shared_ptr<const LoadedNetwork> NetworkStore::current() const {
  const absl::MutexLock lock(&mutex_);
  return current_;
}

uint64_t NetworkStore::reloads() const {
  const absl::MutexLock lock(&mutex_);
  return reloads_;
}

absl::StatusOr<bool> NetworkStore::Reload() {
  const absl::StatusOr<std::string> path = FindCheckpoint(options_.checkpoint);
  if (!path.ok()) return false;  // it is being replaced, or gone: the loaded network stays
  // Before the file is read: a file that replaces it meanwhile is another version at the next look.
  const FileVersion version = VersionOf(*path);
  if (version == seen_) return false;
  seen_ = version;
  absl::StatusOr<std::shared_ptr<const LoadedNetwork>> loaded = Load(*path);
  if (!loaded.ok()) return loaded.status();
  const absl::MutexLock lock(&mutex_);
  current_ = *std::move(loaded);
  ++reloads_;
  return true;
}

NetworkStore::FileVersion NetworkStore::VersionOf(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return {};
  constexpr int64_t kNanoseconds = 1'000'000'000;
  return {.device = info.st_dev,
          .inode = info.st_ino,
          .bytes = info.st_size,
          .modified_ns = info.st_mtim.tv_sec * kNanoseconds + info.st_mtim.tv_nsec};
}

absl::StatusOr<std::shared_ptr<const LoadedNetwork>> NetworkStore::Load(
    const std::string& path) const {
  const absl::StatusOr<Checkpoint> checkpoint = LoadCheckpoint(path);
  if (!checkpoint.ok()) return checkpoint.status();
  const absl::StatusOr<std::unique_ptr<Network>> network = MakeNetwork(*checkpoint);
  if (!network.ok()) return StatusAt(path, network.status());
  const auto snapshot = (*network)->Snapshot(options_.evaluation);
  if (!snapshot.ok()) return snapshot.status();
  absl::StatusOr<std::shared_ptr<SharedNetwork>> shared = SharedNetwork::Create(
      [&](uint32_t slots) { return NetworkSnapshot::MakeLatentModel(*snapshot, slots); },
      options_.sharing);
  if (!shared.ok()) return shared.status();
  auto loaded = std::make_shared<LoadedNetwork>();
  loaded->step = checkpoint->step;
  loaded->network = {.config = (*network)->config(),
                     .make_model = [shared = *std::move(shared)](uint32_t slots) {
                       return shared->MakeModel(slots);
                     }};
  return loaded;
}

}  // namespace mallocmuzero
