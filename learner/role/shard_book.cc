#include "learner/role/shard_book.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/message_file.h"
#include "base/status_macros.h"
#include "replay/client/shard_roster.h"

namespace mallocmuzero {
namespace {

absl::StatusOr<v1::ShardRoster> Changed(const v1::ShardRoster& roster,
                                        const v1::ChangeShardsRequest& request) {
  switch (request.change_case()) {
    case v1::ChangeShardsRequest::kAdd:
      return AddShard(roster, request.add().name(), request.add().address());
    case v1::ChangeShardsRequest::kBeginRemoval:
      return BeginRemoval(roster, request.begin_removal());
    case v1::ChangeShardsRequest::kEndRemoval:
      return EndRemoval(roster, request.end_removal());
    case v1::ChangeShardsRequest::CHANGE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("a change of the list of shards expected");
}

}  // namespace

absl::StatusOr<std::unique_ptr<ShardBook>> ShardBook::Open(const std::string& run_dir,
                                                           const v1::ClusterConfig& config) {
  std::string path = absl::StrCat(run_dir, "/shards.textproto");
  absl::StatusOr<v1::ShardRoster> stored = ReadMessage<v1::ShardRoster>(path);
  Reconciled now;
  if (absl::IsNotFound(stored.status())) {
    now.roster = RosterOf(config);
  } else {
    absl::Status status = stored.status();
    if (status.ok()) status = CheckRoster(*stored);
    if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", status.message()));
    absl::StatusOr<Reconciled> reconciled = Reconcile(*stored, config);
    if (!reconciled.ok()) return reconciled.status();
    now = *std::move(reconciled);
  }
  const bool is_new = !stored.ok() || stored->epoch() != now.roster.epoch();
  if (is_new) MMZ_RETURN_IF_ERROR(WriteMessage(path, now.roster));
  return absl::WrapUnique(
      new ShardBook(std::move(path), std::move(now.roster), std::move(now.notes)));
}

v1::ShardRoster ShardBook::roster() const {
  const absl::MutexLock lock(&mutex_);
  return roster_;
}

absl::StatusOr<v1::ShardRoster> ShardBook::Change(const v1::ChangeShardsRequest& request) {
  const absl::MutexLock change(&changing_);
  const v1::ShardRoster before = roster();
  absl::StatusOr<v1::ShardRoster> changed = Changed(before, request);
  if (!changed.ok() || changed->epoch() == before.epoch()) return changed;
  // Readers do not wait for the disk.
  MMZ_RETURN_IF_ERROR(WriteMessage(path_, *changed));
  const absl::MutexLock lock(&mutex_);
  roster_ = *changed;
  return changed;
}

}  // namespace mallocmuzero
