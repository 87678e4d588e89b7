// Adds a shard to a running cluster and removes another one, through the binary, while actors play
// and the learner learns. Counts the acknowledged games.

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "rpc/testing/await.h"
#include "rpc/testing/free_port.h"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using mallocmuzero::testing::Await;
using mallocmuzero::testing::FreePort;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Members : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(RunMallocmuzero(ImportArguments("gpt_small", folder_.Path("p.program"))).exit_code,
              0);
  }

  // Writes a configuration with the sections of these shards.
  std::string WriteConfig(const std::string& file, const std::vector<std::string>& shards) {
    std::string text;
    for (const std::string& shard : shards) {
      uint16_t& port = ports_[shard];
      if (port == 0) port = FreePort();
      absl::StrAppend(&text, "replay { name: '", shard, "' address: '127.0.0.1:", port,
                      "' max_positions: 1000000 rate_limit { min_positions: 100 } }\n");
    }
    absl::StrAppend(&text,
                    "learner {\n  workloads: 'p.program'\n  address: '127.0.0.1:", learner_port_,
                    "'\n  publish_updates: 1 checkpoint_seconds: 1\n"
                    "  search { simulations: 2 } options { batch_size: 16 unroll_steps: 2 }\n}\n"
                    "actor { count: 2 games_in_flight: 2 audit_dir: 'audit' }\n");
    // The supervisor reads the file again when it has changed, and must not see a part of it.
    const std::string path = folder_.Path(file);
    std::filesystem::rename(folder_.Write(file + ".new", text), path);
    return path;
  }

  json Status(const std::string& config) const {
    return json::parse(RunMallocmuzero({"status", "--config", config, "--json"}).out);
  }

  double Figure(const std::string& config, const std::string& role, const std::string& name) const {
    const json status = Status(config);
    for (const json& one : status["roles"]) {
      if (one.value("name", "") == role && one.contains("figures")) {
        return one["figures"].value(name, 0.0);
      }
    }
    return 0;
  }

  // Waits until the learner makes updates again.
  bool Learns(const std::string& config) const {
    const double before = Figure(config, "learner", "step");
    return Await([&] { return Figure(config, "learner", "step") >= before + 3; });
  }

  // The ids of all games that a shard has acknowledged, of the actors whose name has `actor` in it.
  std::set<std::string> Acknowledged(const std::string& actor = "") const {
    std::set<std::string> ids;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.Path("audit"))) {
      if (entry.path().filename().string().find(actor) == std::string::npos) continue;
      std::ifstream file(entry.path());
      // The actor may be writing the last one.
      for (std::string id; file >> id;) {
        if (id.size() == 32) ids.insert(id);
      }
    }
    return ids;
  }

  // Expects that each acknowledged game is in one shard of the configuration.
  void ExpectEachGameOnce(const std::string& config) const {
    // Games that are acknowledged later are not looked for.
    std::set<std::string> acknowledged;
    ASSERT_TRUE(Await([&] {
      acknowledged = Acknowledged();
      return acknowledged.size() > 10;
    }));
    std::map<std::string, int> stored;
    std::set<std::string> known;
    const RunResult list = RunMallocmuzero({"replay", "--config", config, "--list-ids"});
    EXPECT_EQ(list.exit_code, 0) << list.err;
    const std::vector<std::string> lines = absl::StrSplit(list.out, '\n', absl::SkipEmpty());
    for (const std::string& line : lines) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ');
      ASSERT_EQ(words.size(), 2);
      known.insert(words[1]);
      if (words[0] == "stored") ++stored[words[1]];
    }
    std::set<std::string> lost;
    for (const std::string& id : acknowledged) {
      if (known.count(id) == 0) lost.insert(id);
    }
    EXPECT_THAT(lost, IsEmpty());
    for (const auto& [id, times] : stored) EXPECT_EQ(times, 1) << id;
  }

  const TemporaryFolder folder_;
  const uint16_t learner_port_ = FreePort();
  std::map<std::string, uint16_t> ports_;
};

TEST_F(Members, AThirdShardComesAndTheFirstOneGoes) {
  const std::string config = WriteConfig("c.textproto", {"a", "b"});
  const std::string old = WriteConfig("old.textproto", {"a", "b"});
  RunningMallocmuzero up({"up", "--config", config, "--status-every", "500ms"});
  ASSERT_TRUE(up.WaitForLine("5 of 5 processes, 0 restarts; step 2"));
  // The supervisor starts the third shard alone.
  WriteConfig("c.textproto", {"a", "b", "c"});
  ASSERT_TRUE(up.WaitForLine("I up: c: started"));
  ASSERT_TRUE(up.WaitForLine("c: listens on"));
  const RunResult added = RunMallocmuzero({"shards", "--config", config, "--add", "c"});
  EXPECT_EQ(added.exit_code, 0) << added.err;
  EXPECT_TRUE(Await([&] { return Figure(config, "c", "inserted_items") > 0; }));
  EXPECT_TRUE(Learns(config));

  const RunResult removed = RunMallocmuzero({"shards", "--config", config, "--remove", "a"});
  EXPECT_EQ(removed.exit_code, 0) << removed.err;
  EXPECT_THAT(removed.err, HasSubstr("games and 0 ids of evicted games moved"));
  WriteConfig("c.textproto", {"b", "c"});
  EXPECT_TRUE(Learns(config));
  ExpectEachGameOnce(config);
  EXPECT_EQ(Status(config)["roles"].size(), 3);

  // The supervisor stops the shard that has left.
  EXPECT_TRUE(Await(
      [&] { return ReadAll(folder_.Path("logs/a.log")).find("stopped in") != std::string::npos; }));
  // The shard stays away, even if it is started with the configuration of then.
  RunningMallocmuzero left({"replay", "--config", old, "--shard", "a"});
  ASSERT_TRUE(left.WaitForLine("was removed from the cluster"));
  // An actor with that configuration is corrected, and so is a learner.
  RunningMallocmuzero actor({"actor", "--config", old, "--index", "7"});
  EXPECT_TRUE(Await([&] { return Acknowledged("actor-7").size() > 2; }));
  actor.Signal(SIGTERM);
  EXPECT_EQ(actor.Wait().exit_code, 0);
  ExpectEachGameOnce(config);

  up.Signal(SIGTERM);
  EXPECT_EQ(up.Wait().exit_code, 0);
}

TEST_F(Members, AnInterruptedRemovalGoesOn) {
  const std::string config = WriteConfig("c.textproto", {"a", "b"});
  RunningMallocmuzero b({"replay", "--config", config, "--shard", "b"});
  ASSERT_TRUE(b.WaitForLine("listens on"));
  RunningMallocmuzero learner({"learner", "--config", config});
  ASSERT_TRUE(learner.WaitForLine("listens on"));
  // Shard a does not run.
  const RunResult stopped = RunMallocmuzero({"shards", "--config", config, "--remove", "a"});
  EXPECT_EQ(stopped.exit_code, 1);
  EXPECT_THAT(stopped.err, HasSubstr("stays in the state leaving: run the command again"));
  const auto state = [&] {
    const RunResult list = RunMallocmuzero({"shards", "--config", config, "--json"});
    return json::parse(list.out)["shards"][0].value("state", "");
  };
  EXPECT_EQ(state(), "LEAVING");
  learner.Signal(SIGKILL);
  learner.Wait();
  RunningMallocmuzero again({"learner", "--config", config});
  ASSERT_TRUE(again.WaitForLine("listens on"));
  EXPECT_EQ(state(), "LEAVING");
  RunningMallocmuzero a({"replay", "--config", config, "--shard", "a"});
  ASSERT_TRUE(a.WaitForLine("listens on"));
  const RunResult removed = RunMallocmuzero({"shards", "--config", config, "--remove", "a"});
  EXPECT_EQ(removed.exit_code, 0) << removed.err;
  EXPECT_EQ(state(), "LEFT");
  // The last shard cannot leave.
  const RunResult last = RunMallocmuzero({"shards", "--config", config, "--remove", "b", "--lost"});
  EXPECT_EQ(last.exit_code, 2);
  EXPECT_THAT(last.err, HasSubstr("the only one of the cluster"));
}

}  // namespace
}  // namespace mallocmuzero::e2e
