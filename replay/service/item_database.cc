#include "replay/service/item_database.h"

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/list_folder.h"
#include "base/status_macros.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/priority.h"
#include "replay/service/item_record.h"
#include "replay/service/segment_log.h"
#include "replay/service/storage.h"
#include "replay/wire/item.h"

namespace mallocmuzero {
namespace {

// The version of the formats of keys, values and segment files, which docs/replay.md describes.
constexpr uint32_t kFormatVersion = 1;

constexpr char kStateKey[] = "shard";

// Seconds between two deletions of evicted ids whose time is over. Each deletion leaves a range
// tombstone that slows later reads, so they should be few.
constexpr int64_t kForgetSeconds = 60;

// Column families: RocksDB's default one for the shard's state, and three more.
enum Family : uint8_t { kState, kItems, kPriorities, kEvicted, kFamilies };
constexpr const char* kFamilyNames[kFamilies] = {"default", "items", "priorities", "evicted"};

// Big-endian keys sort in the order of their numbers.
std::string BigEndian(uint64_t number) {
  std::string key;
  for (int shift = 56; shift >= 0; shift -= 8) key.push_back(number >> shift);
  return key;
}

uint64_t FromBigEndian(const rocksdb::Slice& key) {
  uint64_t number = 0;
  for (size_t i = 0; i < 8; ++i) {
    const uint8_t byte = key[i];
    number = number << 8 | byte;
  }
  return number;
}

std::string EvictedKey(int64_t forget_at, const ItemId& id) {
  return absl::StrCat(BigEndian(forget_at), ViewOf(id));
}

absl::Status FromRocks(const rocksdb::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string message = status.ToString();
  if (status.IsNoSpace() || absl::StrContains(message, "File too large")) {
    return absl::ResourceExhaustedError(message);
  }
  // The message must name the lock file: a mere "lock" also occurs in "block" and in folder names.
  if (status.IsCorruption()) return absl::DataLossError(message);
  if (status.IsIOError() &&
      (absl::StrContains(message, "lock file") || absl::StrContains(message, "lock hold"))) {
    return absl::InvalidArgumentError(
        absl::StrCat(message, "; another process has the folder open"));
  }
  return absl::UnavailableError(message);
}

// Discards RocksDB's log of events. The log is one more file that grows, and on a full disk
// Debian's RocksDB, which is built with assertions, would end the process.
class NoLog final : public rocksdb::Logger {
 public:
  using Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
};

rocksdb::Options DatabaseOptions() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  // A record takes about 150 bytes, so small buffers suffice. RocksDB removes an old log once every
  // family was written out, which max_total_wal_size enforces.
  options.write_buffer_size = size_t{16} << 20;
  options.max_total_wal_size = uint64_t{64} << 20;
  options.max_background_jobs = 2;
  options.max_open_files = 128;
  options.compression = rocksdb::kNoCompression;
  options.info_log = std::make_shared<NoLog>();
  options.avoid_unnecessary_blocking_io = true;
  return options;
}

std::string SerializeCounters(const ShardCounters& counters) {
  v1::StoredShard shard;
  shard.set_version(kFormatVersion);
  shard.set_next_serial(counters.next_serial);
  shard.set_inserted_items(counters.inserted_items);
  shard.set_inserted_positions(counters.inserted_positions);
  shard.set_duplicate_items(counters.duplicate_items);
  shard.set_evicted_items(counters.evicted_items);
  shard.set_drawn_positions(counters.drawn_positions);
  shard.set_highest_priority(counters.highest_priority);
  if (counters.rate_limit.has_value()) *shard.mutable_rate_limit() = *counters.rate_limit;
  return shard.SerializeAsString();
}

rocksdb::Slice Bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// The priorities in a value of the database; none if one of them is not valid.
std::vector<float> ReadPriorities(const rocksdb::Slice& value) {
  std::vector<float> values(value.size() / sizeof(float));
  if (values.empty()) return values;  // memcpy takes no null pointer
  std::memcpy(values.data(), value.data(), values.size() * sizeof(float));
  if (!std::all_of(values.begin(), values.end(), IsPriority)) values.clear();
  return values;
}

}  // namespace

// An open database.
struct ItemDatabase::Files {
  std::unique_ptr<rocksdb::DB> db;
  std::vector<rocksdb::ColumnFamilyHandle*> families;  // by Family

  ~Files() {
    for (rocksdb::ColumnFamilyHandle* family : families) {
      db->DestroyColumnFamilyHandle(family).PermitUncheckedError();
    }
  }
};

// Changes that are written together or not at all.
class ItemDatabase::Batch {
 public:
  explicit Batch(const Files& files) : files_(files) {}

  void Put(Family family, const std::string& key, const rocksdb::Slice& value) {
    Keep(batch_.Put(files_.families[family], key, value));
  }
  void Delete(Family family, const std::string& key) {
    Keep(batch_.Delete(files_.families[family], key));
  }
  void DeleteBelow(Family family, const std::string& end) {
    Keep(batch_.DeleteRange(files_.families[family], std::string(), end));
  }

  rocksdb::Status Write(bool sync) {
    if (!status_.ok()) return status_;
    rocksdb::WriteOptions options;
    options.sync = sync;
    return files_.db->Write(options, &batch_);
  }

 private:
  void Keep(const rocksdb::Status& status) {
    if (!status.ok()) status_ = status;
  }

  const Files& files_;
  rocksdb::WriteBatch batch_;
  rocksdb::Status status_;
};

ItemDatabase::ItemDatabase(std::string folder, bool sync)
    : folder_(std::move(folder)), sync_(sync) {}

ItemDatabase::~ItemDatabase() = default;

absl::StatusOr<std::unique_ptr<ItemDatabase>> ItemDatabase::Open(const std::string& folder,
                                                                 bool sync) {
  std::unique_ptr<ItemDatabase> database(new ItemDatabase(folder, sync));
  MMZ_RETURN_IF_ERROR(database->CheckVersion());
  return database;
}

absl::StatusOr<std::shared_ptr<ItemDatabase::Files>> ItemDatabase::OpenFiles() const {
  const rocksdb::Options options = DatabaseOptions();
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const char* name : kFamilyNames) {
    descriptors.emplace_back(name, rocksdb::ColumnFamilyOptions(options));
  }
  auto files = std::make_shared<Files>();
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status =
      rocksdb::DB::Open(rocksdb::DBOptions(options), folder_, descriptors, &files->families, &db);
  if (!status.ok()) return FromRocks(status);
  files->db.reset(db);
  return files;
}

// Returns the open database. RocksDB takes no writes after one has failed, so it is then opened
// again, as after a crash.
absl::StatusOr<std::shared_ptr<ItemDatabase::Files>> ItemDatabase::Use() {
  const absl::MutexLock lock(&mutex_);
  if (broken_ && files_ != nullptr) {
    // CopyTo uses the database on another thread, so it cannot be closed yet.
    if (files_.use_count() > 1) return absl::UnavailableError("the database is being mended");
    files_.reset();
  }
  if (files_ == nullptr) {
    absl::StatusOr<std::shared_ptr<Files>> files = OpenFiles();
    if (!files.ok()) return files.status();
    files_ = *std::move(files);
    broken_ = false;
  }
  return files_;
}

absl::Status ItemDatabase::CheckVersion() {
  const absl::StatusOr<std::shared_ptr<Files>> open = Use();
  if (!open.ok()) return open.status();
  std::string value;
  const rocksdb::Status status =
      (*open)->db->Get(rocksdb::ReadOptions(), (*open)->families[kState], kStateKey, &value);
  if (status.IsNotFound()) return absl::OkStatus();
  if (!status.ok()) return FromRocks(status);
  v1::StoredShard shard;
  if (!shard.ParseFromString(value) || shard.version() != kFormatVersion) {
    return absl::InvalidArgumentError(absl::StrCat(folder_, ": formats of version ",
                                                   shard.version(), ", must be ", kFormatVersion));
  }
  return absl::OkStatus();
}

// Reads backwards from the latest id, so that it reads no more ids than it keeps.
absl::Status ItemDatabase::ReadEvicted(const Files& open, uint64_t most, Content& content) {
  const std::unique_ptr<rocksdb::Iterator> entry(
      open.db->NewIterator(rocksdb::ReadOptions(), open.families[kEvicted]));
  for (entry->SeekToLast(); entry->Valid(); entry->Prev()) {
    const rocksdb::Slice key = entry->key();
    if (key.size() != 8 + kItemIdBytes) continue;
    if (content.evicted.size() >= most) {
      content.ids_left_out = true;
      break;
    }
    StorageBatch::Eviction& evicted = content.evicted.emplace_back();
    if (entry->value().size() == 8) evicted.serial = FromBigEndian(entry->value());
    evicted.forget_at = FromBigEndian(key);
    std::memcpy(evicted.id.data(), key.data() + 8, kItemIdBytes);
  }
  std::reverse(content.evicted.begin(), content.evicted.end());
  return FromRocks(entry->status());
}

absl::StatusOr<ItemDatabase::Content> ItemDatabase::Read(uint64_t most_evicted) {
  const absl::StatusOr<std::shared_ptr<Files>> used = Use();
  if (!used.ok()) return used.status();
  const Files& open = **used;
  Content content;
  std::string value;
  if (open.db->Get(rocksdb::ReadOptions(), open.families[kState], kStateKey, &value).ok()) {
    v1::StoredShard shard;
    if (!shard.ParseFromString(value)) return absl::DataLossError(absl::StrCat(folder_, ": state"));
    content.counters = {.next_serial = shard.next_serial(),
                        .inserted_items = shard.inserted_items(),
                        .inserted_positions = shard.inserted_positions(),
                        .duplicate_items = shard.duplicate_items(),
                        .evicted_items = shard.evicted_items(),
                        .drawn_positions = shard.drawn_positions(),
                        .rate_limit = shard.rate_limit()};
    if (IsPriority(shard.highest_priority())) {
      content.counters.highest_priority = shard.highest_priority();
    }
  }
  const auto each = [&](Family family, const auto& visit) {
    const std::unique_ptr<rocksdb::Iterator> entry(
        open.db->NewIterator(rocksdb::ReadOptions(), open.families[family]));
    for (entry->SeekToFirst(); entry->Valid(); entry->Next()) visit(entry->key(), entry->value());
    return FromRocks(entry->status());
  };
  MMZ_RETURN_IF_ERROR(each(kItems, [&](const rocksdb::Slice& key, const rocksdb::Slice& stored) {
    if (key.size() != 8) return;
    Record record;
    record.serial = FromBigEndian(key);
    if (ParseRecord(stored, record)) {
      content.records.push_back(std::move(record));
    } else {
      content.damaged.push_back(record.serial);
    }
  }));
  size_t next = 0;
  MMZ_RETURN_IF_ERROR(
      each(kPriorities, [&](const rocksdb::Slice& key, const rocksdb::Slice& stored) {
        if (key.size() != 8) return;
        const uint64_t serial = FromBigEndian(key);
        while (next < content.records.size() && content.records[next].serial < serial) ++next;
        if (next < content.records.size() && content.records[next].serial == serial) {
          content.records[next].priorities = ReadPriorities(stored);
        }
      }));
  MMZ_RETURN_IF_ERROR(ReadEvicted(open, most_evicted, content));
  return content;
}

absl::Status ItemDatabase::Commit(const std::function<void(Batch&)>& fill, bool sync) {
  const absl::StatusOr<std::shared_ptr<Files>> open = Use();
  if (!open.ok()) return open.status();
  Batch batch(**open);
  fill(batch);
  absl::Status status = FromRocks(batch.Write(sync));
  if (status.ok()) return status;
  const absl::MutexLock lock(&mutex_);
  broken_ = true;
  return status;
}

absl::Status ItemDatabase::Write(const StorageBatch& batch,
                                 const std::vector<SegmentPlace>& places) {
  const auto fill = [&](Batch& writes) {
    for (size_t i = 0; i < batch.puts.size(); ++i) {
      writes.Put(kItems, BigEndian(batch.puts[i].serial),
                 SerializeRecord(batch.puts[i].item.metadata, places[i]));
    }
    for (const StorageBatch::Eviction& evicted : batch.evictions) {
      const std::string key = BigEndian(evicted.serial);
      writes.Delete(kItems, key);
      if (evicted.has_priorities) writes.Delete(kPriorities, key);
      writes.Put(kEvicted, EvictedKey(evicted.forget_at, evicted.id), key);
    }
    for (const StorageBatch::Priorities& priorities : batch.priorities) {
      writes.Put(kPriorities, BigEndian(priorities.serial), Bytes(priorities.values));
    }
    if (batch.forget_before >= forgotten_ + kForgetSeconds) {
      forgotten_ = batch.forget_before;
      writes.DeleteBelow(kEvicted, BigEndian(forgotten_));
    }
    if (batch.counters.has_value()) {
      writes.Put(kState, kStateKey, SerializeCounters(*batch.counters));
    }
  };
  return Commit(fill, sync_);
}

absl::Status ItemDatabase::Rewrite(const std::vector<Record>& records,
                                   const std::vector<uint64_t>& erased, bool sync) {
  const auto fill = [&](Batch& writes) {
    for (const Record& record : records) {
      writes.Put(kItems, BigEndian(record.serial), SerializeRecord(record.metadata, record.place));
    }
    for (const uint64_t serial : erased) {
      writes.Delete(kItems, BigEndian(serial));
      writes.Delete(kPriorities, BigEndian(serial));
    }
  };
  return Commit(fill, sync);
}

absl::Status ItemDatabase::Sync() {
  const absl::StatusOr<std::shared_ptr<Files>> open = Use();
  if (!open.ok()) return open.status();
  return FromRocks((*open)->db->SyncWAL());
}

absl::Status ItemDatabase::CopyTo(const std::string& folder) {
  const absl::StatusOr<std::shared_ptr<Files>> open = Use();
  if (!open.ok()) return open.status();
  rocksdb::Checkpoint* made = nullptr;
  if (rocksdb::Status status = rocksdb::Checkpoint::Create((*open)->db.get(), &made);
      !status.ok()) {
    return FromRocks(status);
  }
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  return FromRocks(checkpoint->CreateCheckpoint(folder));
}

uint64_t ItemDatabase::bytes() const {
  const absl::StatusOr<std::vector<std::filesystem::directory_entry>> entries = ListFolder(folder_);
  if (!entries.ok()) return 0;
  uint64_t sum = 0;
  for (const std::filesystem::directory_entry& entry : *entries) {
    std::error_code error;
    const uint64_t size = entry.file_size(error);
    if (!error) sum += size;
  }
  return sum;
}

}  // namespace mallocmuzero
