// libFuzzer target: any bytes, read as an InsertRequest or an UpdatePrioritiesRequest, give items
// and updates on which a shard can rely, or an error of one line. A table returns the items that it
// has accepted. The first byte says what is asked of the table with the rest.

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/replay_table.h"
#include "replay/service/storage.h"
#include "replay/service/testing/valid_shard.h"
#include "replay/wire/item.h"
#include "replay/wire/wire.h"
#include "tests/fuzz/require.h"

namespace mallocmuzero {
namespace {

constexpr uint64_t kMaxPositions = 100;

std::unique_ptr<ReplayTable> MakeTable() {
  v1::ReplayShard config = ValidShard();
  config.set_max_positions(kMaxPositions);
  config.set_max_bytes(10000);
  config.set_best_games(2);
  config.set_priority_exponent(0.6);
  config.set_eviction(v1::ReplayShard::LEAST_VALUED_FIRST);
  return *ReplayTable::Open(config, std::make_unique<MemoryStorage>());
}

void CheckTable(ReplayTable& table) {
  const v1::ReplayStats stats = table.Stats();
  Require(stats.positions() <= kMaxPositions && stats.bytes() <= 10000);
  Require(std::isfinite(stats.total_weight()));
  for (const v1::Selection selection : {v1::PRIORITIZED, v1::UNIFORM, v1::BEST}) {
    const ReplayTable::Draws draws = table.Draw(selection, 20, 1 << 20, false);
    SampleResponseWriter writer;
    for (const ReplayTable::Drawn& drawn : draws.items) {
      const absl::StatusOr<grpc::Slice> bytes = drawn.bytes.Load();
      Require(bytes.ok());
      const absl::StatusOr<ItemMetadata> metadata = ReadItem(ViewOf(*bytes));
      Require(metadata.ok());
      for (const v1::SampleResponse::Draw& draw : drawn.draws) {
        Require(draw.position() < metadata->positions);
        Require(draw.probability() > 0 && draw.probability() <= 1 + 1e-9);
      }
      writer.AddItem(*bytes, drawn.draws);
    }
    Require(writer.Finish(draws.answer).Valid());
  }
}

// A buffer in slices of `piece` bytes, like one that comes from the network.
grpc::ByteBuffer Pieces(absl::string_view bytes, size_t piece) {
  std::vector<grpc::Slice> slices;
  for (size_t i = 0; i < bytes.size(); i += piece) {
    const absl::string_view part = bytes.substr(i, piece);
    slices.emplace_back(part.data(), part.size());
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

void InsertBytes(ReplayTable& table, absl::string_view bytes, size_t piece) {
  absl::StatusOr<InsertMessage> message = ReadInsertRequest(Pieces(bytes, piece));
  if (!message.ok()) return CheckError(message.status());
  for (const v1::InsertResponse::Refusal& refusal : message->refusals) {
    CheckError(absl::InvalidArgumentError(refusal.message()));
  }
  TableInsert insert{.items = std::move(message->items), .replace = message->replace};
  insert.indices.resize(insert.items.size());
  std::iota(insert.indices.begin(), insert.indices.end(), 0);
  const size_t count = insert.items.size();
  TableInsert* const inserts[] = {&insert};
  Require(table.Insert(inserts).ok());
  Require(insert.response.acknowledged() + insert.response.refusals_size() == count);
}

void UpdateBytes(ReplayTable& table, absl::string_view bytes, size_t piece) {
  const absl::StatusOr<v1::UpdatePrioritiesRequest> message =
      ReadUpdatePrioritiesRequest(Pieces(bytes, piece));
  const absl::Status status =
      message.ok() ? table.UpdatePriorities(*message).status() : message.status();
  if (!status.ok()) CheckError(status);
}

}  // namespace
}  // namespace mallocmuzero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const auto table = mallocmuzero::MakeTable();
  // In the second half of the cases, the bytes are two requests: the second one meets the state
  // that the first has left.
  const size_t half = data[0] < 128 ? bytes.size() : bytes.size() / 2;
  const size_t piece = 1 + data[0] % 64;
  mallocmuzero::InsertBytes(*table, bytes.substr(0, half), piece);
  mallocmuzero::InsertBytes(*table, bytes.substr(half), piece);
  mallocmuzero::UpdateBytes(*table, bytes, piece);
  mallocmuzero::v1::RateLimit limit;
  if (limit.ParseFromArray(bytes.data(), bytes.size())) {
    const absl::Status status = table->SetRateLimit(limit);
    if (!status.ok()) mallocmuzero::CheckError(status);
  }
  mallocmuzero::CheckTable(*table);
  return 0;
}
