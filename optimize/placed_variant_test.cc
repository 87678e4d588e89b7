#include "optimize/placed_variant.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/enums.h"
#include "base/file_io.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/hardware.h"
#include "simulator/place/place.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {
namespace {

using testing::HasSubstr;

constexpr char kProgram[] = "graph_attention_3x256_b32x256";
constexpr int64_t kMebibyte = 1 << 20;

TEST(ExcessBytes, IsReadFromTheCompilersMessage) {
  EXPECT_EQ(ExcessBytes("Used 140.26M of 127.94M vmem. Exceeded vmem capacity by 12.50M.\n\nTotal"),
            12 * kMebibyte + kMebibyte / 2);
  EXPECT_EQ(ExcessBytes("Exceeded cmem capacity by 512.0K."), 512 * 1024);
  EXPECT_EQ(ExcessBytes("Exceeded vmem capacity by 1.0G."), 1024 * kMebibyte);
  EXPECT_EQ(ExcessBytes("Exceeded vmem capacity by 17B."), 17);
  EXPECT_EQ(ExcessBytes("Exceeded hbm capacity by 2.70G.\nExceeded vmem capacity by 1.0K."), 1024);
}

TEST(ExcessBytes, IsNoneInOtherMessages) {
  EXPECT_EQ(ExcessBytes("Exceeded vmem capacity by"), 0);
  EXPECT_EQ(ExcessBytes("Exceeded vmem capacity by some."), 0);
  EXPECT_EQ(ExcessBytes("Exceeded hbm capacity by 2.70G."), 0);
  EXPECT_EQ(ExcessBytes("Exceeded smem capacity by 1.0K."), 0);
  EXPECT_EQ(ExcessBytes("RET_CHECK failure"), 0);
  EXPECT_EQ(ExcessBytes(""), 0);
}

class PlacedVariantTest : public testing::Test {
 protected:
  PlacedVariantTest() {
    request_.hardware = *LoadHardware("tpu_v6e");
    request_.chip = *FindCompilerChip("tpu_v6e");
    request_.folder = testing::TempDir();
    request_.solve_time = absl::Milliseconds(200);
    request_.threads = 1;
    module_ = *place::LoadModule(all_hbm_);
  }

  PlacedVariant Variant() const { return *PlacedVariant::Create(request_, all_hbm_, default_, 0); }

  // A variant in which an instruction claims all of the memory, and more: the sum of the two
  // numbers has more than 63 bits.
  PlacedVariant VariantWithoutMemory() {
    xla::HloComputationProto& entry = *module_.mutable_computations()->rbegin();
    entry.mutable_instructions(0)->set_backend_config(
        R"({"used_scoped_memory_configs":[{"memory_space":"1","offset":"9223372036854775807","size":"9223372036854775807"}]})");
    const std::string path = absl::StrCat(request_.folder, "/greedy.pb");
    EXPECT_TRUE(WriteFileAtomically(path, module_.SerializeAsString()).ok());
    return *PlacedVariant::Create(request_, path, default_, 0);
  }

  // The compiler's answer to a placed module, with estimates; here they are those of the original.
  v1::CompiledProgram Compiled(const PlacedProposal& proposal) const {
    absl::flat_hash_map<std::string, std::string> config_of;
    for (const xla::HloComputationProto& computation : module_.computations()) {
      for (const xla::HloInstructionProto& instruction : computation.instructions()) {
        config_of[instruction.name()] = instruction.backend_config();
      }
    }
    xla::HloModuleProto placed;
    EXPECT_TRUE(placed.ParseFromString(proposal.module));
    for (xla::HloComputationProto& computation : *placed.mutable_computations()) {
      for (xla::HloInstructionProto& instruction : *computation.mutable_instructions()) {
        const auto config = config_of.find(instruction.name());
        if (config != config_of.end()) instruction.set_backend_config(config->second);
      }
    }
    v1::CompiledProgram compiled;
    compiled.set_module(placed.SerializeAsString());
    return compiled;
  }

  static v1::CompiledProgram Refused(const std::string& why) {
    v1::CompiledProgram compiled;
    compiled.set_error_code(Underlying(absl::StatusCode::kResourceExhausted));
    compiled.set_error(why);
    return compiled;
  }

  const std::string all_hbm_ =
      absl::StrCat(MALLOCMUZERO_SOURCE_DIR, "/tests/data/place/tpu_v6e.", kProgram, ".pb.zst");
  const std::string default_ = absl::StrCat(MALLOCMUZERO_SOURCE_DIR, "/workloads/captures/tpu_v6e/",
                                            kProgram, "/default.hlo.zst");
  PlacedSearchRequest request_;
  xla::HloModuleProto module_;
};

TEST_F(PlacedVariantTest, HasTheMemoryThatInstructionsLeave) {
  const Program program = *Variant().Import();
  EXPECT_GT(program.hardware().fast_memory_bytes(), request_.hardware.fast_memory_bytes());
  EXPECT_LT(program.hardware().fast_memory_bytes(), 128 * kMebibyte);
}

TEST_F(PlacedVariantTest, HasNoMemoryIfAnInstructionClaimsMoreThanThereIs) {
  EXPECT_EQ(VariantWithoutMemory().Import()->hardware().fast_memory_bytes(),
            request_.hardware.fast_memory_alignment_bytes());
}

TEST_F(PlacedVariantTest, SamplesNeedNoMemory) {
  const absl::StatusOr<PlacedProposal> sample = VariantWithoutMemory().ProposeSample(1);
  EXPECT_TRUE(sample.ok()) << sample.status();
}

TEST_F(PlacedVariantTest, ARefusalTakesNoMemoryBelowTheAlignment) {
  PlacedVariant variant = VariantWithoutMemory();
  PlacedProposal proposal{*variant.Import(), {}, {}, {}};
  ASSERT_TRUE(variant.Learn(Refused("Exceeded vmem capacity by 1.00M."), proposal).ok());
  const absl::StatusOr<Program> next = variant.Import();
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->hardware().fast_memory_bytes(), request_.hardware.fast_memory_alignment_bytes());
}

TEST_F(PlacedVariantTest, LearnsTheCyclesOfWhatWasCompiled) {
  PlacedVariant variant = Variant();
  PlacedProposal proposal = *variant.Propose(3);
  EXPECT_EQ(proposal.round.error(), "");
  EXPECT_GT(proposal.round.packed_bytes(), 0);
  ASSERT_TRUE(variant.Learn(Compiled(proposal), proposal).ok());
  EXPECT_EQ(proposal.round.number(), 3);
  EXPECT_EQ(proposal.round.accesses_elsewhere(), 0);
  ASSERT_TRUE(proposal.round.has_compiled_cycles());
  EXPECT_EQ(variant.best_cycles(), proposal.round.compiled_cycles());
  EXPECT_FALSE(variant.is_exhausted());
}

TEST_F(PlacedVariantTest, IsExhaustedWhenRoundsBringNothing) {
  PlacedVariant variant = Variant();
  int rounds = 0;
  for (; !variant.is_exhausted() && rounds < 10; ++rounds) {
    PlacedProposal proposal = *variant.Propose(1);
    ASSERT_TRUE(variant.Learn(Compiled(proposal), proposal).ok());
  }
  EXPECT_GE(rounds, 3);
  EXPECT_LE(rounds, 6);
}

TEST_F(PlacedVariantTest, AMappingThatDoesNotFitMakesTheNextOneSmaller) {
  PlacedVariant variant = Variant();
  PlacedProposal first = *variant.Propose(1);
  ASSERT_LE(first.round.packed_bytes(), first.round.fast_memory_bytes());
  ASSERT_TRUE(variant.Learn(Refused("Exceeded vmem capacity by 4.00M."), first).ok());
  EXPECT_THAT(first.round.error(), HasSubstr("Exceeded vmem capacity"));
  EXPECT_FALSE(first.round.has_compiled_cycles());
  const PlacedProposal second = *variant.Propose(2);
  EXPECT_LE(second.round.fast_memory_bytes(), first.round.fast_memory_bytes() - 4 * kMebibyte);
  EXPECT_GE(second.round.fast_memory_bytes(), first.round.fast_memory_bytes() - 5 * kMebibyte);
}

TEST_F(PlacedVariantTest, ALargeExcessTakesASixteenthOfTheMemoryAtMost) {
  PlacedVariant variant = Variant();
  PlacedProposal first = *variant.Propose(1);
  ASSERT_TRUE(variant.Learn(Refused("Exceeded vmem capacity by 64.00M."), first).ok());
  const PlacedProposal second = *variant.Propose(2);
  EXPECT_LT(second.round.fast_memory_bytes(), first.round.fast_memory_bytes() * 0.94);
  EXPECT_GT(second.round.fast_memory_bytes(), first.round.fast_memory_bytes() * 0.93);
}

TEST_F(PlacedVariantTest, IsExhaustedWhenTheCompilerRefusesEverything) {
  PlacedVariant variant = Variant();
  int rounds = 0;
  for (; !variant.is_exhausted() && rounds < 10; ++rounds) {
    PlacedProposal proposal = *variant.Propose(1);
    ASSERT_TRUE(variant.Learn(Refused("RET_CHECK failure"), proposal).ok());
  }
  EXPECT_EQ(rounds, 4);
  EXPECT_FALSE(variant.best_cycles().has_value());
}

TEST_F(PlacedVariantTest, SamplesAreRandomPlacementsThatFit) {
  PlacedVariant variant = Variant();
  const PlacedProposal first = *variant.ProposeSample(1);
  const PlacedProposal second = *variant.ProposeSample(2);
  EXPECT_TRUE(first.round.is_sample());
  EXPECT_EQ(first.round.error(), "");
  EXPECT_NE(first.mapping.in_fast_memory, second.mapping.in_fast_memory);
  EXPECT_EQ(first.mapping.in_fast_memory, variant.ProposeSample(1)->mapping.in_fast_memory);
  EXPECT_TRUE(Validate(first.program, first.mapping).empty());
  EXPECT_NE(std::count(first.mapping.in_fast_memory.begin(), first.mapping.in_fast_memory.end(), 1),
            0);
}

TEST_F(PlacedVariantTest, ARefusedSampleChangesNothing) {
  PlacedVariant variant = Variant();
  PlacedProposal sample = *variant.ProposeSample(1);
  const double memory = sample.round.fast_memory_bytes();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(variant.Learn(Refused("Exceeded vmem capacity by 20.00M."), sample).ok());
  }
  EXPECT_FALSE(variant.is_exhausted());
  EXPECT_EQ(variant.Propose(2)->round.fast_memory_bytes(), memory);
}

TEST_F(PlacedVariantTest, ACompiledSampleIsACandidateAndInTheTable) {
  PlacedVariant variant = Variant();
  PlacedProposal sample = *variant.ProposeSample(1);
  ASSERT_TRUE(variant.Learn(Compiled(sample), sample).ok());
  EXPECT_EQ(variant.best_cycles(), sample.round.compiled_cycles());
  const Program again = *variant.Import();
  EXPECT_EQ(again.proto().calibration().placements_size(),
            sample.program.proto().calibration().placements_size() + 1);
}

TEST_F(PlacedVariantTest, PlacedModulesOfAnEarlierSearchAreInTheTable) {
  PlacedVariant variant = Variant();
  PlacedProposal proposal = *variant.Propose(7);
  const int before = proposal.program.proto().calibration().placements_size();
  ASSERT_TRUE(variant.Learn(Compiled(proposal), proposal).ok());
  request_.placed_paths = {absl::StrCat(request_.folder, "/placed_7.pb")};
  const PlacedVariant next = Variant();
  EXPECT_EQ(next.Import()->proto().calibration().placements_size(), before + 1);
  EXPECT_FALSE(next.best_cycles().has_value());
}

TEST_F(PlacedVariantTest, SamplesAreInTheTableWithoutADefault) {
  request_.sample_paths = {default_};
  const absl::StatusOr<Program> program =
      PlacedVariant::Create(request_, all_hbm_, "", 0)->Import();
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(program->proto().matches_size(), 1);
  EXPECT_EQ(program->baseline(), nullptr);
}

// Instructions have other estimates there.
TEST_F(PlacedVariantTest, SamplesAreNotInTheTableOfAnotherLimit) {
  request_.sample_paths = {default_};
  const auto matches = [&](int64_t limit_bytes) {
    return PlacedVariant::Create(request_, all_hbm_, default_, limit_bytes)
        ->Import()
        ->proto()
        .matches_size();
  };
  EXPECT_EQ(matches(0), 2);
  EXPECT_EQ(matches(48 * kMebibyte), 1);
}

TEST_F(PlacedVariantTest, AModuleWithoutEstimatesIsAnError) {
  PlacedVariant variant = Variant();
  PlacedProposal proposal = *variant.Propose(1);
  v1::CompiledProgram compiled;
  compiled.set_module(proposal.module);
  const absl::Status status = variant.Learn(compiled, proposal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the compiler gave no estimates"));
}

TEST_F(PlacedVariantTest, AFileThatIsNoModuleIsRefused) {
  EXPECT_FALSE(PlacedVariant::Create(request_, "/nowhere.pb", "", 0).ok());
}

}  // namespace
}  // namespace mallocmuzero
