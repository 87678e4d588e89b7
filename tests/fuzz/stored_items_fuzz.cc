// libFuzzer target: any records of a shard's database, over any bytes of a segment, give items or
// an error of one line.
//
// The first two bytes are the length of a segment, whose bytes follow. Then come records, each a
// byte for its length and its bytes. The shard has another segment, whose items are undamaged.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "replay/service/item_database.h"
#include "replay/service/item_record.h"
#include "replay/service/segment_log.h"
#include "replay/service/testing/items.h"
#include "replay/wire/item.h"
#include "replay/wire/wire.h"
#include "tests/fuzz/memory_folder.h"
#include "tests/fuzz/require.h"

namespace mallocmuzero {
namespace {

std::unique_ptr<SegmentLog> OpenLog(const std::string& folder) {
  return Must(SegmentLog::Open({.folder = folder, .segment_bytes = 1000}));
}

// A folder with a segment of two items, whose number is 1.
const std::string& Folder() {
  static const MemoryFolder folder("stored_items_fuzz");
  static const bool is_filled = [] {
    const Item first = MakeItem(0, 1, 0, 40);
    const Item second = MakeItem(1, 2, 0.5, 40);
    const Item* const items[] = {&first, &second};
    return Must(OpenLog(folder.path())->Append(items)).size() == 2;
  }();
  Require(is_filled);
  return folder.path();
}

void ReadStored(SegmentLog& log, absl::string_view value) {
  ItemDatabase::Record record;
  if (!ParseRecord({value.data(), value.size()}, record)) return;
  Require(std::isfinite(record.metadata.total_return));
  Require(record.metadata.positions > 0 && record.metadata.positions <= kMaxItemPositions);
  if (!log.Use(record.place)) return;
  const absl::StatusOr<grpc::Slice> bytes = log.File(record.place)->Read(record.place);
  if (!bytes.ok()) {
    CheckError(bytes.status());
    return Require(absl::IsDataLoss(bytes.status()), bytes.status().message());
  }
  Require(bytes->size() == record.place.bytes);
  const absl::StatusOr<ItemMetadata> metadata = ReadItem(ViewOf(*bytes));
  if (!metadata.ok()) CheckError(metadata.status());
}

void Run(absl::string_view bytes) {
  const size_t size = static_cast<uint8_t>(bytes[0]) + 256 * static_cast<uint8_t>(bytes[1]);
  const absl::string_view segment = bytes.substr(2, size);
  absl::string_view records = bytes.substr(2 + segment.size());
  std::ofstream(Folder() + "/00000002.segment", std::ios::binary) << segment;
  const std::unique_ptr<SegmentLog> log = OpenLog(Folder());
  while (!records.empty()) {
    const absl::string_view value = records.substr(1, static_cast<uint8_t>(records[0]));
    records.remove_prefix(1 + value.size());
    ReadStored(*log, value);
  }
}

}  // namespace
}  // namespace mallocmuzero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size >= 2) mallocmuzero::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
