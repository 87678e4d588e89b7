// Imports programs of eight devices under tests/data/hlo_sharded, and one with a Pallas kernel. The
// compiler gives none of their collectives an estimate, and none of the kernels.

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/hardware.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/core/simulate.h"
#include "simulator/import/analysis/price_module.h"
#include "simulator/import/import.h"
#include "simulator/import/read_back.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr double kMiB = 1 << 20;

struct Sharded {
  const char* name;
  const char* chip;
};

ImportOptions OptionsFor(const Sharded& sharded) {
  const std::string folder =
      absl::StrCat(MALLOCMUZERO_SOURCE_DIR "/tests/data/hlo_sharded/", sharded.name);
  ImportOptions options{.all_hbm_path = folder + "/all_hbm.hlo.zst",
                        .default_path = folder + "/default.hlo.zst",
                        .program_name = sharded.name};
  const std::string sample = folder + "/sample_0.hlo.zst";
  if (std::filesystem::exists(sample)) options.sample_paths.push_back(sample);
  return options;
}

Program Import(const Sharded& sharded) {
  absl::StatusOr<v1::Program> proto =
      ImportProgram(OptionsFor(sharded), *LoadHardware(sharded.chip));
  EXPECT_TRUE(proto.ok()) << proto.status();
  absl::StatusOr<Program> program = Program::FromProto(*std::move(proto));
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

v1::PriceReport PriceOf(const std::string& path, const char* chip) {
  const absl::StatusOr<v1::PriceReport> report = PriceModule(path, *LoadHardware(chip));
  EXPECT_TRUE(report.ok()) << report.status();
  return report.value_or(v1::PriceReport());
}

double AllHbmCycles(const Program& program, const std::string& name) {
  for (const InstructionIndex i : program.instructions().indices()) {
    if (program.MessageOf(i).name() == name) return program.latency().Cycles(i, 0);
  }
  ADD_FAILURE() << "no instruction " << name;
  return 0;
}

class ShardedImport : public ::testing::TestWithParam<Sharded> {};

TEST_P(ShardedImport, PricesOfProgramAndModulesAgree) {
  const Program program = Import(GetParam());
  const ImportOptions options = OptionsFor(GetParam());
  const v1::PriceReport all_hbm = PriceOf(options.all_hbm_path, GetParam().chip);
  EXPECT_NEAR(SimulateAllHbm(program).total_cycles, all_hbm.total_cycles(),
              1e-9 * all_hbm.total_cycles());
  EXPECT_DOUBLE_EQ(program.baseline()->compiled_cycles,
                   PriceOf(options.default_path, GetParam().chip).total_cycles());
  EXPECT_THAT(program.proto().unknown_opcodes(), IsEmpty());
}

TEST_P(ShardedImport, TheDefaultsMappingIsValid) {
  const Program program = Import(GetParam());
  const absl::StatusOr<Mapping> mapping = BaselineMapping(program);
  ASSERT_TRUE(mapping.ok()) << mapping.status();
  for (const Violation& violation : Validate(program, *mapping)) {
    ADD_FAILURE() << std::string(RuleName(violation.rule)) << ": " << violation.message;
  }
}

TEST_P(ShardedImport, TheDefaultIsReadBackAsItself) {
  const Program program = Import(GetParam());
  const absl::StatusOr<ModuleReader> reader = ModuleReader::Create(program);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const absl::StatusOr<ReadBack> read_back = reader->Read(OptionsFor(GetParam()).default_path);
  ASSERT_TRUE(read_back.ok()) << read_back.status();
  EXPECT_EQ(read_back->mapping.in_fast_memory, program.baseline()->mapping.in_fast_memory);
  const Mapping wanted = *BaselineMapping(program);
  EXPECT_EQ(MakeReadBackReport(program, *read_back, &wanted).followed_share(), 1);
}

INSTANTIATE_TEST_SUITE_P(Programs, ShardedImport,
                         ::testing::Values(Sharded{"ring", "tpu_v6e"}, Sharded{"fsdp", "tpu_v5e"},
                                           Sharded{"flash_attention", "tpu_v6e"}),
                         [](const auto& test) { return std::string(test.param.name); });

// Eight v6e chips, whose links carry 102.857143 bytes a cycle.
TEST(ShardedProgram, SynchronousCollectivesTakeTheTimeOfTheLinks) {
  const Program ring = Import({"ring", "tpu_v6e"});
  // 2 MiB, of which each device keeps an eighth. A transfer passes 2 links on average.
  EXPECT_NEAR(AllHbmCycles(ring, "all_to_all.10"), 2 * 2 * kMiB / 102.857143, 1);
  // 16 MiB are gathered.
  EXPECT_NEAR(AllHbmCycles(ring, "all_gather.3"), 7. / 8 * 16 * kMiB / 102.857143, 1);
}

TEST(ShardedProgram, AnAsynchronousPermuteIsInFlightBehindInstructions) {
  const Program ring = Import({"ring", "tpu_v6e"});
  ASSERT_EQ(ring.proto().collectives_size(), 1);
  const v1::Collective& permute = ring.proto().collectives(0);
  EXPECT_EQ(permute.name(), "collective-permute-start");
  EXPECT_NEAR(permute.cycles(), 2 * 2 * kMiB / 102.857143, 1);
  EXPECT_LT(permute.start(), permute.done());
  // An all-gather runs between, which takes longer.
  EXPECT_EQ(SimulateAllHbm(ring).collective_stall_cycles, 0);
}

// The default has all arrays of the collectives in fast memory while they are in flight.
TEST(ShardedProgram, TheDefaultHasArraysInFlightInFastMemory) {
  for (const Sharded& sharded : {Sharded{"ring", "tpu_v6e"}, Sharded{"fsdp", "tpu_v5e"}}) {
    const Program program = Import(sharded);
    const Mapping& mapping = program.baseline()->mapping;
    EXPECT_THAT(program.flights(), SizeIs(2 * program.proto().collectives_size()));
    for (const Flight& flight : program.flights()) {
      EXPECT_FALSE(program.buffers()[flight.buffer].pinned_to_hbm);
      for (const AccessIndex a : program.AccessesOfBuffer(flight.buffer)) {
        EXPECT_EQ(mapping.in_fast_memory[a], 1) << sharded.name << " " << a;
      }
    }
    for (const std::string& note : program.proto().notes()) {
      EXPECT_THAT(note, Not(HasSubstr("asynchronous collectives")));
    }
    for (const std::string& note : program.proto().baseline().notes()) {
      EXPECT_THAT(note, Not(HasSubstr("in flight")));
    }
  }
}

// Three all-gathers of weights, each a chain of fusions, on v5e chips with links of 60 bytes a
// cycle.
TEST(ShardedProgram, ChainsOfFusionsAreAsynchronousCollectives) {
  const Program fsdp = Import({"fsdp", "tpu_v5e"});
  std::vector<double> cycles;
  for (const v1::Collective& gather : fsdp.proto().collectives()) {
    EXPECT_TRUE(absl::StartsWith(gather.name(), "async-collective-start")) << gather.name();
    EXPECT_LT(gather.start(), gather.done());
    cycles.push_back(gather.cycles());
  }
  // Weights of 512 x 512, 512 x 2048 and 2048 x 512 in two bytes.
  EXPECT_THAT(cycles, ElementsAre(DoubleNear(7. / 8 * 0.5 * kMiB / 60, 1),
                                  DoubleNear(7. / 8 * 2 * kMiB / 60, 1),
                                  DoubleNear(7. / 8 * 2 * kMiB / 60, 1)));
  for (const InstructionIndex i : fsdp.instructions().indices()) {
    if (!absl::StartsWith(fsdp.MessageOf(i).name(), "async-collective-")) continue;
    EXPECT_EQ(fsdp.latency().Cycles(i, 0), 0) << fsdp.MessageOf(i).name();
    for (const Access& access : fsdp.AccessesOfInstruction(i)) {
      EXPECT_FALSE(fsdp.FlightsOf(access.buffer).empty());
    }
  }
}

TEST(ShardedProgram, AKernelIsBoundByTheFlopsThatItStates) {
  const Program flash = Import({"flash_attention", "tpu_v6e"});
  // The kernel states 17,314,086,912 flops. Its four arrays of 8 MiB take 35,800 cycles in HBM.
  EXPECT_NEAR(AllHbmCycles(flash, "flash_attention.1"), 4 * 8 * kMiB / 937.142857, 1);
  for (const InstructionIndex i : flash.instructions().indices()) {
    if (flash.MessageOf(i).name() != "flash_attention.1") continue;
    const uint64_t all = AllAccesses(flash.instructions()[i]);
    EXPECT_NEAR(flash.latency().Cycles(i, all), 17314086912 / 524571.429, 1);
  }
  EXPECT_THAT(flash.proto().collectives(), IsEmpty());
}

TEST(ShardedProgram, OnlyProgramsWithCollectivesKnowTheLinks) {
  EXPECT_EQ(Import({"flash_attention", "tpu_v6e"}).hardware().link_bytes_per_cycle(), 0);
  EXPECT_GT(Import({"ring", "tpu_v6e"}).hardware().link_bytes_per_cycle(), 0);
}

}  // namespace
}  // namespace mallocmuzero
