// The launch under Slurm: the site file, the template of the configuration, and the scripts.

#include "cluster/slurm_launch.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "cluster/cluster_config.h"
#include "cluster/config_template.h"
#include "cluster/slurm_site.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "rpc/security.h"
#include "rpc/test_certificates.h"

namespace mallocmuzero {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kConfig[] = R"(
security { token_file: "token" allow_clear_text_token: true }
replay { name: "a" address: "h:7410" metrics_address: "h:9465" }
replay { name: "b" address: "h:7411" }
learner {
  address: "h:7400"
  workloads: "."
  evaluated_share: 0
  processes: 2
  rendezvous_address: "h:7300"
}
actor { count: 3 }
reanalyse { count: 1 }
)";

class SlurmLaunchTest : public testing::Test {
 protected:
  SlurmLaunchTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "slurm-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    std::ofstream(folder_ + "/token") << "sixteen characters or more\n";
    chmod((folder_ + "/token").c_str(), 0600);
  }
  ~SlurmLaunchTest() override { std::filesystem::remove_all(folder_); }

  absl::StatusOr<v1::ClusterConfig> Config(const std::string& text) const {
    return ParseClusterConfig(text, folder_ + "/c.textproto");
  }

  absl::StatusOr<v1::SlurmSite> Site(const std::string& text) const {
    return ParseSlurmSite(text, folder_ + "/site.textproto");
  }

  std::string MistakesOfSite(const std::string& text) const {
    return std::string(Site(text).status().message());
  }

  absl::StatusOr<SlurmLaunch> Launch(const std::string& config, const std::string& site) const {
    const v1::ClusterConfig parsed = Config(config).value();
    const std::shared_ptr<const Security> security = Security::Load(parsed.security(), "/").value();
    return MakeSlurmLaunch(parsed, Site(site).value(), *security, "/opt/it's/mallocmuzero",
                           "/opt/slurm/bin");
  }

  static std::string TextOf(const SlurmLaunch& launch, const std::string& name) {
    for (const SlurmLaunch::File& file : launch.files) {
      if (std::filesystem::path(file.path).filename() == name) return file.text;
    }
    ADD_FAILURE() << "no file " << name;
    return "";
  }

  std::string folder_;
};

TEST_F(SlurmLaunchTest, TemplateWithAddressesIsTheConfiguration) {
  const v1::ClusterConfig config = Config(kConfig).value();
  const std::string text = absl::StrReplaceAll(ConfigTemplate(config, true, "/shared"),
                                               {{"%address:a%", "h:7410"},
                                                {"%address:b%", "h:7411"},
                                                {"%address:learner%", "h:7400"},
                                                {"%address:rendezvous%", "h:7300"},
                                                {"%metrics:a%", "h:9465"},
                                                {"%spool%", folder_ + "/spool"},
                                                {"%local%/shards", folder_ + "/replay"}});
  EXPECT_THAT(text, Not(HasSubstr("%")));
  const absl::StatusOr<v1::ClusterConfig> read = Config(text);
  ASSERT_TRUE(read.ok()) << read.status();
  std::string difference;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differencer.Compare(config, *read)) << difference;
}

TEST_F(SlurmLaunchTest, TemplateKeepsZerosThatDifferFromTheDefault) {
  EXPECT_THAT(ConfigTemplate(Config(kConfig).value(), true, "/shared"),
              HasSubstr("evaluated_share: 0\n"));
}

TEST_F(SlurmLaunchTest, TemplateOfSharedShardsHasTheirSharedFolder) {
  EXPECT_THAT(ConfigTemplate(Config(kConfig).value(), false, "/shared"),
              HasSubstr("data_dir: \"/shared/shards/b/data\""));
}

TEST_F(SlurmLaunchTest, ServersAreOneHeterogeneousJob) {
  const std::string text = TextOf(
      Launch(kConfig, "replay { partition: 'cpu' } learner { partition: 'gpu' gpus: 4 }").value(),
      "servers.sbatch");
  const size_t separator = text.find("\n#SBATCH hetjob\n");
  ASSERT_NE(separator, std::string::npos);
  const std::string shards = text.substr(0, separator);
  const std::string learner = text.substr(separator);
  EXPECT_THAT(shards, HasSubstr("#SBATCH --ntasks=2\n"));
  EXPECT_THAT(shards, HasSubstr("#SBATCH --partition=cpu\n"));
  EXPECT_THAT(shards, Not(HasSubstr("gpus")));
  EXPECT_THAT(learner, HasSubstr("#SBATCH --gpus-per-task=4\n"));
  EXPECT_THAT(learner, HasSubstr("#SBATCH --partition=gpu\n"));
}

TEST_F(SlurmLaunchTest, ActorsAndReanalysersAreOneArray) {
  EXPECT_THAT(TextOf(Launch(kConfig, "").value(), "actors.sbatch"),
              HasSubstr("#SBATCH --array=0-3\n"));
}

TEST_F(SlurmLaunchTest, NoActorsMakeNoArray) {
  const std::string config = absl::StrReplaceAll(
      kConfig, {{"actor { count: 3 }", "actor { count: 0 }"}, {"reanalyse { count: 1 }", ""}});
  EXPECT_EQ(Launch(config, "").value().actors_script, "");
}

TEST_F(SlurmLaunchTest, ScriptsHaveNoMarksLeftAndQuoteTheExecutable) {
  const SlurmLaunch launch = Launch(kConfig, "setup: 'module load cuda'").value();
  for (const char* name : {"servers.sbatch", "actors.sbatch", "common.sh"}) {
    EXPECT_THAT(TextOf(launch, name), Not(testing::ContainsRegex("@[A-Z_]+@"))) << name;
  }
  const std::string common = TextOf(launch, "common.sh");
  EXPECT_THAT(common, HasSubstr(R"(mallocmuzero=('/opt/it'\''s/mallocmuzero'))"));
  EXPECT_THAT(common, HasSubstr("shards=(a b)"));
  EXPECT_THAT(common, HasSubstr("shard_metrics_ports=(9465 '')"));
  EXPECT_THAT(common, HasSubstr("slurm_commands='/opt/slurm/bin' "));
  EXPECT_THAT(common, HasSubstr("\n  module load cuda\n"));
}

TEST_F(SlurmLaunchTest, AdministratorsHaveATokenAlsoIfTheConfigurationNamesNone) {
  const SlurmLaunch launch = Launch(kConfig, "").value();
  EXPECT_EQ(launch.admin_token, folder_ + "/slurm/launch/admin-token");
  EXPECT_THAT(TextOf(launch, "cluster.textproto.in"),
              HasSubstr(absl::StrCat("admin_token_file: \"", launch.admin_token, "\"\n")));
  const std::string named = absl::StrReplaceAll(
      kConfig, {{"token_file: \"token\"", "token_file: \"token\" admin_token_file: \"token\""}});
  const SlurmLaunch other = Launch(named, "").value();
  EXPECT_EQ(other.admin_token, "");
  EXPECT_THAT(TextOf(other, "cluster.textproto.in"),
              HasSubstr(absl::StrCat("admin_token_file: \"", folder_, "/token\"\n")));
}

TEST_F(SlurmLaunchTest, SecretsThatOthersMayReadAreRefused) {
  chmod((folder_ + "/token").c_str(), 0640);
  const absl::Status status = Launch(kConfig, "").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("security.token_file: " + folder_ + "/token has mode 640"));
}

TEST_F(SlurmLaunchTest, ConfigurationWithoutSecurityIsRefused) {
  // On loopback addresses it is valid, but roles on Slurm listen on the addresses of their nodes.
  EXPECT_FALSE(Launch("learner { workloads: '.' }", "").ok());
}

// Metrics are served without TLS, and roles on Slurm serve them on the addresses of their nodes.
TEST_F(SlurmLaunchTest, MetricsThatOthersMayReadAreRefused) {
  const TestCertificates certificates = MakeTestCertificates();
  std::ofstream(folder_ + "/ca.pem") << certificates.ca;
  std::ofstream(folder_ + "/cert.pem") << certificates.certificate;
  std::ofstream(folder_ + "/key.pem") << certificates.key;
  chmod((folder_ + "/key.pem").c_str(), 0600);
  constexpr char kWithTls[] =
      "security { ca_file: 'ca.pem' certificate_file: 'cert.pem' key_file: 'key.pem' }\n"
      "replay { name: 'a' address: 'h:7410' $0 }\n"
      "learner { address: 'h:7400' workloads: '.' $1 }\n"
      "actor { count: 1 }\n";
  EXPECT_EQ(Launch(absl::Substitute(kWithTls, "", ""), "").status(), absl::OkStatus());
  for (const std::string& config :
       {absl::Substitute(kWithTls, "metrics_address: '127.0.0.1:9465'", ""),
        absl::Substitute(kWithTls, "", "metrics_address: '127.0.0.1:9465'")}) {
    EXPECT_THAT(std::string(Launch(config, "").status().message()),
                HasSubstr("metrics can be read from other machines"))
        << config;
  }
}

TEST_F(SlurmLaunchTest, ShardWithTheNameOfAnotherRoleIsRefused) {
  EXPECT_THAT(std::string(Launch("security { allow_insecure_network: true } replay { name: 'actor' "
                                 "address: 'h:1' } learner { workloads: '.' }",
                                 "")
                              .status()
                              .message()),
              HasSubstr("'actor' is the name of another role"));
}

TEST_F(SlurmLaunchTest, SharedFolderOfTheSiteIsRelativeToItsFile) {
  EXPECT_EQ(Site("shared_dir: 'x'")->shared_dir(), folder_ + "/x");
  EXPECT_EQ(Site("")->shared_dir(), folder_ + "/slurm");
}

TEST_F(SlurmLaunchTest, SiteKeepsValuesThatAreGivenAsZero) {
  const v1::SlurmSite site = Site("copy_seconds: 0 learner { gpus: 0 }").value();
  EXPECT_EQ(site.copy_seconds(), 0);
  EXPECT_EQ(site.learner().gpus(), 0);
  EXPECT_EQ(site.learner().cpus(), 4);
}

TEST_F(SlurmLaunchTest, TextsThatAShellWouldInterpretAreRefused) {
  EXPECT_THAT(MistakesOfSite("shared_dir: '/a b'"), HasSubstr(":1: shared_dir: '/a b': a path"));
  EXPECT_THAT(MistakesOfSite("name: 'a;b'"), HasSubstr("name: 'a;b'"));
  EXPECT_THAT(MistakesOfSite("local_dir: '/$(id)'"), HasSubstr("local_dir: '/$(id)'"));
  EXPECT_THAT(MistakesOfSite("time_limit: '1;2'"), HasSubstr("time_limit: '1;2'"));
  EXPECT_THAT(MistakesOfSite("actor { partition: 'a b' }"), HasSubstr("actor.partition: 'a b'"));
  EXPECT_THAT(MistakesOfSite("actor { options: 'x' }"), HasSubstr("actor.options[0]: 'x'"));
  EXPECT_THAT(MistakesOfSite("setup: 'a\\nb'"), HasSubstr("setup[0]: one line expected"));
}

TEST_F(SlurmLaunchTest, LocalFolderMayHaveVariables) {
  EXPECT_EQ(Site("local_dir: '/local/${USER}'")->local_dir(), "/local/${USER}");
  EXPECT_EQ(Site("local_dir: '$SCRATCH/x'")->local_dir(), "$SCRATCH/x");
}

TEST_F(SlurmLaunchTest, ALocalFolderThatDependsOnTheWorkingDirectoryIsRefused) {
  for (const char* relative : {"disk", "./disk", "~/disk"}) {
    EXPECT_THAT(MistakesOfSite(absl::StrCat("local_dir: '", relative, "'")),
                HasSubstr(absl::StrCat(":1: local_dir: '", relative,
                                       "': a path from / or from a "
                                       "variable expected, such as /local/$USER")));
  }
}

}  // namespace
}  // namespace mallocmuzero
