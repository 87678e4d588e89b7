#include "cluster/shard_move.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "base/steady_clock.h"
#include "cluster/replay_admin.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/client/shard_roster.h"
#include "rpc/backoff.h"
#include "rpc/security.h"

namespace mallocmuzero {
namespace {

// An heir, and the ids of the games that were sent to it.
struct Heir {
  std::unique_ptr<ReplayAdmin> admin;
  absl::flat_hash_set<std::string> ids;
  uint64_t refused = 0;    // of these games
  bool has_parts = false;  // it got anything
};

class Mover {
 public:
  Mover(const v1::ShardRoster& roster, std::string name,
        const std::shared_ptr<const Security>& security, absl::Duration patience)
      : roster_(roster), name_(std::move(name)), patience_(patience) {
    for (const ShardAddress& shard : ActiveShards(roster)) {
      heirs_[shard.name].admin = std::make_unique<ReplayAdmin>(shard.address, security);
    }
  }

  // Sends a part of the shard's content to the heirs.
  absl::Status Take(const v1::MovedItems& part) {
    std::map<std::string, v1::TakeOverRequest> requests;  // by heir
    v1::ReplayItem item;
    for (const v1::MovedItems::Moved& moved : part.items()) {
      if (!item.ParseFromString(moved.item())) return absl::DataLossError("an item is damaged");
      const std::string heir = ShardOfGame(roster_, name_, item.id());
      *requests[heir].mutable_moved()->add_items() = moved;
      heirs_[heir].ids.insert(item.id());
      ++moved_.games;
    }
    for (const std::string& id : part.evicted()) {
      requests[ShardOfGame(roster_, name_, id)].mutable_moved()->add_evicted(id);
      ++moved_.evicted_ids;
    }
    moved_.damaged = part.damaged();
    for (const auto& [name, request] : requests) MMZ_RETURN_IF_ERROR(Send(name, request));
    return absl::OkStatus();
  }

  // Waits until the disks of the heirs have what they got, and checks that nothing is missing.
  absl::Status Finish() {
    v1::TakeOverRequest request;
    request.set_sync(true);
    for (auto& [name, heir] : heirs_) {
      if (!heir.has_parts) continue;
      MMZ_RETURN_IF_ERROR(Send(name, request));
      MMZ_RETURN_IF_ERROR(
          heir.admin->ListIds([&heir = heir](absl::string_view id, bool) { heir.ids.erase(id); }));
      if (heir.ids.size() <= heir.refused) continue;
      return absl::UnavailableError(
          absl::StrCat("shard ", name, " lacks ", heir.ids.size() - heir.refused,
                       " of the games that it took over, as after a power "
                       "cut: run the command again"));
    }
    return absl::OkStatus();
  }

  const MovedGames& moved() const { return moved_; }

 private:
  absl::Status Send(const std::string& name, const v1::TakeOverRequest& request) {
    const absl::Time deadline = SteadyNow() + patience_;
    Heir& heir = heirs_[name];
    heir.has_parts = true;
    Backoff backoff(/*seed=*/0);
    while (true) {
      const absl::StatusOr<v1::TakeOverResponse> answer = heir.admin->TakeOver(request);
      if (answer.ok()) {
        if (answer->refused() > 0 && moved_.refused == 0) moved_.why_refused = answer->why();
        moved_.refused += answer->refused();
        heir.refused += answer->refused();
        return absl::OkStatus();
      }
      const bool may_come_back =
          absl::IsUnavailable(answer.status()) || absl::IsDeadlineExceeded(answer.status());
      if (!may_come_back || SteadyNow() > deadline) return answer.status();
      absl::SleepFor(backoff.Next());
    }
  }

  const v1::ShardRoster& roster_;
  const std::string name_;
  const absl::Duration patience_;
  std::map<std::string, Heir> heirs_;  // by name
  MovedGames moved_;
};

}  // namespace

absl::StatusOr<MovedGames> MoveGames(const v1::ShardRoster& roster, const std::string& name,
                                     const std::shared_ptr<const Security>& security,
                                     const std::function<void(const MovedGames&)>& progress,
                                     absl::Duration patience) {
  // Each game needs an heir.
  if (const absl::Status status = CheckRoster(roster); !status.ok()) {
    return absl::InternalError(absl::StrCat("the learner's list of shards: ", status.message()));
  }
  const v1::ShardRoster::Shard* leaving = LatestShard(roster, name);
  if (leaving == nullptr || leaving->state() != v1::ShardRoster::LEAVING) {
    return absl::FailedPreconditionError(absl::StrCat("shard ", name, " is not leaving"));
  }
  const ReplayAdmin source(leaving->address(), security);
  MMZ_RETURN_IF_ERROR(source.Retire());
  Mover mover(roster, leaving->name(), security, patience);
  MMZ_RETURN_IF_ERROR(source.Export([&](const v1::MovedItems& part) {
    const absl::Status taken = mover.Take(part);
    progress(mover.moved());
    return taken;
  }));
  MMZ_RETURN_IF_ERROR(mover.Finish());
  return mover.moved();
}

}  // namespace mallocmuzero
