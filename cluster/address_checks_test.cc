#include "cluster/address_checks.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cluster/cluster_config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kOpen[] = "security { allow_insecure_network: true }\n";

absl::StatusOr<v1::ClusterConfig> ParseAddresses(const std::string& text) {
  return ParseClusterConfig(text, "/c", ConfigScope::kWithoutPrograms);
}

std::vector<std::string> AddressMistakes(const std::string& text) {
  const absl::Status status = ParseAddresses(text).status();
  if (status.ok()) return {};
  return absl::StrSplit(status.message(), '\n');
}

TEST(AddressChecks, ListenAddressIsTheAddressUnlessGiven) {
  const auto config = ParseAddresses(absl::StrCat(kOpen,
                                                  "replay { name: 'a' address: 'a.example:7410' }\n"
                                                  "replay { name: 'b' address: 'b.example:7410' "
                                                  "listen_address: '0.0.0.0:7410' }\n"
                                                  "learner { address: 'l.example:443' "
                                                  "listen_address: '[::]:7400' }\n"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->replay(0).listen_address(), "a.example:7410");
  EXPECT_EQ(config->replay(1).listen_address(), "0.0.0.0:7410");
  EXPECT_EQ(config->learner().address(), "l.example:443");
  EXPECT_EQ(config->learner().listen_address(), "[::]:7400");
}

TEST(AddressChecks, OnlyTheListenAddressMayBeAWildcard) {
  EXPECT_THAT(AddressMistakes(absl::StrCat(kOpen, "replay { name: 'a' address: '0.0.0.0:7410' }")),
              ElementsAre("/c:2: replay[0].address: 0.0.0.0:7410: others look for it here; the "
                          "name or address of one machine expected. listen_address may be "
                          "0.0.0.0:7410"));
}

TEST(AddressChecks, AWildcardMustBeSecured) {
  constexpr char kShard[] =
      "replay { name: 'a' address: '127.0.0.1:7410' listen_address: '0.0.0.0:7410' }";
  EXPECT_THAT(AddressMistakes(kShard),
              ElementsAre(HasSubstr("/c:1: replay[0].listen_address: address '0.0.0.0:7410' can be "
                                    "reached from other machines")));
  EXPECT_THAT(AddressMistakes(absl::StrCat(kOpen, kShard)), IsEmpty());
}

TEST(AddressChecks, MetricsThatStrangersCanReadMustBePermitted) {
  constexpr char kShard[] =
      "replay { name: 'a' address: '127.0.0.1:7410' metrics_address: '0.0.0.0:9465' }";
  EXPECT_THAT(AddressMistakes(kShard),
              ElementsAre(HasSubstr("/c:1: replay[0].metrics_address: 0.0.0.0:9465: metrics can be "
                                    "read from other machines")));
  EXPECT_THAT(AddressMistakes(absl::StrCat(kOpen, kShard)), IsEmpty());
}

TEST(AddressChecks, RefusesWhatIsNoListenAddress) {
  EXPECT_THAT(
      AddressMistakes("replay { name: 'a' address: '127.0.0.1:7410' listen_address: '7410' }"),
      ElementsAre(HasSubstr("replay[0].listen_address: '7410': host:port with a port from 1")));
}

TEST(AddressChecks, ShardsOfSeveralMachinesMayListenOnOnePort) {
  EXPECT_THAT(AddressMistakes(absl::StrCat(kOpen,
                                           "replay { name: 'a' address: 'a.example:7410' "
                                           "listen_address: '0.0.0.0:7410' }\n"
                                           "replay { name: 'b' address: 'b.example:7410' "
                                           "listen_address: '0.0.0.0:7410' }\n")),
              IsEmpty());
  // Both are on one machine, behind different ports of a proxy.
  EXPECT_THAT(AddressMistakes(absl::StrCat(kOpen,
                                           "replay { name: 'a' address: 'a.example:1' "
                                           "listen_address: '0.0.0.0:7410' }\n"
                                           "replay { name: 'b' address: 'a.example:2' "
                                           "listen_address: '0.0.0.0:7410' }\n")),
              ElementsAre("/c:3: replay[1].listen_address: a.example:7410 is taken by "
                          "replay[0].listen_address in line 2; another port expected"));
}

TEST(AddressChecks, ProcessesOfALearnerMeetOnAPortOfTheirOwn) {
  EXPECT_THAT(AddressMistakes("learner { address: '127.0.0.1:7400' processes: 2\n"
                              "rendezvous_address: '127.0.0.1:7400' }"),
              ElementsAre("/c:2: learner.rendezvous_address: 127.0.0.1:7400 is taken by "
                          "learner.address in line 1; another port expected"));
  EXPECT_THAT(AddressMistakes("learner { processes: 2 rendezvous_address: '127.0.0.1:7300' }\n"
                              "actor { count: 9 metrics_address: '127.0.0.1:7295' }"),
              ElementsAre("/c:2: actor.metrics_address: 127.0.0.1:7300 is taken by "
                          "learner.rendezvous_address in line 1; another port expected"));
}

TEST(ActorsExpected, AreThoseOfThisMachineUnlessGiven) {
  EXPECT_EQ(ParseAddresses("actor { count: 3 }")->actor().expected(), 3);
  EXPECT_EQ(ParseAddresses("actor { count: 3 expected: 1000 }")->actor().expected(), 1000);
  EXPECT_EQ(ParseAddresses("actor { count: 3 expected: 0 }")->actor().expected(), 0);
}

TEST(FolderOfTheRun, IsNoFile) {
  const absl::Status status =
      ParseClusterConfig("learner { workloads: '/'\nrun_dir: '/proc/version' }", "/c",
                         ConfigScope::kWithPrograms)
          .status();
  EXPECT_EQ(status.message(), "/c:2: learner.run_dir: /proc/version is not a folder");
}

TEST(Devices, AreOneForEachProcess) {
  EXPECT_THAT(
      AddressMistakes("learner { processes: 2 rendezvous_address: '127.0.0.1:1' devices: [0] }"),
      ElementsAre("/c:1: learner.devices: 1 given, one for each of 2 processes expected"));
  EXPECT_THAT(
      AddressMistakes("learner { processes: 2 rendezvous_address: '127.0.0.1:1' devices: [1, 0] }"),
      IsEmpty());
}

}  // namespace
}  // namespace mallocmuzero
