#include "env/observation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/index_matching.h"
#include "env/observation_scale.h"
#include "env/testing/games.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using namespace observation;  // NOLINT(google-build-using-namespace): names of features only

using enum Action;
using ::testing::Each;
using testing::EverythingMatters;
using testing::ProgramBuilder;
using testing::Read;
using testing::Write;

using Row = std::vector<float>;

Row Observe(ObservationWriter& writer, const Game& game,
            const ShownIncumbent* incumbent = nullptr) {
  Row row(kObservationSize, std::numeric_limits<float>::quiet_NaN());
  writer.Write(game, absl::MakeSpan(row), incumbent);
  return row;
}

Row Observe(const Game& game, const ShownIncumbent* incumbent = nullptr) {
  const ObservationTables tables(game.rules());
  ObservationWriter writer(tables);
  return Observe(writer, game, incumbent);
}

float Memory(const Row& row, MemoryChannel channel, int32_t time_offset, size_t bin) {
  const auto* const found = std::find(kTimeOffsets, kTimeOffsets + kTimes, time_offset);
  const size_t time = found - kTimeOffsets;
  return row[kMemoryOffset + (channel * kTimes + time) * kAddressBins + bin];
}
float Bandwidth(const Row& row, size_t span, BandwidthFeature feature) {
  return row[kBandwidthOffset + span * kBandwidthFeatures + feature];
}
float Incumbent(const Row& row, IncumbentFeature feature) {
  return row[kIncumbentOffset + feature];
}
float Decision(const Row& row, DecisionFeature feature) { return row[kDecisionOffset + feature]; }
float AccessAt(const Row& row, size_t place, AccessFeature feature) {
  return row[kAccessesOffset + place * kAccessFeatures + feature];
}
float ProgramFact(const Row& row, ProgramFeature feature) { return row[kProgramOffset + feature]; }

TEST(ObservationSpec, NamesEveryNumberOfTheRow) {
  const v1::ObservationSpec spec = MakeObservationSpec();
  EXPECT_EQ(spec.version(), kObservationVersion);
  EXPECT_EQ(spec.size(), kObservationSize);
  uint32_t offset = 0;
  for (const v1::ObservationSpec::Block& block : spec.blocks()) {
    EXPECT_EQ(block.offset(), offset) << block.name();
    uint32_t size = 1;
    for (const uint32_t dimension : block.shape()) size *= dimension;
    offset += size;
    if (block.features_size() == 0) continue;
    const int named = block.name() == "memory" ? 0 : block.shape_size() - 1;
    EXPECT_EQ(block.features_size(), block.shape(named)) << block.name();
    for (const std::string& feature : block.features()) EXPECT_FALSE(feature.empty());
  }
  EXPECT_EQ(offset, kObservationSize);
  EXPECT_EQ(spec.blocks(4).features(kHbmPending), "hbm_pending");
  EXPECT_EQ(spec.blocks(4).features(kKeepSpan), "keep_span");
  EXPECT_EQ(spec.blocks(7).features(kFillTime), "fill_time");
}

// Half of the fast memory is read at 1 and at 3; all in HBM takes 400 cycles, and instructions 0
// and 2 leave 1000 bytes each. Sizes and rates are `scale` times those.
Program TwoReads(int64_t scale = 1) {
  v1::Hardware hardware = testing::SmallHardware();
  hardware.set_fast_memory_bytes(1024 * scale);
  hardware.set_fast_memory_alignment_bytes(16 * scale);
  for (const auto& [get, set] :
       {std::pair(&v1::Hardware::hbm_bytes_per_cycle, &v1::Hardware::set_hbm_bytes_per_cycle),
        std::pair(&v1::Hardware::fast_memory_read_bytes_per_cycle,
                  &v1::Hardware::set_fast_memory_read_bytes_per_cycle),
        std::pair(&v1::Hardware::fast_memory_write_bytes_per_cycle,
                  &v1::Hardware::set_fast_memory_write_bytes_per_cycle),
        std::pair(&v1::Hardware::flops_per_cycle, &v1::Hardware::set_flops_per_cycle)}) {
    (hardware.*set)((hardware.*get)() * static_cast<double>(scale));
  }
  ProgramBuilder builder(hardware);
  builder.AddBuffer(512 * scale, {.live_in = true});
  builder.AddInstruction(100);
  builder.AddInstruction(100, {Read(0, 20)});
  builder.AddInstruction(100);
  builder.AddInstruction(100, {Read(0, 10)});
  return builder.Build();
}

TEST(Observation, ShowsTheAccessToDecide) {
  const Program program = TwoReads();
  const ProgramRules rules = EverythingMatters(program);
  const Row row = Observe(Game(rules));
  EXPECT_EQ(Decision(row, kMayCopy), 1);
  EXPECT_EQ(Decision(row, kMayNotCopy), 0);
  EXPECT_EQ(Decision(row, kMayDrop), 1);
  EXPECT_EQ(Decision(row, kCopyHasStart), 1);
  EXPECT_FLOAT_EQ(Decision(row, kCopyDistance), 1.0 / 16);  // log2(1 + 1)
  const double twentieth = std::log2(1 + std::exp2(28) / 20) / 28;
  EXPECT_FLOAT_EQ(Decision(row, kSavingNow), twentieth);  // 20 of 400 cycles
  EXPECT_EQ(AccessAt(row, 0, kIsRead), 1);
  EXPECT_EQ(AccessAt(row, 0, kBytesLinear), 0.5);
  EXPECT_FLOAT_EQ(AccessAt(row, 0, kBytes), std::log2(1 + 32768) / 20);
  EXPECT_EQ(AccessAt(row, 0, kTraffic), 1);
  EXPECT_FLOAT_EQ(AccessAt(row, 0, kSaving), twentieth);
  EXPECT_FLOAT_EQ(AccessAt(row, 0, kSavingLater), std::log2(1 + std::exp2(28) / 40) / 28);
  EXPECT_FLOAT_EQ(AccessAt(row, 0, kUntilNext), std::log2(3) / 16);
  EXPECT_FLOAT_EQ(AccessAt(row, 0, kRemaining), 0.1);  // log2(1 + 1) / 10
  EXPECT_EQ(AccessAt(row, 0, kIsFirst), 1);
  EXPECT_EQ(AccessAt(row, 0, kIsLast), 0);
  // From the program's start on 1000 bytes are left for 512.
  EXPECT_FLOAT_EQ(AccessAt(row, 0, kGapBefore), 1000.0 / 1512);
  EXPECT_EQ(AccessAt(row, 0, kInFastMemory), 0);
  EXPECT_EQ(AccessAt(row, 0, kHbmCurrent), 1);
  EXPECT_EQ(AccessAt(row, 0, kAhead), 0);
}

TEST(Observation, ShowsTheAccessesToCome) {
  const Program program = TwoReads();
  const ProgramRules rules = EverythingMatters(program);
  const Row row = Observe(Game(rules));
  EXPECT_EQ(AccessAt(row, 1, kIsThere), 1);
  EXPECT_FLOAT_EQ(AccessAt(row, 1, kAhead), std::log2(3) / 16);
  EXPECT_EQ(AccessAt(row, 1, kSameBuffer), 1);
  EXPECT_EQ(AccessAt(row, 1, kSameInstruction), 0);
  EXPECT_EQ(AccessAt(row, 1, kIsLast), 1);
  for (size_t place = 2; place <= kWindow; ++place) {
    EXPECT_THAT(
        absl::MakeSpan(row).subspan(kAccessesOffset + place * kAccessFeatures, kAccessFeatures),
        Each(0));
  }
}

TEST(Observation, ShowsTheMemoryAroundNow) {
  const Program program = TwoReads();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  const Row before = Observe(game);
  for (const size_t bin : {0, 15, 16, 31}) {
    EXPECT_EQ(Memory(before, kTaken, -2, bin), 1);  // there is no instruction before 0
    EXPECT_EQ(Memory(before, kTaken, -1, bin), 0);
    EXPECT_EQ(Memory(before, kTaken, 0, bin), 0);
    EXPECT_EQ(Memory(before, kHeld, 0, bin), 0);
  }
  game.Apply(kCopy);  // the lower half is taken up to 1, its value is used again now, at 3
  const Row after = Observe(game);
  for (const size_t bin : {0, 15}) {
    EXPECT_EQ(Memory(after, kTaken, -2, bin), 1);
    EXPECT_EQ(Memory(after, kTaken, -1, bin), 0);
    EXPECT_EQ(Memory(after, kHeld, -2, bin), 0);
    EXPECT_EQ(Memory(after, kHeld, -1, bin), 1);
    EXPECT_EQ(Memory(after, kHeld, 0, bin), 1);
    EXPECT_EQ(Memory(after, kHeld, 1, bin), 0);
  }
  for (const size_t bin : {16, 31}) {
    EXPECT_EQ(Memory(after, kTaken, -4, bin), 1);
    EXPECT_EQ(Memory(after, kTaken, -2, bin), 0);
    EXPECT_EQ(Memory(after, kHeld, 0, bin), 0);
  }
  EXPECT_EQ(AccessAt(after, 0, kInFastMemory), 1);
  EXPECT_EQ(Decision(after, kLastWasFast), 1);
}

TEST(Observation, ShowsABinThatIsTakenInPart) {
  ProgramBuilder builder;  // bins of 32 bytes
  builder.AddBuffer(48, {.live_in = true});
  builder.AddInstruction(10);
  builder.AddInstruction(10, {Read(0, 2)});
  builder.AddInstruction(10, {Read(0, 2)});
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kCopy);
  const Row row = Observe(game);  // at 2, taken up to 1
  EXPECT_EQ(Memory(row, kTaken, -1, 0), 1);
  EXPECT_EQ(Memory(row, kTaken, -1, 1), 0.5);
  EXPECT_EQ(Memory(row, kTaken, -1, 2), 0);
}

TEST(Observation, ShowsTheBandwidthAroundNow) {
  const Program program = TwoReads();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kDrop);  // at 3: instruction 2 left 1000 bytes, 1 reading HBM 488, 0 again 1000
  const Row row = Observe(game);
  EXPECT_FLOAT_EQ(Bandwidth(row, 0, kFitsBefore), 1000.0 / 1512);
  EXPECT_FLOAT_EQ(Bandwidth(row, 1, kFitsBefore), 1488.0 / 2000);
  EXPECT_FLOAT_EQ(Bandwidth(row, 2, kFitsBefore), 2488.0 / 3000);  // four: only three are there
  EXPECT_FLOAT_EQ(Bandwidth(row, 0, kSpareBefore), std::log2(1 + 1000.0 / 1024 * 65536) / 20);
  EXPECT_EQ(Bandwidth(row, 0, kBusyBefore), 0);
  EXPECT_FLOAT_EQ(Bandwidth(row, 0, kFitsAfter), 488.0 / 1000);
}

TEST(Observation, ShowsWhatWasDoneLast) {
  const Program program = TwoReads();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  const Row before = Observe(game);
  EXPECT_THAT(absl::MakeSpan(before).subspan(kActionsOffset, kRecentOffset - kActionsOffset),
              Each(0));
  game.Apply(kCopy);
  const Row row = Observe(game);
  EXPECT_EQ(row[kActionsOffset + 0], 1);
  EXPECT_EQ(row[kActionsOffset + 1], 0);
  EXPECT_EQ(row[kActionsOffset + 2], 0);
  EXPECT_EQ(row[kRecentOffset + kRecentIsThere], 1);
  EXPECT_EQ(row[kRecentOffset + kRecentFast], 1);
  EXPECT_EQ(row[kRecentOffset + kRecentIsRead], 1);
  EXPECT_EQ(row[kRecentOffset + kRecentFeatures + kRecentIsThere], 0);
}

// Fast memory of 1024 bytes. Buffer 0 is worth more than buffer 1 and takes half of it meanwhile.
TEST(Observation, ShowsWhatHoldingPays) {
  ProgramBuilder builder;
  builder.AddBuffer(512);
  builder.AddBuffer(768);
  builder.AddInstruction(10, {Write(0, 3), Write(1, 1)});
  builder.AddInstruction(20);
  builder.AddInstruction(10, {Read(0, 3), Read(1, 1)});
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  const Row row = Observe(Game(rules));
  // All save 8 cycles in 40: 8 / (1024 * 40) a byte and cycle; the values are kept for 30.
  const double unit = 8.0 / (1024 * 40);
  const auto price = [&](double saving, double bytes) {
    return static_cast<float>(std::log2(saving / (bytes * 30) / unit) / 12);
  };
  EXPECT_EQ(AccessAt(row, 0, kHoldPrice), 0);
  EXPECT_FLOAT_EQ(AccessAt(row, 0, kNextHoldPrice), price(3, 512));
  EXPECT_FLOAT_EQ(AccessAt(row, 0, kNextHoldLoad), 0);
  EXPECT_FLOAT_EQ(AccessAt(row, 1, kNextHoldPrice), price(1, 768));
  EXPECT_FLOAT_EQ(AccessAt(row, 1, kNextHoldLoad), 0.5);
  EXPECT_FLOAT_EQ(AccessAt(row, 2, kHoldPrice), price(3, 512));
  EXPECT_FLOAT_EQ(AccessAt(row, 3, kHoldPrice), price(1, 768));
  EXPECT_FLOAT_EQ(AccessAt(row, 3, kHoldLoad), 0.5);
  EXPECT_EQ(AccessAt(row, 3, kNextHoldPrice), 0);
}

TEST(Observation, ShowsTheWholeGame) {
  const Program program = TwoReads();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kCopy);
  const Row row = Observe(game);
  EXPECT_EQ(ProgramFact(row, kProgress), 0.5);
  EXPECT_FLOAT_EQ(ProgramFact(row, kReturn), 20.0 / 400);
  EXPECT_FLOAT_EQ(ProgramFact(row, kAllFastReturn), 30.0 / 400);
  EXPECT_EQ(ProgramFact(row, kTakenNow), 0);
  EXPECT_FLOAT_EQ(ProgramFact(row, kReadRate), std::log2(10) / 8);
  EXPECT_EQ(ProgramFact(row, kBufferBytes), static_cast<float>(std::log2(1.5) / 12));
}

TEST(Observation, ShowsTheIncumbent) {
  const Program program = TwoReads();
  const ProgramRules rules = EverythingMatters(program);
  const Game game(rules);
  const IndexVector<AccessIndex, uint8_t> in_fast_memory = {0, 1};
  ShownIncumbent shown = {.in_fast_memory = in_fast_memory, .lead = -0.5F, .window_end = 1};
  const Row row = Observe(game, &shown);
  EXPECT_EQ(Incumbent(row, kIncumbentIsShown), 1);
  EXPECT_EQ(Incumbent(row, kLead), CyclesScale(-0.5));
  EXPECT_EQ(Incumbent(row, kLeadSign), -1);
  EXPECT_EQ(Incumbent(row, kWindowLeft), CountScale(1, 16));
  EXPECT_EQ(AccessAt(row, 0, kIncumbentFast), -1);
  EXPECT_EQ(AccessAt(row, 1, kIncumbentFast), 1);
  EXPECT_EQ(AccessAt(row, 2, kIncumbentFast), 0);  // behind the end of the program
  shown.lead = 1e-6F;
  EXPECT_EQ(Incumbent(Observe(game, &shown), kLeadSign), 1);
}

TEST(Observation, ALeadOfRoundingIsNone) {
  const Program program = TwoReads();
  const ProgramRules rules = EverythingMatters(program);
  const IndexVector<AccessIndex, uint8_t> in_fast_memory = {0, 1};
  const ShownIncumbent shown = {.in_fast_memory = in_fast_memory, .lead = 1e-12F};
  const Row row = Observe(Game(rules), &shown);
  EXPECT_EQ(Incumbent(row, kLead), 0);
  EXPECT_EQ(Incumbent(row, kLeadSign), 0);
  EXPECT_EQ(Incumbent(row, kWindowLeft), 0);  // the window has ended
}

TEST(Observation, ShowsNothingWithoutAnIncumbent) {
  const Program program = TwoReads();
  const ProgramRules rules = EverythingMatters(program);
  const ObservationTables tables(rules);
  ObservationWriter writer(tables);
  const Game game(rules);
  const IndexVector<AccessIndex, uint8_t> in_fast_memory = {0, 1};
  const ShownIncumbent shown = {.in_fast_memory = in_fast_memory, .lead = 1, .window_end = 2};
  const Row with = Observe(writer, game, &shown);
  const Row without = Observe(writer, game);
  EXPECT_NE(without, with);
  for (size_t k = 0; k < kIncumbentFeatures; ++k) EXPECT_EQ(without[kIncumbentOffset + k], 0) << k;
  EXPECT_EQ(AccessAt(without, 0, kIncumbentFast), 0);
  EXPECT_EQ(AccessAt(without, 1, kIncumbentFast), 0);
}

TEST(Observation, IsTheSameOnAChipOfTwiceTheSizeAndSpeed) {
  const Program program = TwoReads();
  const Program doubled = TwoReads(2);
  const ProgramRules rules = EverythingMatters(program);
  const ProgramRules doubled_rules = EverythingMatters(doubled);
  Game game(rules);
  Game doubled_game(doubled_rules);
  EXPECT_EQ(Observe(game), Observe(doubled_game));
  game.Apply(kCopy);
  doubled_game.Apply(kCopy);
  EXPECT_EQ(Observe(game), Observe(doubled_game));
}

}  // namespace
}  // namespace mallocmuzero
