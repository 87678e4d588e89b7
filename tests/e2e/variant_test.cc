// Programs with other sizes of fast memory, and how a network plays them, through the binary.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using Arguments = std::vector<std::string>;

class Variant : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(RunMallocmuzero(ImportArguments("gpt_small", program_)).exit_code, 0);
  }

  RunResult MakeVariant(const std::string& share) const {
    return RunMallocmuzero(
        {"variant", "--program", program_, "--fast-memory", share, "--output", variant_});
  }

  // Cycles of the greedy solver's mapping.
  double GreedyCycles(const std::string& program) const {
    const RunResult found = RunMallocmuzero({"map", "--program", program, "--solver", "greedy",
                                             "--output", folder_.Path("m.mapping"), "--json"});
    EXPECT_EQ(found.exit_code, 0) << found.err;
    return json::parse(found.out)["total_cycles"];
  }

  const TemporaryFolder folder_;
  const std::string program_ = folder_.Path("p.program");
  const std::string variant_ = folder_.Path("v.program");
};

TEST_F(Variant, WithLessFastMemoryTheProgramIsSlower) {
  const RunResult made = MakeVariant("0.01");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("1.3 MiB of fast memory instead of 128.0"));
  EXPECT_GT(GreedyCycles(variant_), GreedyCycles(program_));
}

TEST_F(Variant, NamesASmallFastMemoryInItsUnit) {
  const RunResult made = MakeVariant("0.001");
  EXPECT_THAT(made.out, HasSubstr("128.0 KiB of fast memory instead of 128.0 MiB")) << made.err;
}

TEST_F(Variant, RefusesWhatIsNoSize) {
  for (const char* share : {"0", "-1", "nan", "inf", "much", "1e-12"}) {
    SCOPED_TRACE(share);
    ExpectOneErrorLine(MakeVariant(share), "--fast-memory");
  }
}

TEST_F(Variant, HasAsManyLayersAsAskedFor) {
  // A program of 7 layers.
  const std::string seven =
      std::string(MALLOCMUZERO_SOURCE_DIR) + "/workloads/tpu_v4i/gpt_7x512_train_b4x256.program";
  const Arguments make = {"variant",     "--program", seven,    "--from-layers", "7",
                          "--to-layers", "9",         "--name", "gpt_9",         "--output"};
  Arguments plain = make;
  plain.push_back(variant_);
  const RunResult made = RunMallocmuzero(plain);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  // 454 instructions, and 58 for each further layer.
  EXPECT_THAT(made.out, HasSubstr("gpt_9: 570 instructions"));
  EXPECT_LT(GreedyCycles(seven), GreedyCycles(variant_));

  Arguments small = make;
  small.insert(small.end(), {folder_.Path("small.program"), "--fast-memory", "0.25"});
  const RunResult made_small = RunMallocmuzero(small);
  ASSERT_EQ(made_small.exit_code, 0) << made_small.err;
  EXPECT_THAT(made_small.out, HasSubstr("32.0 MiB of fast memory instead of 128.0"));
  EXPECT_LT(GreedyCycles(variant_), GreedyCycles(folder_.Path("small.program")));
}

TEST_F(Variant, RefusesAProgramWithoutLayers) {
  const std::string no_layers = folder_.Path("dlrm.program");
  ASSERT_EQ(RunMallocmuzero(ImportArguments("dlrm", no_layers)).exit_code, 0);
  ExpectOneErrorLine(RunMallocmuzero({"variant", "--program", no_layers, "--from-layers", "2",
                                      "--to-layers", "4", "--output", variant_}),
                     "--to-layers: dlrm");
}

TEST_F(Variant, NeedsSomethingToChange) {
  ExpectOneErrorLine(RunMallocmuzero({"variant", "--program", program_, "--output", variant_}),
                     "expected --fast-memory, --to-layers or both");
}

class BenchPlay : public Variant {
 protected:
  RunResult Play(Arguments more) const {
    Arguments arguments = {"bench", "play", "--program", program_, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunMallocmuzero(arguments);
  }
};

TEST_F(BenchPlay, PlaysEachProgramWithEachSizeOfFastMemory) {
  const RunResult played = Play({"--fast-memory", "0.25,1", "--simulations", "2"});
  ASSERT_EQ(played.exit_code, 0) << played.err;
  const json report = json::parse(played.out);
  ASSERT_EQ(report["programs"].size(), 2);
  EXPECT_EQ(report["programs"][0]["hardware"], "tpu_v4i_25pct");
  EXPECT_EQ(report["programs"][1]["hardware"], "tpu_v4i");
  EXPECT_FALSE(report["programs"][0].contains("default_cycles"));
  for (const json& program : report["programs"]) {
    EXPECT_GT(program["decisions"], 0);
    EXPECT_LT(program["total_cycles"], program["all_hbm_cycles"]);
  }
  const double greedy = report["programs"][1]["greedy_cycles"];
  EXPECT_NEAR(greedy / GreedyCycles(program_), 1, 1e-9);
}

TEST_F(BenchPlay, TheSameWeightsPlayTheSameGame) {
  const auto cycles = [&](const Arguments& more) -> double {
    return json::parse(Play(more).out)["programs"][0]["total_cycles"];
  };
  EXPECT_EQ(cycles({"--simulations", "0"}), cycles({"--simulations", "0"}));
  EXPECT_EQ(cycles({"--seed", "3"}), cycles({"--seed", "3"}));
}

TEST_F(BenchPlay, RefusesWhatIsNoCheckpoint) {
  const RunResult result = Play({"--checkpoint", program_});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("p.program"));
  EXPECT_EQ(RunMallocmuzero({"bench", "play"}).exit_code, 2);
}

}  // namespace
}  // namespace mallocmuzero::e2e
