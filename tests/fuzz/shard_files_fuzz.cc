// libFuzzer target: a shard whose files are damaged in any way opens with the trajectories that the
// damage has spared, or says in one line why it does not open.
//
// The first byte chooses one of two kinds of damage, and whether the shard is started once more.
// The bytes behind it are edits of files, 5 bytes each, or records for the database.

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/durable_storage.h"
#include "replay/service/replay_table.h"
#include "replay/service/storage.h"
#include "replay/service/testing/items.h"
#include "replay/service/testing/valid_shard.h"
#include "replay/wire/item.h"
#include "replay/wire/wire.h"
#include "tests/fuzz/memory_folder.h"
#include "tests/fuzz/require.h"

namespace mallocmuzero {
namespace {

constexpr uint64_t kItems = 8;
constexpr uint64_t kNewItem = 100;
constexpr size_t kMostEdits = 8;

const std::string& Folder() {
  static const MemoryFolder folder("shard_files_fuzz");
  return folder.path();
}

std::string Content(const std::filesystem::path& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

absl::StatusOr<std::unique_ptr<ReplayTable>> OpenTable() {
  v1::ReplayShard config = ValidShard();
  config.set_mode(v1::ReplayShard::DURABLE);
  config.set_best_games(2);
  absl::StatusOr<std::unique_ptr<Storage>> storage =
      DurableStorage::Open({.folder = Folder(),
                            .max_bytes = config.max_bytes(),
                            .segment_bytes = 200,
                            .reserved_bytes = 0});
  if (!storage.ok()) return storage.status();
  return ReplayTable::Open(config, *std::move(storage));
}

// An undamaged shard.
struct Shard {
  std::map<std::string, std::string> files;  // content by path in the folder
  std::string log;                           // path of the database's log

  struct Stored {
    std::string wire;
    std::string segment;  // path
    size_t begin = 0;     // of the bytes in the segment
    size_t log_end = 0;   // bytes of the log that hold the record
    size_t end() const { return begin + wire.size(); }
  };
  std::map<std::string, Stored> items;  // by id
};

std::string LogPath() {
  for (const auto& entry : std::filesystem::directory_iterator(Folder() + "/database")) {
    if (entry.path().extension() == ".log") return entry.path().string();
  }
  return {};
}

Shard MakeShard() {
  Shard shard;
  {
    const std::unique_ptr<ReplayTable> table = Must(OpenTable());
    shard.log = LogPath();
    for (uint64_t i = 0; i < kItems; ++i) {
      const Item item = MakeItem(i, 1 + i % 3, static_cast<double>(i), 40);
      Shard::Stored& stored = shard.items[IdString(i)];
      stored.wire = std::string(ViewOf(item.wire));
      RequireOk(Insert(*table, {item}));
      stored.log_end = std::filesystem::file_size(shard.log);
    }
    v1::UpdatePrioritiesRequest update;
    update.add_updates()->set_id(IdString(1));
    update.mutable_updates(0)->set_priority(3);
    Must(table->UpdatePriorities(update));
    RequireOk(table->Flush());
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(Folder())) {
    if (!entry.is_regular_file()) continue;
    const std::string path = std::filesystem::relative(entry.path(), Folder()).string();
    shard.files[path] = Content(entry.path());
    for (auto& [id, stored] : shard.items) {
      const size_t begin = shard.files[path].find(stored.wire);
      if (!absl::StartsWith(path, "segments/") || begin == std::string::npos) continue;
      stored.segment = path;
      stored.begin = begin;
    }
  }
  shard.log = std::filesystem::relative(shard.log, Folder()).string();
  for (const auto& [id, stored] : shard.items) Require(!stored.segment.empty());
  return shard;
}

const Shard& Undamaged() {
  static const Shard& shard = *new Shard(MakeShard());
  return shard;
}

void WriteFiles(const std::map<std::string, std::string>& files) {
  std::filesystem::remove_all(Folder());
  for (const auto& [path, content] : files) {
    const std::filesystem::path target = Folder() + "/" + path;
    std::filesystem::create_directories(target.parent_path());
    std::ofstream(target, std::ios::binary) << content;
  }
}

// The differences from the undamaged shard.
struct Damage {
  bool database = false;           // other than its log
  size_t log_end = SIZE_MAX;       // all before it is as it was
  std::set<std::string> no_bytes;  // ids of items whose bytes are gone
  std::set<std::string> changed;   // ids of items whose bytes are gone or changed
};

// Compares the files with those of the undamaged shard.
Damage DamageOf(const std::map<std::string, std::string>& files) {
  const Shard& shard = Undamaged();
  const auto content = [&files](const std::string& path) {
    const auto file = files.find(path);
    return file == files.end() ? absl::string_view() : absl::string_view(file->second);
  };
  Damage damage;
  for (const auto& [path, before] : shard.files) {
    const absl::string_view after = content(path);
    if (path == shard.log) {
      const auto differs = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
      if (differs.first != before.end()) damage.log_end = differs.first - before.begin();
    } else if (absl::StartsWith(path, "database/")) {
      damage.database |= !files.contains(path) || after != before;
    }
  }
  for (const auto& [id, stored] : shard.items) {
    const absl::string_view segment = content(stored.segment);
    if (segment.size() < stored.end()) damage.no_bytes.insert(id);
    if (absl::ClippedSubstr(segment, stored.begin, stored.wire.size()) != stored.wire) {
      damage.changed.insert(id);
    }
  }
  return damage;
}

void Edit(absl::string_view edit, std::map<std::string, std::string>& files) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(edit[i]); };
  const auto file = std::next(files.begin(), byte(0) % files.size());
  std::string& content = file->second;
  const size_t offset = content.empty() ? 0 : (byte(2) + 256 * byte(3)) % content.size();
  switch (byte(1) % 5) {
    case 0:
      content.resize(offset);
      break;
    case 1:
      if (!content.empty()) content[offset] = static_cast<char>(content[offset] ^ (byte(4) | 1));
      break;
    case 2:
      content.append(byte(3), edit[4]);
      break;
    case 3:
      if (files.size() > 1) files.erase(file);
      break;
    default:
      // A file with a name that the shard would not give it.
      files[absl::StrCat("segments/", byte(4) % 16, ".segment")] = content;
  }
}

// The ids of the items that can be read. Each of them must be as it was stored.
std::set<std::string> ReadAll(const ReplayTable& table) {
  std::set<std::string> read;
  for (const Slot slot : table.SlotsByAge()) {
    const absl::StatusOr<grpc::Slice> bytes = table.Export(slot).bytes.Load();
    if (!bytes.ok()) {
      CheckError(bytes.status());
      continue;
    }
    const ItemMetadata metadata = Must(ReadItem(ViewOf(*bytes)));
    const std::string id(ViewOf(metadata.id));
    const auto stored = Undamaged().items.find(id);
    Require(stored != Undamaged().items.end() && stored->second.wire == ViewOf(*bytes));
    read.insert(id);
  }
  return read;
}

void CheckRecovered(const ReplayTable& table, const Damage& damage) {
  const std::set<std::string> ids = StoredIds(table);
  const std::set<std::string> read = ReadAll(table);
  bool is_lost = false;
  for (const auto& [id, stored] : Undamaged().items) {
    if (damage.database || stored.log_end > damage.log_end) continue;
    is_lost |= damage.no_bytes.contains(id);
    Require(ids.contains(id) || damage.no_bytes.contains(id), "an acknowledged item is gone");
    Require(read.contains(id) || damage.changed.contains(id), "an undamaged item cannot be read");
  }
  const bool is_told =
      std::any_of(table.notes().begin(), table.notes().end(),
                  [](const auto& note) { return absl::StrContains(note, "are lost"); });
  Require(is_told || !is_lost, "nobody is told of the lost items");
}

// The shard goes on: it draws, finds what is damaged, takes a new item and has it after a restart.
void CheckThatItGoesOn(std::unique_ptr<ReplayTable> table, bool restart) {
  for (const v1::Selection selection : {v1::PRIORITIZED, v1::UNIFORM, v1::BEST}) {
    const ReplayTable::Draws draws = table->Draw(selection, 20, 1 << 20, true);
    for (const ReplayTable::Drawn& drawn : draws.items) {
      const absl::Status loaded = drawn.bytes.Load().status();
      if (!loaded.ok()) table->NoteUnreadable(drawn.source, loaded);
      for (const v1::SampleResponse::Draw& draw : drawn.draws) {
        Require(draw.probability() > 0 && draw.probability() <= 1 + 1e-9);
      }
    }
  }
  Require(std::isfinite(table->Stats().total_weight()));
  RequireOk(table->Flush());
  RequireOk(Insert(*table, {MakeItem(kNewItem, 2)}));
  const std::set<std::string> ids = StoredIds(*table);
  Require(ids.contains(IdString(kNewItem)));
  table = nullptr;
  if (restart) Require(StoredIds(*Must(OpenTable())) == ids);
}

void DamageFiles(absl::string_view edits, bool restart) {
  std::map<std::string, std::string> files = Undamaged().files;
  for (size_t i = 0; i < kMostEdits && edits.size() >= 5; ++i, edits.remove_prefix(5)) {
    Edit(edits.substr(0, 5), files);
  }
  const Damage damage = DamageOf(files);
  WriteFiles(files);
  absl::StatusOr<std::unique_ptr<ReplayTable>> table = OpenTable();
  if (!table.ok()) {
    CheckError(table.status());
    return Require(damage.database, table.status().message());
  }
  CheckRecovered(**table, damage);
  CheckThatItGoesOn(*std::move(table), restart);
}

// Writes the records into the database. Each is a byte for the family of columns, one for the last
// byte of the key, one for the length of the value, and the value.
void WriteRecords(absl::string_view records) {
  rocksdb::Options options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const char* name : {"default", "items", "priorities", "evicted"}) {
    families.emplace_back(name, rocksdb::ColumnFamilyOptions(options));
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status =
      rocksdb::DB::Open(options, Folder() + "/database", families, &handles, &opened);
  Require(status.ok(), status.ToString());
  const std::unique_ptr<rocksdb::DB> database(opened);
  while (records.size() >= 3) {
    const size_t family = static_cast<uint8_t>(records[0]) % handles.size();
    std::string key = family == 0 ? "shard" : std::string(7, '\0') + records[1];
    if (family == 3) key += IdString(static_cast<uint8_t>(records[1]));
    const size_t length = static_cast<uint8_t>(records[2]);
    records.remove_prefix(3);
    const std::string value(records.substr(0, length));
    records.remove_prefix(value.size());
    Require(database->Put({}, handles[family], key, value).ok());
  }
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    Require(database->DestroyColumnFamilyHandle(handle).ok());
  }
}

void DamageRecords(absl::string_view records, bool restart) {
  WriteFiles(Undamaged().files);
  WriteRecords(records);
  absl::StatusOr<std::unique_ptr<ReplayTable>> table = OpenTable();
  if (!table.ok()) return CheckError(table.status());
  ReadAll(**table);
  CheckThatItGoesOn(*std::move(table), restart);
}

}  // namespace
}  // namespace mallocmuzero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  mallocmuzero::Undamaged();
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool restart = data[0] / 2 % 4 == 0;
  if (data[0] % 2 == 0) {
    mallocmuzero::DamageFiles(bytes, restart);
  } else {
    mallocmuzero::DamageRecords(bytes, restart);
  }
  return 0;
}
