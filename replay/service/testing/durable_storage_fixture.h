// Fixtures for tests of durable storage.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_TESTING_DURABLE_STORAGE_FIXTURE_H_
#define MALLOCMUZERO_REPLAY_SERVICE_TESTING_DURABLE_STORAGE_FIXTURE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/testing/resource_limits.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "replay/service/durable_storage.h"
#include "replay/service/id_set.h"
#include "replay/service/replay_table.h"
#include "replay/service/storage.h"
#include "replay/service/testing/valid_shard.h"

namespace mallocmuzero {

// Gives each test a folder of its own and opens tables in it.
class DurableStorageTest : public ::testing::Test {
 protected:
  DurableStorageTest()
      : folder_(absl::StrCat(testing::TempDir(), "durable_",
                             testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
  }
  ~DurableStorageTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<ReplayTable> Open(const v1::ReplayShard& config, const std::string& folder = {}) {
    absl::StatusOr<std::unique_ptr<Storage>> storage = DurableStorage::Open(
        {.folder = folder.empty() ? folder_ : folder,
         .sync = config.mode() == v1::ReplayShard::DURABLE_SYNC,
         .cache_bytes = cache_bytes_,
         .max_bytes = config.max_bytes(),
         .segment_bytes = 1 << 16,
         .most_evicted_ids = config.remember_evicted_bytes() / IdSet::kBytesOfEvicted,
         .copies = {.copies = config.copies(), .bytes = config.copy_bytes()},
         .reserved_bytes = 0});
    if (!storage.ok()) {
      ADD_FAILURE() << storage.status();
      return nullptr;
    }
    absl::StatusOr<std::unique_ptr<ReplayTable>> table =
        ReplayTable::Open(config, *std::move(storage));
    if (!table.ok()) {
      ADD_FAILURE() << table.status();
      return nullptr;
    }
    return *std::move(table);
  }

  v1::ReplayShard Config() const {
    v1::ReplayShard config = ValidShard();
    config.set_mode(v1::ReplayShard::DURABLE);
    config.set_data_dir(folder_);
    config.set_max_positions(1000);
    return config;
  }

  std::string folder_;
  uint64_t cache_bytes_ = 0;  // of tables opened later; with 0 all items are read from the disk
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_TESTING_DURABLE_STORAGE_FIXTURE_H_
