// `launch slurm` with programs in the place of sbatch, squeue and scancel.

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using ::testing::HasSubstr;

class LaunchSlurm : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string path = absl::StrCat(folder_.Path("bin"), ":", old_path_);
    setenv("PATH", path.c_str(), /*overwrite=*/1);
    std::filesystem::create_directory(folder_.Path("bin"));
    std::filesystem::create_symlink(MALLOCMUZERO_SOURCE_DIR "/workloads/tpu_v6e",
                                    folder_.Path("programs"));
    const std::string token = folder_.Write("token", "0123456789abcdef0123456789abcdef\n");
    std::filesystem::permissions(token, std::filesystem::perms::owner_read);
    const auto adapt = [&](const char* name) {
      const std::string text =
          ReadAll(absl::StrCat(MALLOCMUZERO_SOURCE_DIR "/deploy/slurm/", name));
      return folder_.Write(name,
                           absl::StrReplaceAll(text, {{"/shared/mallocmuzero", folder_.Path("")}}));
    };
    config_ = adapt("cluster.textproto");
    site_ = adapt("site.textproto");
  }
  ~LaunchSlurm() override { setenv("PATH", old_path_.c_str(), /*overwrite=*/1); }

  // Puts a shell script in the place of a command of Slurm.
  void Replace(const std::string& command, const std::string& script) const {
    const std::string path = folder_.Write("bin/" + command, "#!/bin/sh\n" + script);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  RunResult Launch() const {
    return RunMallocmuzero({"launch", "slurm", "--config", config_, "--site", site_});
  }

  const std::string old_path_ = std::getenv("PATH");
  const TemporaryFolder folder_;
  std::string config_;
  std::string site_;
};

// Many sites have an sbatch that says something about the account.
TEST_F(LaunchSlurm, TakesTheIdOutOfWhatSbatchSays) {
  Replace("sbatch", absl::StrCat("echo sbatch: info: 3 hours left >&2\n", "echo \"$@\" >>",
                                 folder_.Path("calls"), "\necho '4711;main'\n",
                                 "echo sbatch: info: 4712 jobs before this one >&2\n"));
  const RunResult result = Launch();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("jobs   4711 4711\n"));
  EXPECT_THAT(result.out, HasSubstr("stop   scancel 4711 4711\n"));
  EXPECT_THAT(ReadAll(folder_.Path("calls")), HasSubstr("--dependency=after:4711 "));
  // Jobs do not have the PATH of the launch.
  EXPECT_THAT(ReadAll(folder_.Path("slurm/launch/common.sh")),
              HasSubstr(absl::StrCat("slurm_commands='", folder_.Path("bin"), "'")));
}

// Only with it a running shard may be copied: no role is called over loopback.
TEST_F(LaunchSlurm, MakesATokenOfAdministratorsForTheirOwner) {
  Replace("squeue", "exit 0");
  Replace("sbatch", "echo 4711");
  EXPECT_EQ(Launch().exit_code, 0);
  const std::string file = folder_.Path("slurm/launch/admin-token");
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const std::string token = ReadAll(file);
  EXPECT_EQ(token.size(), 64 + 1) << "32 bytes in hexadecimal digits, and a line break";
  EXPECT_THAT(ReadAll(folder_.Path("slurm/launch/cluster.textproto.in")),
              HasSubstr("launch/admin-token\"\n"));
  EXPECT_EQ(Launch().exit_code, 0);
  EXPECT_NE(ReadAll(file), token);
}

// In a folder of a team, with a mask that lets its members write.
TEST_F(LaunchSlurm, KeepsOthersFromReplacingItsScripts) {
  Replace("squeue", "exit 0");
  Replace("sbatch", "echo 4711");
  const std::string shared = folder_.Path("slurm");
  std::filesystem::create_directory(shared);
  using std::filesystem::perms;
  std::filesystem::permissions(shared, perms::owner_all | perms::group_all | perms::others_read);
  EXPECT_EQ(Launch().exit_code, 0);
  EXPECT_EQ(std::filesystem::status(shared).permissions(),
            perms::owner_all | perms::group_read | perms::group_exec | perms::others_read);
}

TEST_F(LaunchSlurm, AsksForTheIdIfSbatchSaysNone) {
  Replace("sbatch", "echo sbatch: nothing was submitted; echo today");
  const RunResult result = Launch();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("a job's id expected, found 'sbatch: nothing was submitted"));
  EXPECT_THAT(result.err, HasSubstr("'; a job may be queued"));
}

// The next launch would not know the job, and a second learner would start in its folder.
TEST_F(LaunchSlurm, CancelsAJobWhoseIdItCannotWrite) {
  Replace("sbatch", absl::StrCat("mkdir -p ", folder_.Path("slurm/launch/servers.job/folder"),
                                 "; echo 4711"));
  Replace("scancel", absl::StrCat("echo \"$@\" >>", folder_.Path("cancelled")));
  const RunResult cancelled = Launch();
  EXPECT_NE(cancelled.exit_code, 0);
  EXPECT_THAT(cancelled.err, HasSubstr("servers.job: "));
  EXPECT_THAT(cancelled.err, HasSubstr("; job 4711 was cancelled"));
  EXPECT_EQ(ReadAll(folder_.Path("cancelled")), "4711\n");
}

TEST_F(LaunchSlurm, NamesAJobThatItCanNeitherRememberNorCancel) {
  Replace("sbatch", absl::StrCat("mkdir -p ", folder_.Path("slurm/launch/servers.job/folder"),
                                 "; echo 4711"));
  Replace("scancel", "exit 1");
  EXPECT_THAT(Launch().err, HasSubstr("; job 4711 may be queued: scancel it"));
}

TEST_F(LaunchSlurm, RefusesAFolderWhoseJobsAreQueuedOnly) {
  Replace("sbatch", "echo 4711");
  Replace("squeue", "echo squeue: info: slow today >&2");
  EXPECT_EQ(Launch().exit_code, 0);
  EXPECT_EQ(Launch().exit_code, 0) << "the job has ended";
  Replace("squeue", "echo 47110; echo 14711; echo 4712_4711");
  EXPECT_EQ(Launch().exit_code, 0) << "only other jobs are queued";
  for (const std::string line : {"4711", "4711+0", "4711_3", "4711_[0-7%2]"}) {
    Replace("squeue", absl::StrCat("echo 4710; echo '", line, "'"));
    const RunResult result = Launch();
    EXPECT_EQ(result.exit_code, 2) << line;
    EXPECT_THAT(result.err, HasSubstr("job 4711 of this folder is still queued"));
  }
}

// The jobs may well run, and two learners of one folder would disturb each other.
TEST_F(LaunchSlurm, SubmitsNothingIfItCannotTellWhetherJobsAreQueued) {
  Replace("sbatch", absl::StrCat("echo 4711; echo called >>", folder_.Path("calls")));
  Replace("squeue", "exit 0");
  EXPECT_EQ(Launch().exit_code, 0);
  const std::string calls = ReadAll(folder_.Path("calls"));
  Replace("squeue", "echo squeue: Unable to contact the controller >&2; exit 1");
  const RunResult result = Launch();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("squeue --noheader --format=%i: squeue: Unable to contact"));
  EXPECT_EQ(ReadAll(folder_.Path("calls")), calls);
}

}  // namespace
}  // namespace mallocmuzero::e2e
