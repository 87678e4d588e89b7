#include "cluster/cluster_config.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/test_certificates.h"

namespace mallocmuzero {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// Gives each test a folder with a folder "programs", and the path of a file c.textproto in it.
class ClusterConfig : public testing::Test {
 protected:
  ClusterConfig() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cluster-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    std::filesystem::create_directory(folder_ + "/programs");
    path_ = folder_ + "/c.textproto";
  }
  ~ClusterConfig() override { std::filesystem::remove_all(folder_); }

  absl::StatusOr<v1::ClusterConfig> Parse(const std::string& text) const {
    return ParseClusterConfig(text, path_);
  }

  // The mistakes of the text, a line each, without the file's name.
  std::vector<std::string> Mistakes(const std::string& text) const {
    const absl::Status status = Parse(text).status();
    if (status.ok()) return {};
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    std::vector<std::string> lines;
    for (const absl::string_view line : absl::StrSplit(status.message(), '\n')) {
      EXPECT_EQ(line.substr(0, path_.size() + 1), path_ + ":");
      lines.emplace_back(line.substr(path_.size() + 1));
    }
    return lines;
  }

  std::string Write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ + "/" + name) << content;
    return folder_ + "/" + name;
  }

  std::string folder_;
  std::string path_;
};

constexpr char kLeast[] = "learner { workloads: 'programs' }\n";

TEST_F(ClusterConfig, NeedsNothingButPrograms) {
  const absl::StatusOr<v1::ClusterConfig> config = Parse(kLeast);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->learner().workloads(), ElementsAre(folder_ + "/programs"));
  EXPECT_EQ(config->learner().run_dir(), folder_ + "/run");
  EXPECT_EQ(config->learner().options().batch_size(), 256);
  EXPECT_GT(config->learner().network().latent(), 0);
  ASSERT_EQ(config->replay_size(), 1);
  EXPECT_EQ(config->replay(0).mode(), v1::ReplayShard::DURABLE);
  EXPECT_EQ(config->replay(0).data_dir(), folder_ + "/replay/replay-0");
  // The default of the shard's rate limit is that of the learner's options.
  EXPECT_EQ(config->replay(0).rate_limit().samples_per_insert(), 1);
  EXPECT_EQ(config->actor().count(), 1);
  EXPECT_EQ(config->reanalyse().count(), 0);
  EXPECT_EQ(config->actor().audit_dir(), "");
}

TEST_F(ClusterConfig, KeepsWhatTheFileSaysEvenIfItIsZero) {
  const absl::StatusOr<v1::ClusterConfig> config = Parse(R"(
    learner {
      workloads: 'programs'
      importance_exponent: 0
      options { batch_size: 64 weight_decay: 0 samples_per_insert: 2 }
    }
    replay { name: 'a' address: '127.0.0.1:1001' data_dir: '/data/a' }
    replay { name: 'b' address: '127.0.0.1:1002' rate_limit { min_positions: 0 } }
    actor { count: 0 }
  )");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->learner().importance_exponent(), 0);
  EXPECT_EQ(config->learner().options().batch_size(), 64);
  EXPECT_EQ(config->learner().options().weight_decay(), 0);
  EXPECT_GT(config->learner().options().learning_rate(), 0);
  EXPECT_EQ(config->actor().count(), 0);
  EXPECT_EQ(config->replay(0).data_dir(), "/data/a");
  EXPECT_EQ(config->replay(1).data_dir(), folder_ + "/replay/b");
  EXPECT_EQ(config->replay(1).rate_limit().min_positions(), 0);
  EXPECT_EQ(config->replay(1).rate_limit().samples_per_insert(), 2);
}

TEST_F(ClusterConfig, ReportsEveryMistakeOfTheTextWithItsLine) {
  const std::vector<std::string> mistakes = Mistakes(
      "learner {\n"
      "  workloads: 'programs'\n"
      "  adress: '127.0.0.1:1'\n"
      "  publish_updates: many\n"
      "  options { batch_sise: 3 }\n"
      "}\n"
      "replay {\n"
      "  name: 'a'\n"
      "  address: '127.0.0.1:1001'\n"
      "  mode: FOREVER\n"
      "  max_bytes: -5\n"
      "}\n");
  ASSERT_EQ(mistakes.size(), 5) << absl::StrJoin(mistakes, "\n");
  EXPECT_EQ(mistakes[0], "3: adress: no such field; address is one");
  EXPECT_THAT(mistakes[1], StartsWith("4: publish_updates: "));
  EXPECT_EQ(mistakes[2], "5: batch_sise: no such field; batch_size is one");
  EXPECT_EQ(mistakes[3],
            "10: mode: 'FOREVER' given, one of MEMORY, DURABLE, DURABLE_SYNC expected");
  EXPECT_THAT(mistakes[4], StartsWith("11: max_bytes: "));
}

TEST_F(ClusterConfig, ReportsTextAndMeaningTogether) {
  const std::vector<std::string> mistakes = Mistakes(
      "learner {\n"
      "  searched_share: 2\n"
      "  nonsense_of_some_length: 1\n"
      "}\n"
      "actor {\n"
      "  games_in_flight: 0\n"
      "  device: 'tpu'\n"
      "}\n"
      "reanalyse { device: 'gpu' }\n");
  ASSERT_EQ(mistakes.size(), 6) << absl::StrJoin(mistakes, "\n");
  EXPECT_EQ(mistakes[0],
            "1: learner.workloads: missing; a program or a folder of programs expected");
  EXPECT_EQ(mistakes[1], "2: learner.searched_share: 2 given, 0 to 1 expected");
  EXPECT_THAT(mistakes[2],
              StartsWith("3: nonsense_of_some_length: no such field; here may be name"));
  EXPECT_EQ(mistakes[3], "6: actor.games_in_flight: 0 given, 1 to 65536 expected");
  EXPECT_EQ(mistakes[4], "7: actor.device: 'tpu' given, 'cpu' or 'cuda' expected");
  EXPECT_EQ(mistakes[5], "9: reanalyse.device: 'gpu' given, 'cpu' or 'cuda' expected");
}

TEST_F(ClusterConfig, SaysWhichNamesAFieldInALineWithBracesMayHave) {
  EXPECT_THAT(Mistakes("replay { name: 'a' address: '127.0.0.1:1' eviction: FIFO }\n"),
              ElementsAre("1: eviction: 'FIFO' given, one of OLDEST_FIRST, LEAST_VALUED_FIRST "
                          "expected"));
}

TEST_F(ClusterConfig, EndsAtAMistakeOfStructure) {
  EXPECT_THAT(Mistakes("learner {\n  workloads: 'programs'\n"),
              ElementsAre("3: the file ends within a section: '}' expected"));
  EXPECT_THAT(Mistakes("learner {\n  name: \n  publish_updates: 5\n  workloads: 'programs'\n}\n"),
              ElementsAre(StartsWith("2: name: ")));
  EXPECT_THAT(Mistakes("}\n"), ElementsAre(StartsWith("1: ")));
}

TEST_F(ClusterConfig, NamesAndAddressesAreUnique) {
  const std::vector<std::string> mistakes = Mistakes(
      "learner { workloads: 'programs' metrics_address: 'localhost:1001' }\n"
      "replay { name: 'a' address: '127.0.0.1:1001' }\n"
      "replay { name: 'a' address: '127.0.0.1:7400' data_dir: 'replay/a' }\n"
      "replay { name: 'learner' address: '127.0.0.1:1003' metrics_address: '127.0.0.1:9001' }\n"
      "actor { count: 4 metrics_address: '127.0.0.1:8999' }\n");
  EXPECT_THAT(
      mistakes,
      ElementsAre(
          "1: learner.name: 'learner' is also replay[2].name; every shard and the learner "
          "need their own",
          "1: learner.address: 127.0.0.1:7400 is taken by replay[1].address in line 3; "
          "another port expected",
          "1: learner.metrics_address: localhost:1001 is taken by replay[0].address in line "
          "2; another port expected",
          StartsWith("3: replay[1].name: 'a' is also replay[0].name"),
          StartsWith("3: replay[1].data_dir: "),
          "5: actor.metrics_address: 127.0.0.1:9001 is taken by replay[2].metrics_address "
          "in line 4; another port expected"));
}

TEST_F(ClusterConfig, MachinesMayServeMetricsOnTheSamePort) {
  const auto config = [](const std::string& second) {
    return absl::StrCat(
        "learner { workloads: 'programs' address: 'c:1' metrics_address: '0.0.0.0:9' }\n"
        "replay { name: 'a' address: 'a:1' metrics_address: '0.0.0.0:9' }\n"
        "replay { name: 'b' address: '",
        second,
        "' metrics_address: '0.0.0.0:9' }\n"
        "actor { count: 2 metrics_address: '0.0.0.0:8' }\n"
        "security { allow_insecure_network: true }");
  };
  EXPECT_THAT(Mistakes(config("b:1")), IsEmpty());
  EXPECT_THAT(Mistakes(config("a:2")),
              ElementsAre(HasSubstr("a:9 is taken by replay[0].metrics_address")));
}

TEST_F(ClusterConfig, ExamplesAreRight) {
  const std::string examples = MALLOCMUZERO_SOURCE_DIR "/deploy/cluster/";
  const TestCertificates certificates = MakeTestCertificates();
  const std::pair<std::string, std::string> secrets[] = {
      {"ca.pem", Write("ca.pem", certificates.ca)},
      {"certificate.pem", Write("certificate.pem", certificates.certificate)},
      {"key.pem", Write("key.pem", certificates.key)},
      {"token", Write("token", "0123456789abcdef")}};
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(examples)) {
    if (!entry.is_regular_file()) continue;  // `up` has written its logs there
    std::ifstream file(entry.path());
    std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    for (const auto& [name, path] : secrets) {
      text = absl::StrReplaceAll(text, {{absl::StrCat("/etc/mallocmuzero/", name), path}});
    }
    const bool one_machine = entry.path().filename() == "one-machine.textproto";
    const absl::Status status =
        ParseClusterConfig(text, entry.path().string(),
                           one_machine ? ConfigScope::kWithPrograms : ConfigScope::kWithoutPrograms)
            .status();
    EXPECT_TRUE(status.ok()) << status;
    ++count;
  }
  EXPECT_EQ(count, 2);
}

TEST_F(ClusterConfig, WithoutSearchThereIsNothingToSearchAgain) {
  const std::string config =
      "learner { workloads: 'programs' search { simulations: 0 } }\n"
      "replay { name: 'a' address: '127.0.0.1:1' data_dir: 'a' }\n";
  EXPECT_THAT(Mistakes(config), IsEmpty());
  EXPECT_THAT(Mistakes(config + "reanalyse { count: 2 }"),
              ElementsAre("3: reanalyse.count: 2 given, 0 expected: with "
                          "learner.search.simulations 0 no game can be searched again"));
}

TEST_F(ClusterConfig, AddressesAreHostAndPort) {
  for (const char* address : {"localhost", ":1", "h:0", "h:65536", "h:-1", "h: 1", "a b:1", "[::1]",
                              "::1:1", "h:1x", "http://h:1"}) {
    EXPECT_THAT(Mistakes(absl::StrCat(kLeast, "replay { name: 'a' address: '", address, "' }")),
                ElementsAre(HasSubstr("host:port")))
        << address;
  }
  for (const char* address : {"localhost:1", "127.0.0.1:65535", "[::1]:80"}) {
    EXPECT_THAT(Mistakes(absl::StrCat(kLeast, "replay { name: 'a' address: '", address, "' }")),
                IsEmpty())
        << address;
  }
  EXPECT_THAT(Mistakes(absl::StrCat(kLeast, "replay { name: 'a' address: '0.0.0.0:5' }")),
              ElementsAre(HasSubstr("others look for it here")));
  EXPECT_THAT(
      Mistakes(absl::StrCat(kLeast, "replay { }")),
      ElementsAre(HasSubstr("replay[0].name: missing"), HasSubstr("replay[0].address: missing")));
  EXPECT_THAT(
      Mistakes(absl::StrCat(kLeast, "actor { count: 3 metrics_address: '127.0.0.1:65534' }")),
      ElementsAre(HasSubstr("65535 is the last one")));
}

TEST_F(ClusterConfig, WhatOthersCanReachIsSecured) {
  const std::string open = absl::StrCat(kLeast, "replay { name: 'a' address: '10.0.0.7:1001' }\n");
  EXPECT_THAT(Mistakes(open), ElementsAre(StartsWith("2: replay[0].address: ")));
  EXPECT_THAT(Mistakes(open + "security { allow_insecure_network: true }"), IsEmpty());
  Write("token", "0123456789abcdef\n");
  EXPECT_THAT(Mistakes(open + "security { token_file: 'token' }"),
              ElementsAre(HasSubstr("clear text")));
  EXPECT_THAT(Mistakes(open + "security { token_file: 'token' allow_clear_text_token: true }"),
              IsEmpty());
  Write("short", "0123\n");
  EXPECT_THAT(Mistakes(open + "security { token_file: 'short' }"),
              ElementsAre(StartsWith("3: security.token_file: ")));
}

TEST_F(ClusterConfig, TlsIsThreeFilesOrNone) {
  Write("ca.pem", "x");
  EXPECT_THAT(Mistakes(absl::StrCat(kLeast, "security {\n  ca_file: 'ca.pem'\n}")),
              ElementsAre(StartsWith("2: security.certificate_file: missing; TLS needs"),
                          StartsWith("2: security.key_file: missing; TLS needs")));
  EXPECT_THAT(
      Mistakes(absl::StrCat(kLeast,
                            "security {\n  ca_file: 'ca.pem'\n  certificate_file: 'c.pem'\n"
                            "  key_file: 'ca.pem'\n}")),
      ElementsAre(absl::StrCat("4: security.certificate_file: no file ", folder_, "/c.pem")));
  EXPECT_THAT(Mistakes(absl::StrCat(kLeast,
                                    "security {\n  ca_file: 'ca.pem'\n  certificate_file: 'ca.pem'"
                                    "\n  key_file: 'ca.pem'\n}")),
              ElementsAre(HasSubstr("security.ca_file: ")));
}

TEST_F(ClusterConfig, LimitersThatWouldBlockForEverAreRefused) {
  const auto shard = [](const std::string& limit) {
    return absl::StrCat(kLeast,
                        "replay { name: 'a' address: '127.0.0.1:1001' max_positions: 500\n"
                        "  rate_limit { ",
                        limit, " } }");
  };
  // The default of min_positions, 1,000, exceeds this shard's size too.
  EXPECT_THAT(Mistakes(shard("")),
              ElementsAre(HasSubstr("rate_limit.min_positions: 1000, but no more")));
  EXPECT_THAT(Mistakes(shard("min_positions: 500")), IsEmpty());
  EXPECT_THAT(Mistakes(shard("min_positions: 501")),
              ElementsAre(StartsWith("3: replay[0].rate_limit")));
  EXPECT_THAT(Mistakes(shard("min_positions: 5 error_buffer: 0")),
              ElementsAre(HasSubstr("rate_limit.error_buffer: 0, must be 1")));
  EXPECT_THAT(Mistakes(shard("min_positions: 501 error_buffer: nan")),
              ElementsAre(HasSubstr("min_positions: 501"), HasSubstr("error_buffer: nan")));
  EXPECT_THAT(Mistakes(shard("min_positions: 5 samples_per_insert: 0 error_buffer: 0")), IsEmpty());
  EXPECT_THAT(Mistakes(shard("min_positions: 5 samples_per_insert: nan")),
              ElementsAre(HasSubstr("samples_per_insert: nan, must be")));
}

TEST_F(ClusterConfig, SectionsMustFitEachOther) {
  const std::string shard = "replay { name: 'a' address: '127.0.0.1:1001' ";
  EXPECT_THAT(Mistakes(absl::StrCat(kLeast, shard, "best_games: 0 }")),
              ElementsAre(HasSubstr("learner.options.best_share")));
  EXPECT_THAT(Mistakes(absl::StrCat("learner { workloads: 'programs' options { best_share: 0 } }\n",
                                    shard, "best_games: 0 }")),
              IsEmpty());
  EXPECT_THAT(Mistakes(absl::StrCat(kLeast, shard, "remember_evicted_seconds: 59 }")),
              ElementsAre(HasSubstr("60 to ")));
  EXPECT_THAT(Mistakes("learner { workloads: 'programs' processes: 2 }"),
              ElementsAre(HasSubstr("learner.rendezvous_address: ")));
  EXPECT_THAT(Mistakes("learner { workloads: 'programs' processes: 3\n options { batch_size: 256 }"
                       " rendezvous_address: '10.0.0.7:1' }"),
              ElementsAre("2: learner.options.batch_size: 256 given, a multiple of "
                          "learner.processes (3) expected",
                          StartsWith("2: learner.rendezvous_address: ")));
  EXPECT_THAT(Mistakes(absl::StrCat(kLeast, "actor { spool_bytes: 4294967296 }")),
              ElementsAre(HasSubstr("actor.spool_bytes: 4294967296 given, 1048576 to ")));
  EXPECT_THAT(Mistakes("learner { workloads: 'programs' network { heads: 1000000 } }"),
              ElementsAre(StartsWith("1: learner.network: ")));
  EXPECT_THAT(Mistakes("learner { workloads: 'programs' network { actions: 4 } }"),
              ElementsAre(HasSubstr("actions is 4, must be 3")));
  EXPECT_THAT(
      Mistakes("learner { workloads: 'programs' from: 'nowhere' network { heads: 4 } }"),
      ElementsAre(HasSubstr("learner.network: none expected besides from"), HasSubstr("/nowhere")));
  EXPECT_THAT(Mistakes("learner { workloads: 'programs' from: 'programs' }"), IsEmpty());
  std::filesystem::create_directories(folder_ + "/run/checkpoints");  // of a run that goes on
  for (const char* file : {"run/config.textproto", "run/checkpoints/latest"}) Write(file, "");
  EXPECT_THAT(Mistakes("learner { workloads: 'programs' from: 'nowhere' }"), IsEmpty());
  EXPECT_THAT(Mistakes("learner { workloads: 'programs' search { kind: KIND_UNSPECIFIED } }"),
              ElementsAre("1: learner.search.kind: GUMBEL or PUCT expected"));
  EXPECT_THAT(Mistakes("learner { workloads: 'programs' options { unroll_steps: 0 "
                       "consistency_weight: 1 } }"),
              ElementsAre(HasSubstr("consistency_weight: 0 expected")));
  EXPECT_THAT(Mistakes("learner { workloads: 'programs'\n options { td_steps: 2147483647 } }"),
              ElementsAre("2: learner.options.td_steps: 2147483647 given, 0 to 1048576 expected"));
  EXPECT_THAT(Mistakes("learner { workloads: 'programs' options { value_target: RANKED } }"),
              ElementsAre(HasSubstr("network.resolution: 4 or more")));
  EXPECT_THAT(Mistakes("learner { workloads: 'programs' options { value_target: RANKED "
                       "ranked_quantile: 1 } network { limit: 0.25 resolution: 4 } }"),
              ElementsAre(HasSubstr("ranked_quantile: a share above 0")));
  EXPECT_THAT(Mistakes("learner { workloads: 'programs' options { value_target: RANKED } "
                       "network { limit: 0.25 resolution: 4 } }"),
              IsEmpty());
}

TEST_F(ClusterConfig, EveryFieldIsInTheDocumentation) {
  std::ifstream file(MALLOCMUZERO_SOURCE_DIR "/docs/operations.md");
  const std::string manual{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const google::protobuf::Descriptor* root = v1::ClusterConfig::descriptor();
  for (int i = 0; i < root->field_count(); ++i) {
    const google::protobuf::Descriptor* section = root->field(i)->message_type();
    EXPECT_THAT(manual, HasSubstr(absl::StrCat("\n### ", root->field(i)->name())));
    for (int j = 0; j < section->field_count(); ++j) {
      const std::string& name = section->field(j)->name();
      // The fields of rate_limit have rows of their own.
      EXPECT_THAT(manual, HasSubstr(name == "rate_limit" ? "`rate_limit." : "`" + name + "`"));
    }
  }
}

TEST_F(ClusterConfig, OnlyTheLearnerNeedsThePrograms) {
  const std::string text = "learner { workloads: 'programs' workloads: 'others' }";
  EXPECT_THAT(
      Mistakes(text),
      ElementsAre(absl::StrCat("1: learner.workloads[1]: no file or folder ", folder_, "/others")));
  EXPECT_TRUE(ParseClusterConfig(text, path_, ConfigScope::kWithoutPrograms).ok());
}

TEST_F(ClusterConfig, HostileTextIsRefused) {
  EXPECT_EQ(Parse(std::string(2 << 20, ' ')).status().code(), absl::StatusCode::kInvalidArgument);
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "learner{";
  EXPECT_EQ(Parse(deep).status().code(), absl::StatusCode::kInvalidArgument);
  std::string wrong;
  for (int i = 0; i < 1000; ++i) wrong += "actor: 1\n";
  EXPECT_EQ(Parse(wrong).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadClusterConfig(folder_ + "/none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadClusterConfig(folder_).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mallocmuzero
