#include "model/export/fetch.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "base/message_json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/checkpoint.h"
#include "model/export/export.h"
#include "model/network_config.h"
#include "model/testing/random_network.h"

namespace mallocmuzero {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class CheckExportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_);
    const Checkpoint checkpoint =
        MakeCheckpoint(*testing::MakeRandomNetwork(NetworkPreset("tiny").value(), 1));
    ASSERT_TRUE(SaveCheckpoint(root_ / "checkpoint", checkpoint).ok());
    ASSERT_TRUE(ExportCheckpoint({.checkpoint = root_ / "checkpoint",
                                  .format = std::string(kOnnxFormat),
                                  .output = folder_})
                    .ok());
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string Error() const { return std::string(CheckExport(folder_).status().message()); }

  // Puts a shell script in the place of rclone.
  void PlaceRclone(const std::string& script) const {
    fs::create_directories(root_ / "bin");
    const std::string rclone = root_ / "bin/rclone";
    std::ofstream(rclone) << "#!/bin/sh\n" << script;
    fs::permissions(rclone, fs::perms::owner_all);
    setenv("PATH", absl::StrCat((root_ / "bin").string(), ":/usr/bin:/bin").c_str(), 1);
  }

  const fs::path root_ = fs::path(::testing::TempDir()) / "check_export_test";
  const std::string folder_ = root_ / "export";
};

TEST_F(CheckExportTest, AcceptsWhatExportWrote) {
  const auto manifest = CheckExport(folder_);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(ReportOf(*manifest).format(), "onnx");
}

TEST_F(CheckExportTest, NamesAFileThatIsDamagedCutShortOrMissing) {
  const std::string file = folder_ + "/dynamics.onnx";
  std::fstream(file, std::ios::in | std::ios::out).seekp(1000).write("damaged", 7);
  EXPECT_THAT(Error(), HasSubstr("dynamics.onnx: damaged: its SHA-256"));
  fs::resize_file(file, 1000);
  EXPECT_THAT(Error(), HasSubstr("dynamics.onnx: has 1000 bytes, the manifest says"));
  fs::remove(file);
  EXPECT_THAT(Error(), HasSubstr("dynamics.onnx: missing"));
  fs::resize_file(folder_ + "/manifest.json", 100);
  EXPECT_THAT(Error(), StartsWith("manifest.json: "));
  fs::remove(folder_ + "/manifest.json");
  EXPECT_THAT(Error(), HasSubstr("has no manifest.json"));
}

TEST_F(CheckExportTest, RefusesFilesOutsideOfTheFolder) {
  std::ofstream(folder_ + "/manifest.json")
      << R"({"header": {"message": "mallocmuzero.v1.ExportManifest", "version": 1},)"
      << R"( "files": [{"file": "../checkpoint"}]})";
  EXPECT_THAT(Error(), HasSubstr("\"../checkpoint\" is not in the folder"));
}

TEST_F(CheckExportTest, FetchLeavesOutWhatTheManifestDoesNotList) {
  PlaceRclone(absl::StrCat("cp -r ", folder_, "/. \"$3\"\n",
                           "echo evil > \"$3/run.sh\"\n"
                           "mkdir \"$3/samples\"\n"
                           "echo evil > \"$3/samples/more.npy\"\n"));
  const auto report = FetchExport("s3://bucket/name", root_ / "fetched");
  ASSERT_TRUE(report.ok()) << report.status();
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(root_ / "fetched")) {
    names.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(names, UnorderedElementsAre("dynamics.onnx", "manifest.json", "prediction.onnx",
                                          "representation.onnx"));
  EXPECT_TRUE(CheckExport(root_ / "fetched").ok());
  for (const auto& entry : fs::directory_iterator(root_)) {
    EXPECT_THAT(entry.path().string(), Not(HasSubstr(".mmz-")));
  }
}

TEST_F(CheckExportTest, FetchTakesAFileThatIsListedTwiceOnce) {
  const absl::StatusOr<std::string> json = ReadFile(folder_ + "/manifest.json");
  ASSERT_TRUE(json.ok()) << json.status();
  v1::ExportManifest manifest;
  ASSERT_TRUE(MessageFromJson(*json, manifest).ok());
  *manifest.add_networks() = manifest.networks(0);
  manifest.mutable_networks(0)->set_file("./" + manifest.networks(0).file());
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/manifest.json", *MessageToJson(manifest)).ok());
  PlaceRclone(absl::StrCat("cp -r ", folder_, "/. \"$3\"\n"));
  const auto report = FetchExport("s3://bucket/name", root_ / "fetched");
  EXPECT_TRUE(report.ok()) << report.status();
}

// rclone would take "2026-11-28T14:22.mmz-XXXXXX" for a path on a remote named "2026-11-28T14".
TEST_F(CheckExportTest, FetchTakesAFolderWithAColonInItsName) {
  PlaceRclone(absl::StrCat("case \"$3\" in /*) cp -r ", folder_, "/. \"$3\";; *) exit 1;; esac\n"));
  const fs::path present = fs::current_path();
  fs::current_path(root_);
  const auto report = FetchExport("s3://bucket/name", "2026-11-28T14:22");
  fs::current_path(present);
  EXPECT_TRUE(report.ok()) << report.status();
}

TEST_F(CheckExportTest, FetchSaysWhatRcloneSaidLast) {
  PlaceRclone(
      "echo '2026/11/26 21:45:53 ERROR : Attempt 3/3 failed' >&2\n"
      "echo '2026/11/26 21:45:54 Failed to lsf: NoCredentialProviders' >&2\n"
      "printf '\\tFor verbose messaging see CredentialsChain\\n' >&2\n"
      "exit 1\n");
  const absl::Status status = FetchExport("s3://bucket/name", root_ / "fetched").status();
  EXPECT_THAT(std::string(status.message()),
              EndsWith(": Failed to lsf: NoCredentialProviders For verbose messaging see "
                       "CredentialsChain"));
  EXPECT_FALSE(fs::exists(root_ / "fetched"));
}

TEST_F(CheckExportTest, FetchWaitsForMinutesAndNotForHours) {
  PlaceRclone("echo \"$@\" >&2\nexit 1\n");
  const absl::Status status = FetchExport("s3://bucket/name", root_ / "fetched").status();
  for (const char* option :
       {"--contimeout=10s", "--timeout=1m", "--low-level-retries=3", "--retries=3"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(option));
  }
}

TEST_F(CheckExportTest, ExportToStorageNeedsAFolderForTemporaryFiles) {
  PlaceRclone("exit 3\n");  // there are no objects below the name
  setenv("TMPDIR", (root_ / "none").c_str(), 1);
  const absl::Status status = ExportCheckpoint({.checkpoint = root_ / "checkpoint",
                                                .format = std::string(kOnnxFormat),
                                                .output = "s3://bucket/name"})
                                  .status();
  unsetenv("TMPDIR");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), StartsWith("TMPDIR: "));
}

TEST_F(CheckExportTest, FetchRefusesAUrlWithoutAName) {
  for (const char* url : {"s3://bucket", "s3://", "folder"}) {
    const absl::Status status = FetchExport(url, root_ / "fetched").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << url;
    EXPECT_THAT(std::string(status.message()), HasSubstr("such as s3://bucket/name")) << url;
    EXPECT_FALSE(fs::exists(root_ / "fetched"));
  }
}

}  // namespace
}  // namespace mallocmuzero
