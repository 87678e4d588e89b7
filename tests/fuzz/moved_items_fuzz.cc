// libFuzzer target: any bytes, read as a TakeOverRequest, give items that a shard takes over and
// can hand over again without a loss, or an error of one line.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/moved_items.h"
#include "replay/service/replay_table.h"
#include "replay/service/storage.h"
#include "replay/service/testing/items.h"
#include "replay/service/testing/valid_shard.h"
#include "replay/wire/item.h"
#include "tests/fuzz/require.h"

namespace mallocmuzero {
namespace {

std::unique_ptr<ReplayTable> MakeTable() {
  v1::ReplayShard config = ValidShard();
  config.set_max_positions(2000);
  config.set_best_games(2);
  config.set_eviction(v1::ReplayShard::LEAST_VALUED_FIRST);
  return *ReplayTable::Open(config, std::make_unique<MemoryStorage>());
}

// Returns false if the shard refuses the part.
bool TakeOver(const v1::MovedItems& part, ReplayTable& table) {
  absl::StatusOr<TableInsert> insert = ReadMovedItems(part);
  if (!insert.ok()) {
    CheckError(insert.status());
    return false;
  }
  const size_t count = insert->items.size();
  TableInsert* const inserts[] = {&*insert};
  RequireOk(table.Insert(inserts));
  Require(insert->response.acknowledged() + insert->response.refusals_size() == count);
  for (const v1::InsertResponse::Refusal& refusal : insert->response.refusals()) {
    CheckError(absl::InvalidArgumentError(refusal.message()));
  }
  return true;
}

// All that the shard has, as its Export sends it.
v1::MovedItems Content(const ReplayTable& table) {
  v1::MovedItems part;
  for (const Slot slot : table.SlotsByAge()) {
    const ReplayTable::Exported item = table.Export(slot);
    AddMovedItem(item, Must(item.bytes.Load()), part);
  }
  for (const std::string& id : EvictedIds(table)) part.add_evicted(id);
  return part;
}

}  // namespace
}  // namespace mallocmuzero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace mallocmuzero;  // NOLINT(google-build-using-namespace)
  v1::TakeOverRequest request;
  if (!request.ParseFromArray(data, static_cast<int>(size))) return 0;
  const std::unique_ptr<ReplayTable> table = MakeTable();
  if (!TakeOver(request.moved(), *table)) return 0;
  const v1::ReplayStats stats = table->Stats();
  Require(stats.positions() <= 2000 && std::isfinite(stats.total_weight()));
  const v1::MovedItems content = Content(*table);
  const std::unique_ptr<ReplayTable> heir = MakeTable();
  Require(TakeOver(content, *heir));
  Require(Content(*heir).SerializeAsString() == content.SerializeAsString());
  // Once more, as after an answer that got lost.
  Require(TakeOver(content, *heir));
  Require(Content(*heir).SerializeAsString() == content.SerializeAsString());
  return 0;
}
