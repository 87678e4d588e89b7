#include "cluster/config_overrides.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cluster/cluster_config.h"
#include "cluster/set_field.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kFile[] =
    "learner {\n"
    "  workloads: 'programs'\n"
    "  searched_share: 0.5\n"
    "}\n"
    "replay { name: 'a' address: '127.0.0.1:1001' }\n";

std::vector<ConfigOverride> Flags(const std::vector<std::string>& assignments) {
  std::vector<ConfigOverride> overrides;
  for (const std::string& assignment : assignments) {
    overrides.push_back(OverrideFromFlag(assignment).value());
  }
  return overrides;
}

absl::StatusOr<v1::ClusterConfig> Parse(const std::vector<std::string>& assignments) {
  return ParseClusterConfig(kFile, "/etc/c.textproto", ConfigScope::kWithoutPrograms,
                            Flags(assignments));
}

// The lines of the error that the overrides cause.
std::vector<std::string> Mistakes(const std::vector<std::string>& assignments) {
  const absl::Status status = Parse(assignments).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return absl::StrSplit(status.message(), '\n');
}

TEST(ConfigOverrides, ReplaceFieldsOfTheFileAndDefaults) {
  const auto config = Parse({"learner.searched_share=0", "learner.run_dir=/data/run",
                             "learner.options.batch_size=64", "replay[0].mode=MEMORY",
                             "actor.count=0", "security.allow_insecure_network=true"});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->learner().searched_share(), 0);
  EXPECT_EQ(config->learner().run_dir(), "/data/run");
  EXPECT_EQ(config->learner().options().batch_size(), 64);
  EXPECT_GT(config->learner().options().learning_rate(), 0);
  EXPECT_EQ(config->replay(0).mode(), v1::ReplayShard::MEMORY);
  EXPECT_EQ(config->replay(0).name(), "a");
  EXPECT_EQ(config->actor().count(), 0);
  EXPECT_TRUE(config->security().allow_insecure_network());
}

TEST(ConfigOverrides, RelativePathsStartAtTheFilesFolder) {
  const auto config = Parse({"learner.run_dir=other", "learner.workloads=more"});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->learner().run_dir(), "/etc/other");
  EXPECT_THAT(config->learner().workloads(), ElementsAre("/etc/more"));
}

TEST(ConfigOverrides, AppendElements) {
  const auto config = Parse({"replay.1.name=b", "replay.1.address=127.0.0.1:1002",
                             "learner.workloads.1=x", "learner.workloads.0=w"});
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_EQ(config->replay_size(), 2);
  EXPECT_EQ(config->replay(1).address(), "127.0.0.1:1002");
  EXPECT_EQ(config->replay(1).data_dir(), "/etc/replay/b");
  EXPECT_THAT(config->learner().workloads(), ElementsAre("/etc/w", "/etc/x"));
}

TEST(ConfigOverrides, MayMakeTheWholeConfiguration) {
  const auto config =
      ParseClusterConfig("", "/etc/c.textproto", ConfigScope::kWithoutPrograms,
                         Flags({"learner.workloads=p", "learner.address=127.0.0.1:7777"}));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->learner().address(), "127.0.0.1:7777");
  EXPECT_EQ(config->learner().name(), "learner");
}

TEST(ConfigOverrides, SayWhichFieldIsMeant) {
  EXPECT_THAT(Mistakes({"learner.run_dri=/x"}),
              ElementsAre("--set learner.run_dri=/x: no field 'run_dri'; run_dir is one"));
  EXPECT_THAT(Mistakes({"trainer.seed=1"}),
              ElementsAre("--set trainer.seed=1: no field 'trainer'; here may be security, replay, "
                          "learner, actor, reanalyse"));
  EXPECT_THAT(Mistakes({"learner.seed.low=1"}),
              ElementsAre("--set learner.seed.low=1: 'seed' has no fields"));
  EXPECT_THAT(Mistakes({"learner=1"}),
              ElementsAre(StartsWith("--set learner=1: one of its fields (name, ")));
  EXPECT_EQ(OverrideFromFlag("learner.seed").status().message(),
            "--set learner.seed: FIELD=VALUE expected");
}

TEST(ConfigOverrides, SayWhichElementIsMeant) {
  EXPECT_THAT(Mistakes({"replay.mode=MEMORY"}),
              ElementsAre("--set replay.mode=MEMORY: 'mode' behind 'replay': a number from 0 to 1 "
                          "expected; 1 appends an element"));
  EXPECT_THAT(Mistakes({"replay.2.mode=MEMORY"}), ElementsAre(HasSubstr("a number from 0 to 1")));
  EXPECT_THAT(Mistakes({"replay.-1.mode=MEMORY"}), ElementsAre(HasSubstr("a number from 0 to 1")));
  EXPECT_THAT(Mistakes({"replay=a"}),
              ElementsAre("--set replay=a: a number behind 'replay' expected, such as replay.0"));
  EXPECT_THAT(Mistakes({"replay.0=a"}), ElementsAre(StartsWith("--set replay.0=a: one of its")));
}

TEST(ConfigOverrides, SayWhatTheValueMayBe) {
  EXPECT_THAT(Mistakes({"learner.seed=-1"}), ElementsAre("--set learner.seed=-1: uint64 expected"));
  EXPECT_THAT(Mistakes({"learner.seed="}), ElementsAre("--set learner.seed=: uint64 expected"));
  EXPECT_THAT(Mistakes({"actor.count=1 2"}), ElementsAre("--set actor.count=1 2: uint32 expected"));
  EXPECT_THAT(Mistakes({"replay.0.eviction=NEVER"}),
              ElementsAre("--set replay.0.eviction=NEVER: one of OLDEST_FIRST, "
                          "LEAST_VALUED_FIRST expected"));
}

TEST(ConfigOverrides, AreNamedByMistakesOfMeaning) {
  EXPECT_THAT(Mistakes({"learner.searched_share=2"}),
              ElementsAre("--set learner.searched_share=2: 2 given, 0 to 1 expected"));
  // The file's mistakes come first, with their lines.
  EXPECT_THAT(
      Mistakes({"actor.games_in_flight=0", "replay.1.name=a"}),
      ElementsAre("--set replay.1.name=a: 'a' is also replay[0].name; every shard and the learner "
                  "need their own",
                  "--set replay.1.name=a: replay[1].address: missing; host:port expected, such as "
                  "127.0.0.1:7410",
                  "--set replay.1.name=a: replay[1].data_dir: /etc/replay/a is also "
                  "replay[0].data_dir; every shard needs a folder of its own",
                  "--set actor.games_in_flight=0: 0 given, 1 to 65536 expected"));
  EXPECT_THAT(
      Mistakes({"learner.address=127.0.0.1:1001", "learner.metrics_address=127.0.0.1:1001"}),
      ElementsAre("--set learner.address=127.0.0.1:1001: 127.0.0.1:1001 is taken by "
                  "replay[0].address in line 5; another port expected",
                  HasSubstr("is taken by replay[0].address in line 5")));
}

TEST(ConfigOverrides, AreNamedByMistakesOfAListThatTheyReplace) {
  const absl::Status status =
      ParseClusterConfig(kFile, "/etc/c.textproto", ConfigScope::kWithPrograms,
                         Flags({"learner.workloads=/no/such"}))
          .status();
  EXPECT_EQ(status.message(), "--set learner.workloads=/no/such: no file or folder /no/such");
}

TEST(ConfigOverrides, TextIsTakenAsItIs) {
  v1::ClusterConfig config;
  const std::string text = "a 'b' \"c\" \\n {x: 1}\n\x01é";
  ASSERT_TRUE(SetField("learner.run_dir", text, config).ok());
  EXPECT_EQ(config.learner().run_dir(), text);
}

TEST(ConfigOverrides, ComeFromTheEnvironment) {
  const char* const environment[] = {"PATH=/bin",
                                     "MALLOCMUZERO_SET_replay__10__name=k",
                                     "MALLOCMUZERO_SET_replay__2__name=c",
                                     "MALLOCMUZERO_SET_learner__run_dir=/data/run=1",
                                     "MALLOCMUZERO_BINARY=x",
                                     nullptr};
  const std::vector<ConfigOverride> overrides = OverridesFromEnvironment(environment);
  ASSERT_EQ(overrides.size(), 3);
  EXPECT_EQ(overrides[0].path, "learner.run_dir");
  EXPECT_EQ(overrides[0].value, "/data/run=1");
  EXPECT_EQ(overrides[0].source, "MALLOCMUZERO_SET_learner__run_dir=/data/run=1");
  EXPECT_EQ(overrides[1].path, "replay.2.name");
  EXPECT_EQ(overrides[2].path, "replay.10.name");
}

}  // namespace
}  // namespace mallocmuzero
