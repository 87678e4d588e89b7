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

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/list_folder.h"
#include "base/status_macros.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/item_record.h"
#include "replay/service/segment_log.h"
#include "replay/service/storage.h"
#include "replay/wire/item.h"

namespace mallocmuzero {
namespace {

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

rocksdb::Slice Bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// Calls `visit` for each entry of the family whose key is a serial, in ascending order.
absl::Status ForEachSerial(
    rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family,
    absl::FunctionRef<void(uint64_t serial, const rocksdb::Slice& value)> visit) {
  const std::unique_ptr<rocksdb::Iterator> entry(db.NewIterator(rocksdb::ReadOptions(), family));
  for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
    if (entry->key().size() == 8) visit(FromBigEndian(entry->key()), entry->value());
  }
  return FromRocks(entry->status());
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
  if (!shard.ParseFromString(value) || shard.version() != kStoredFormatVersion) {
    return absl::InvalidArgumentError(absl::StrCat(
        folder_, ": formats of version ", shard.version(), ", must be ", kStoredFormatVersion));
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

absl::Status ItemDatabase::ReadCounters(const Files& open, ShardCounters& counters) const {
  std::string value;
  const rocksdb::Status status =
      open.db->Get(rocksdb::ReadOptions(), open.families[kState], kStateKey, &value);
  if (status.IsNotFound()) return absl::OkStatus();  // a new database
  if (!status.ok()) return FromRocks(status);
  if (ParseCounters(value, counters)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(folder_, ": state"));
}

absl::Status ItemDatabase::ReadRecords(const Files& open, Content& content) {
  return ForEachSerial(*open.db, open.families[kItems],
                       [&content](uint64_t serial, const rocksdb::Slice& value) {
                         Record record;
                         record.serial = serial;
                         if (ParseRecord(value, record)) {
                           content.records.push_back(std::move(record));
                         } else {
                           content.damaged.push_back(serial);
                         }
                       });
}

// `records` ascend by serial, as the entries do.
absl::Status ItemDatabase::ReadPriorities(const Files& open, std::vector<Record>& records) {
  size_t next = 0;
  return ForEachSerial(*open.db, open.families[kPriorities],
                       [&](uint64_t serial, const rocksdb::Slice& value) {
                         while (next < records.size() && records[next].serial < serial) ++next;
                         if (next < records.size() && records[next].serial == serial) {
                           records[next].priorities = ParsePriorities(value);
                         }
                       });
}

absl::StatusOr<ItemDatabase::Content> ItemDatabase::Read(uint64_t most_evicted) {
  const absl::StatusOr<std::shared_ptr<Files>> open = Use();
  if (!open.ok()) return open.status();
  Content content;
  MMZ_RETURN_IF_ERROR(ReadCounters(**open, content.counters));
  MMZ_RETURN_IF_ERROR(ReadRecords(**open, content));
  MMZ_RETURN_IF_ERROR(ReadPriorities(**open, content.records));
  MMZ_RETURN_IF_ERROR(ReadEvicted(**open, most_evicted, content));
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
