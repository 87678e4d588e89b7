// libFuzzer target: any text in shards.textproto gives a list of shards on which a cluster can
// rely, or an error of one line. So does any row of changes to such a list, and the learner's next
// process finds the list as it was left.
//
// The text of the file (none if it is empty), then the ChangeShardsRequests in text format, with
// lines "---" between them.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/file_io.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/text_format.h"
#include "learner/role/shard_book.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/shards.pb.h"
#include "replay/client/shard_roster.h"
#include "tests/fuzz/memory_folder.h"
#include "tests/fuzz/require.h"

namespace mallocmuzero {
namespace {

constexpr absl::string_view kIds[] = {"AAAAAAAAAAAAAAAA", "BBBBBBBBBBBBBBBB", "CCCCCCCCCCCCCCCC"};

v1::ClusterConfig Config() {
  v1::ClusterConfig config;
  for (const char* name : {"a", "b"}) {
    v1::ReplayShard& shard = *config.add_replay();
    shard.set_name(name);
    shard.set_address(absl::StrCat("127.0.0.1:", 7000 + config.replay_size()));
  }
  return config;
}

// The shard of a game, which must be an active one.
std::string ActiveShardOf(const v1::ShardRoster& roster, const std::string& name,
                          absl::string_view id) {
  std::string shard = ShardOfGame(roster, name, id);
  bool is_active = false;
  for (const ShardAddress& active : ActiveShards(roster)) is_active |= active.name == shard;
  Require(is_active, shard);
  return shard;
}

void CheckList(const v1::ShardRoster& roster) {
  RequireOk(CheckRoster(roster));
  for (const v1::ShardRoster::Shard& shard : roster.shards()) {
    for (const absl::string_view id : kIds) ActiveShardOf(roster, shard.name(), id);
  }
}

// All processes follow a change at a different time. A game that one of them has sent to a shard
// before the change belongs where the others look for it after the change.
void CheckThatGamesAreFound(const v1::ShardRoster& before, const v1::ShardRoster& after) {
  for (const v1::ShardRoster::Shard& shard : before.shards()) {
    for (const absl::string_view id : kIds) {
      const std::string sent_to = ActiveShardOf(before, shard.name(), id);
      Require(ActiveShardOf(after, sent_to, id) == ActiveShardOf(after, shard.name(), id));
    }
  }
}

bool AreEqual(const v1::ShardRoster& a, const v1::ShardRoster& b) {
  return RosterFingerprint(a) == RosterFingerprint(b);
}

// The addresses of the configuration are in force after a start.
v1::ShardRoster WithoutAddresses(v1::ShardRoster roster) {
  roster.clear_epoch();
  for (v1::ShardRoster::Shard& shard : *roster.mutable_shards()) shard.clear_address();
  return roster;
}

void Change(ShardBook& book, const v1::ChangeShardsRequest& request) {
  const v1::ShardRoster before = book.roster();
  const absl::StatusOr<v1::ShardRoster> after = book.Change(request);
  if (!after.ok()) {
    CheckError(after.status());
    Require(AreEqual(book.roster(), before));
    return;
  }
  Require(AreEqual(book.roster(), *after));
  Require(AreEqual(*after, before) || after->epoch() == before.epoch() + 1);
  CheckList(*after);
  CheckThatGamesAreFound(before, *after);
  Require(AreEqual(Must(book.Change(request)), *after), "a change that was made before");
}

void Run(const std::vector<std::string>& parts) {
  static const MemoryFolder folder("membership_change_fuzz");
  static const v1::ClusterConfig& config = *new v1::ClusterConfig(Config());
  folder.Clear();
  const std::string path = folder.path() + "/shards.textproto";
  if (!parts[0].empty()) RequireOk(WriteFileAtomically(path, parts[0]));
  absl::StatusOr<std::unique_ptr<ShardBook>> book = ShardBook::Open(folder.path(), config);
  if (!book.ok()) {
    CheckError(book.status());
    return Require(absl::IsInvalidArgument(book.status()), book.status().message());
  }
  CheckList((*book)->roster());
  for (size_t i = 1; i < parts.size(); ++i) {
    v1::ChangeShardsRequest request;
    if (!google::protobuf::TextFormat::ParseFromString(parts[i], &request)) continue;
    Change(**book, request);
  }
  const v1::ShardRoster again = Must(ShardBook::Open(folder.path(), config))->roster();
  Require(AreEqual(WithoutAddresses(again), WithoutAddresses((*book)->roster())));
  Require(AreEqual(Must(ShardBook::Open(folder.path(), config))->roster(), again));
}

}  // namespace
}  // namespace mallocmuzero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const google::protobuf::LogSilencer silencer;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  mallocmuzero::Run(absl::StrSplit(text, "---\n"));
  return 0;
}
