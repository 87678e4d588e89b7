#include "env/program_files.h"

#include <filesystem>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/message_file.h"
#include "base/testing/index_matching.h"
#include "env/testing/random_game_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/fingerprint.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void WriteProgram(const std::string& path, const std::string& name, uint64_t seed) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::mt19937_64 random(seed);
  v1::Program proto = testing::RandomGameProgram(random).proto();
  proto.set_name(name);
  SealProgram(proto);
  ASSERT_TRUE(WriteMessage(path, proto).ok());
}

TEST(ProgramFiles, ReadsFilesAndWhatIsBelowFolders) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/program_files_test");
  std::filesystem::remove_all(folder);
  WriteProgram(folder + "/alone.program", "alone", 1);
  WriteProgram(folder + "/below/chip/b.program.zst", "b", 2);
  WriteProgram(folder + "/below/a.program", "a", 3);
  EXPECT_THAT(*FindPrograms(folder + "/below"),
              ElementsAre(folder + "/below/a.program", folder + "/below/chip/b.program.zst"));
  const auto set = LoadPrograms({folder + "/alone.program", folder + "/below"});
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->size(), 3);
  EXPECT_EQ((*set)[0].name(), "alone");
  EXPECT_EQ((*set)[1].name(), "a");
  EXPECT_EQ((*set)[2].name(), "b");
}

TEST(ProgramFiles, FindsEachFileOfAKubernetesVolumeOnce) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/program_files_volume_test");
  std::filesystem::remove_all(folder);
  WriteProgram(folder + "/..2026_11_24/a.program", "a", 1);
  std::filesystem::create_directory_symlink("..2026_11_24", folder + "/..data");
  std::filesystem::create_symlink("..data/a.program", folder + "/a.program");
  EXPECT_THAT(*FindPrograms(folder), ElementsAre(folder + "/a.program"));
}

TEST(ProgramFiles, FindsTheFoldersOfAKubernetesVolume) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/program_files_projected_test");
  std::filesystem::remove_all(folder);
  WriteProgram(folder + "/..2026_11_24/chip/a.program", "a", 1);
  std::filesystem::create_directory_symlink("..2026_11_24", folder + "/..data");
  std::filesystem::create_directory_symlink("..data/chip", folder + "/chip");
  EXPECT_THAT(*FindPrograms(folder), ElementsAre(folder + "/chip/a.program"));
}

TEST(ProgramFiles, ReadsAFolderOnceThatHasSeveralLinks) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/program_files_links_test");
  std::filesystem::remove_all(folder);
  WriteProgram(folder + "/own/a.program", "a", 1);
  std::filesystem::create_directory_symlink("own", folder + "/another");
  std::filesystem::create_directory_symlink("..", folder + "/own/circle");
  std::filesystem::create_directory_symlink("nowhere", folder + "/dangling");
  EXPECT_THAT(*FindPrograms(folder), ElementsAre(folder + "/own/a.program"));
}

TEST(ProgramFiles, LeavesOutWhatOnlyRootMayReadOnADisk) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/program_files_disk_test");
  std::filesystem::remove_all(folder);
  WriteProgram(folder + "/lost+found/a.program", "a", 1);
  EXPECT_TRUE(FindPrograms(folder)->empty());
}

TEST(ProgramFiles, NamesAFolderWithoutPrograms) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/program_files_empty_test");
  std::filesystem::remove_all(folder);
  WriteProgram(folder + "/full/a.program", "a", 1);
  std::filesystem::create_directories(folder + "/empty");
  EXPECT_THAT(LoadPrograms({folder + "/full", folder + "/empty"}).status().message(),
              HasSubstr("/empty: no .program file"));
}

TEST(ProgramFiles, NamesWhatIsNotThere) {
  EXPECT_THAT(FindPrograms("/no/such/folder").status().message(), HasSubstr("/no/such/folder"));
  EXPECT_THAT(LoadPrograms({"/no/such.program"}).status().message(), HasSubstr("/no/such.program"));
}

}  // namespace
}  // namespace mallocmuzero
