#include "learner/best_history.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/message_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;

std::string NewFolder(const std::string& name) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/best_history_test_", name);
  std::filesystem::remove_all(path);
  return path;
}

v1::Mapping MappingOf(uint32_t version) {
  v1::Mapping mapping;
  mapping.set_solver(absl::StrCat("version ", version));
  return mapping;
}

std::vector<uint32_t> Numbers(const std::string& folder) {
  std::vector<uint32_t> numbers;
  for (const BestVersion& version : ListBestVersions(folder)) numbers.push_back(version.number);
  return numbers;
}

TEST(BestHistory, NumbersVersionsInTheirOrder) {
  const std::string folder = NewFolder("order") + "/chip/program";
  EXPECT_TRUE(ListBestVersions(folder).empty());
  for (uint32_t k = 1; k <= 3; ++k) {
    ASSERT_EQ(AddBestVersion(folder, MappingOf(k)), absl::OkStatus());
  }
  const std::vector<BestVersion> versions = ListBestVersions(folder);
  ASSERT_EQ(versions.size(), 3);
  EXPECT_EQ(versions[1].number, 2);
  EXPECT_EQ(ReadMessage<v1::Mapping>(versions[1].path)->solver(), "version 2");
}

TEST(BestHistory, ThinsOutTheOldVersionsButKeepsTheFirstAndTheLatest) {
  const std::string folder = NewFolder("thin");
  for (uint32_t k = 1; k <= 8; ++k) {
    ASSERT_EQ(AddBestVersion(folder, MappingOf(k), /*most=*/8), absl::OkStatus());
  }
  EXPECT_THAT(Numbers(folder), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  ASSERT_EQ(AddBestVersion(folder, MappingOf(9), 8), absl::OkStatus());
  // The older three quarters of eight versions are 1 to 6; 2, 4 and 6 are removed.
  EXPECT_THAT(Numbers(folder), ElementsAre(1, 3, 5, 7, 8, 9));
}

TEST(BestHistory, AddsNothingIfTheLatestVersionIsTheSame) {
  const std::string folder = NewFolder("same");
  for (const uint32_t k : {1, 2, 2, 1}) {
    ASSERT_EQ(AddBestVersion(folder, MappingOf(k)), absl::OkStatus());
  }
  EXPECT_THAT(Numbers(folder), ElementsAre(1, 2, 3));
}

TEST(BestHistory, IgnoresOtherFiles) {
  const std::string folder = NewFolder("other");
  ASSERT_EQ(AddBestVersion(folder, MappingOf(1)), absl::OkStatus());
  std::ofstream(folder + "/notes.mapping") << "x";
  std::ofstream(folder + "/000002.txt") << "x";
  EXPECT_THAT(Numbers(folder), ElementsAre(1));
}

TEST(BestHistory, NamesTheFolderThatItCannotMake) {
  const std::string folder = NewFolder("blocked");
  std::ofstream(std::string(folder)) << "a file";
  const absl::Status status = AddBestVersion(folder + "/chip", MappingOf(1));
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(folder + "/chip"));
}

}  // namespace
}  // namespace mallocmuzero
