#include "view/mapping_svg.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"
#include "simulator/validate/testing/random_case.h"
#include "view/svg.h"
#include "view/testing/xml.h"

namespace mallocmuzero::view {
namespace {

using ::mallocmuzero::testing::ProgramBuilder;
using ::mallocmuzero::testing::RandomProgram;
using ::mallocmuzero::testing::RandomValidMapping;
using ::mallocmuzero::testing::Read;
using ::mallocmuzero::testing::Write;
using ::testing::AllOf;
using ::testing::Contains;
using testing::Element;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Parsed;
using testing::ParseXml;
using ::testing::SizeIs;
using testing::Texts;

constexpr size_t kTwoMegabytes = 2'000'000;

std::vector<std::string> Tooltips(const Element& element) { return Texts(element, "title"); }

// The first frame of a panel is that of fast memory, the second that of the bandwidth.
Box FrameOf(const Element& panel, size_t which = 0) {
  const Element& frame = *panel.Find("rect", "frame")[which];
  return {frame.Number("x"), frame.Number("y"), frame.Number("width"), frame.Number("height")};
}

// The weights, 256 bytes, are prefetched behind instruction 0, which takes 100 cycles and leaves
// 1000 bytes. Instruction 1 uses them and takes 50 - 30 cycles. Its result, 512 bytes, is read by
// instruction 2, which takes 50 - 10 cycles. The times are 0 ... 100 ... 120 ... 160. Fast memory
// has 1024 bytes.
class ThreeInstructions : public ::testing::Test {
 protected:
  ThreeInstructions() {
    const BufferIndex weights = builder_.AddBuffer(256, {.live_in = true});
    const BufferIndex result = builder_.AddBuffer(512);
    builder_.AddInstruction(100);
    builder_.AddInstruction(50, {Read(weights, 30), Write(result)});
    builder_.AddInstruction(50, {Read(result, 10)});
    mapping_ = {{{.buffer = weights, .first = 0, .last = 1, .copy_in_start = 0, .copy_in_done = 1},
                 {.buffer = result, .first = 1, .last = 2, .offset = 512}},
                {1, 1, 1},
                "test"};
  }

  Element Draw(const PlotOptions& options = {}) {
    const Program program = builder_.Build();
    return Parsed(MappingSvg(program, {{"ours", &mapping_}}, options));
  }

  // Expects a rectangle between two positions and two addresses.
  static void ExpectRect(const Element& rect, const Box& frame, double axis_end, Box expected) {
    constexpr double kRounding = 0.011;
    const double x_scale = frame.width / axis_end;
    const double y_scale = frame.height / 1024;
    EXPECT_NEAR(rect.Number("x"), frame.x + x_scale * expected.x, kRounding);
    EXPECT_NEAR(rect.Number("width"), x_scale * expected.width, kRounding);
    EXPECT_NEAR(rect.Number("y"), frame.bottom() - y_scale * expected.bottom(), kRounding);
    EXPECT_NEAR(rect.Number("height"), y_scale * expected.height, kRounding);
  }

  ProgramBuilder builder_;
  Mapping mapping_;
};

TEST_F(ThreeInstructions, IntervalsAreRectanglesInTimeAndAddress) {
  const Element picture = Draw();
  const Element& memory = *picture.Find("g", "memory").front();
  ASSERT_THAT(memory.Find("rect", "k0 o"), SizeIs(1));
  ExpectRect(*memory.Find("rect", "k0 o").front(), FrameOf(picture), 160, {0, 0, 120, 256});
  ASSERT_THAT(memory.Find("rect", "k1 o"), SizeIs(1));
  ExpectRect(*memory.Find("rect", "k1 o").front(), FrameOf(picture), 160, {100, 512, 60, 512});
}

TEST_F(ThreeInstructions, CopyOnItsWayIsHatchedUntilItIsNeeded) {
  const Element picture = Draw();
  const std::vector<const Element*> hatched =
      picture.Find("g", "memory").front()->Find("path", "fly");
  ASSERT_THAT(hatched, SizeIs(1));
  const Box frame = FrameOf(picture);
  const std::string width = Coordinate(frame.width * 100 / 160);
  EXPECT_EQ(hatched.front()->attributes.at("d"),
            absl::StrCat("M", Coordinate(frame.x), " ", Coordinate(frame.bottom() - 80), "h", width,
                         "v80h-", width, "z"));
}

TEST_F(ThreeInstructions, CopyLaneShowsWhenTheCopyMoves) {
  // The copy takes 256 of the 1000 bytes that are left: 25.6 of 100 cycles.
  const Element picture = Draw();
  const Element& lane = *picture.Find("g", "in").front();
  const double pixels_per_cycle = FrameOf(picture).width / 160;
  EXPECT_NEAR(lane.Find("rect", "pale").front()->Number("width"), 100 * pixels_per_cycle, 0.01);
  ASSERT_THAT(lane.Find("path", "k0"), SizeIs(1));
  EXPECT_THAT(lane.Find("path", "k0").front()->attributes.at("d"),
              HasSubstr(absl::StrCat("h", Coordinate(25.6 * pixels_per_cycle), "v")));
  EXPECT_THAT(picture.Find("g", "out").front()->Find("path"), IsEmpty());
}

TEST_F(ThreeInstructions, BandwidthIsSplitBetweenAccessesAndCopies) {
  // Instruction 0 has no access, and copies move 256 of 1000 bytes: 25.6 %. After that nothing
  // moves.
  const Element picture = Draw();
  const Box frame = FrameOf(picture, 1);
  const std::string& copies = picture.Find("path", "copies").front()->attributes.at("d");
  const std::string base = Coordinate(frame.bottom());
  EXPECT_THAT(copies, HasSubstr(absl::StrCat("M", Coordinate(frame.x), " ", base, "V",
                                             Coordinate(frame.bottom() - 0.256 * frame.height), "H",
                                             Coordinate(frame.x + frame.width * 100 / 160), "V",
                                             base, "H")));
  const std::string& own = picture.Find("path", "own").front()->attributes.at("d");
  EXPECT_THAT(own, Not(HasSubstr(Coordinate(frame.bottom() - 0.256 * frame.height))));
}

TEST_F(ThreeInstructions, TooltipNamesTensorBytesInstructionsAndCopies) {
  builder_.SetName(1, "dot.1");
  EXPECT_THAT(Tooltips(Draw()), Contains(AllOf(HasSubstr("value.0 u8[256], 256 B, weight or input"),
                                               HasSubstr("1 read"), HasSubstr("to dot.1 (#1)"),
                                               HasSubstr("until before dot.1 (#1)"))));
}

TEST_F(ThreeInstructions, AxisOfInstructionsGivesEachTheSameWidth) {
  const Element picture = Draw({.axis = Axis::kInstructions});
  const Element& memory = *picture.Find("g", "memory").front();
  ExpectRect(*memory.Find("rect", "k0 o").front(), FrameOf(picture), 3, {0, 0, 2, 256});
  ExpectRect(*memory.Find("rect", "k1 o").front(), FrameOf(picture), 3, {1, 512, 2, 512});
  EXPECT_THAT(Texts(picture), AllOf(Contains("3"), Not(Contains("0.5"))));
}

TEST_F(ThreeInstructions, TicksOfASmallProgramDiffer) {
  builder_.AddInstruction(31'000 - 160);
  mapping_.intervals.back().last = 2;
  std::vector<std::string> ticks;
  for (const std::string& text : Texts(Draw())) {
    if (text.size() == 5 && absl::StartsWith(text, "0.0")) ticks.push_back(text);
  }
  EXPECT_THAT(ticks, ElementsAre("0.000", "0.005", "0.010", "0.015", "0.020", "0.025", "0.030"));
}

TEST_F(ThreeInstructions, HeaderComparesWithTheDefault) {
  EXPECT_THAT(
      Texts(Draw({.default_cycles = 200})),
      Contains("160 cycles, of it 0.0 % stalls, 1 copy; 20.00 % below the compiled default"));
  EXPECT_THAT(Texts(Draw()), Contains("160 cycles, of it 0.0 % stalls, 1 copy"));
}

TEST_F(ThreeInstructions, StallsAreMarked) {
  // Instruction 0 uses the whole HBM bandwidth, so the program waits for the copy of 256 bytes:
  // 25.6 of 185.6 cycles.
  builder_.SetFixedHbmBytes(0, 1000);
  const Element picture = Draw();
  const Box frame = FrameOf(picture);
  const Element& lane = *picture.Find("g", "stalls").front();
  ASSERT_THAT(lane.Find("rect", "stall"), SizeIs(1));
  const Element& stall = *lane.Find("rect", "stall").front();
  EXPECT_NEAR(stall.Number("x"), frame.x + frame.width * 100 / 185.6, 0.02);
  EXPECT_NEAR(stall.Number("width"), frame.width * 25.6 / 185.6, 0.02);
  EXPECT_THAT(Tooltips(lane), Contains(HasSubstr("26 cycles")));
}

TEST_F(ThreeInstructions, PanelsShareOneScale) {
  // Everything in HBM takes 200 cycles, so that ours ends at 160 of 200.
  const Program program = builder_.Build();
  const Mapping all_hbm = AllHbmMapping(program);
  const Element picture =
      Parsed(MappingSvg(program, {{"ours", &mapping_}, {"all in HBM", &all_hbm}}));
  ASSERT_THAT(picture.Find("g", "panel"), SizeIs(2));
  const Element& ours = *picture.Find("g", "panel").front();
  ExpectRect(*ours.Find("rect", "k1 o").front(), FrameOf(ours), 200, {100, 512, 60, 512});
  EXPECT_THAT(Texts(*picture.Find("g", "panel")[1]), Contains("nothing is in fast memory"));
}

// Each of two panels is 740 pixels wide, and a character of its title takes 8.
TEST_F(ThreeInstructions, TitleOfAPanelDoesNotReachIntoTheNextOne) {
  const Program program = builder_.Build();
  const std::string title(110, 'x');
  EXPECT_THAT(Texts(Parsed(MappingSvg(program, {{title, &mapping_}, {"b", &mapping_}}))),
              Contains(std::string(89, 'x') + "..."));
  EXPECT_THAT(Texts(Parsed(MappingSvg(program, {{title, &mapping_}}))), Contains(title));
}

TEST_F(ThreeInstructions, MappingWithoutAddressesShowsNoRectangles) {
  const Program program = builder_.Build();
  const Element picture = Parsed(MappingSvg(program, {{"default", &mapping_, false}}));
  EXPECT_THAT(Texts(picture), Contains(HasSubstr("addresses unknown")));
  EXPECT_THAT(picture.Find("g", "memory"), IsEmpty());
  EXPECT_THAT(picture.Find("rect", "k0 o"), IsEmpty());
  EXPECT_THAT(picture.Find("path", "copies"), SizeIs(1));
}

TEST_F(ThreeInstructions, HostileNamesAreEscapedAndShortened) {
  const std::string name = absl::StrCat("</text><script>\"'&\x01\xff", std::string(100'000, 'x'));
  for (int i = 0; i < 3; ++i) builder_.SetName(InstructionIndex(i), name);
  builder_.hardware().set_name(name);
  const Program program = builder_.Build();
  const std::string svg = MappingSvg(program, {{name, &mapping_}});
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
  EXPECT_LT(svg.size(), 20'000);
  EXPECT_THAT(Texts(Parsed(svg)), Contains(HasSubstr("</text><script>\"'&??xxx")));
}

TEST_F(ThreeInstructions, AddressesOutsideTheMemoryStayInThePicture) {
  mapping_.intervals[1].offset = int64_t{1} << 60;
  const Element picture = Draw();
  const std::vector<const Element*> rects = picture.Find("g", "memory").front()->Find("rect");
  EXPECT_FALSE(rects.empty());
  for (const Element* rect : rects) {
    EXPECT_GE(rect->Number("y"), FrameOf(picture).y - 1);
  }
}

TEST(MappingSvg, LoopsHaveABracketWithTheirTripCount) {
  ProgramBuilder builder;
  builder.AddInstruction(10);
  builder.BeginLoop(12);
  builder.AddInstruction(10);
  builder.EndLoop();
  const Program program = builder.Build();
  const Mapping mapping = AllHbmMapping(program);
  const Element picture = Parsed(MappingSvg(program, {{"all in HBM", &mapping}}));
  EXPECT_THAT(Texts(picture), Contains(HasSubstr("x12")));
  // The bracket goes from 10 to 130 of 130 cycles.
  const Box frame = FrameOf(picture);
  EXPECT_THAT(picture.Find("path", "loop").front()->attributes.at("d"),
              AllOf(HasSubstr(absl::StrCat("M", Coordinate(frame.x + frame.width / 13), " ")),
                    HasSubstr(absl::StrCat("H", Coordinate(frame.right()), "v"))));
}

TEST(MappingSvg, IsWellFormedForRandomMappings) {
  for (int seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = RandomProgram(random);
    const Mapping ours = RandomValidMapping(program, random);
    const Mapping other = RandomValidMapping(program, random);
    for (const Axis axis : {Axis::kCycles, Axis::kInstructions}) {
      const std::string svg =
          MappingSvg(program, {{"a", &ours}, {"b", &other, seed % 2 == 0}, {"c", &other}},
                     {.axis = axis, .stacked = seed % 3 == 0});
      const absl::StatusOr<Element> root = ParseXml(svg);
      ASSERT_TRUE(root.ok()) << "seed " << seed << ": " << root.status();
      EXPECT_THAT(root->Find("g", "panel"), SizeIs(3));
      for (const Element* rect : root->Find("rect")) {
        ASSERT_GE(rect->Number("width"), 0) << "seed " << seed;
        ASSERT_GE(rect->Number("height"), 0) << "seed " << seed;
      }
    }
  }
}

TEST(MappingSvg, StaysBelowTwoMegabytesForThousandsOfAccessesWithHostileNames) {
  // 1,500 instructions with 4,500 accesses, each of which has an interval of its own with two
  // copies.
  v1::Hardware hardware = mallocmuzero::testing::SmallHardware();
  hardware.set_fast_memory_bytes(1 << 27);
  ProgramBuilder builder(hardware);
  std::mt19937_64 random(1);
  Mapping mapping;
  for (InstructionIndex i = 0; i < 1500; ++i) {
    std::vector<mallocmuzero::testing::AccessSpec> accesses;
    for (int k = 0; k < 3; ++k) {
      const BufferIndex buffer = builder.AddBuffer(1 + random() % (1 << 24), {.live_in = true});
      accesses.push_back(Read(buffer));
      const InstructionIndex start = i - random() % (i.number() / 4 + 1);
      mapping.intervals.push_back({.buffer = buffer,
                                   .first = start,
                                   .last = i,
                                   .offset = static_cast<int64_t>(random() % (1 << 26)),
                                   .copy_in_start = start,
                                   .copy_in_done = i,
                                   .copy_out_start = i,
                                   .copy_out_done = i + 1});
      mapping.in_fast_memory.push_back(1);
    }
    builder.AddInstruction(1000 + random() % 100'000, accesses);
    builder.SetName(i, std::string(200, '"'));
  }
  SortIntervals(mapping);
  const Program program = builder.Build();
  for (const Axis axis : {Axis::kCycles, Axis::kInstructions}) {
    const std::string svg =
        MappingSvg(program, {{"ours", &mapping}, {"default", &mapping}}, {.axis = axis});
    EXPECT_LT(svg.size(), kTwoMegabytes);
    EXPECT_TRUE(ParseXml(svg).ok());
  }
}

TEST(MappingSvg, StaysBelowTwoMegabytesForTheLargestProgramOfTheCorpus) {
  std::string largest;
  uint32_t most = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(
           std::filesystem::path(MALLOCMUZERO_SOURCE_DIR) / "workloads")) {
    if (file.path().extension() != ".program") continue;
    const absl::StatusOr<Program> program = LoadProgram(file.path());
    ASSERT_TRUE(program.ok()) << program.status();
    if (program->access_count() <= most) continue;
    most = program->access_count();
    largest = file.path();
  }
  ASSERT_GT(most, 2000);
  const absl::StatusOr<Program> program = LoadProgram(largest);
  const absl::StatusOr<Mapping> mapping = BaselineMapping(*program);
  ASSERT_TRUE(mapping.ok()) << largest;
  const std::string svg = MappingSvg(*program, {{"ours", &*mapping}, {"default", &*mapping}});
  EXPECT_LT(svg.size(), kTwoMegabytes) << largest;
  EXPECT_TRUE(ParseXml(svg).ok()) << largest;
}

TEST(AddDefault, AddsThePanelAndTheCyclesOfAProgramWithADefault) {
  const absl::StatusOr<Program> program =
      LoadProgram(MALLOCMUZERO_SOURCE_DIR "/workloads/tpu_v6e/dit_4x1024_b48x256.program");
  ASSERT_TRUE(program.ok()) << program.status();
  const Mapping mapping = AllHbmMapping(*program);
  std::vector<Panel> panels = {{"ours", &mapping}};
  PlotOptions options;
  AddDefault(*program, panels, options);
  ASSERT_EQ(panels.size(), 2);
  EXPECT_EQ(panels[1].mapping, &program->baseline()->mapping);
  EXPECT_EQ(panels[1].has_addresses, program->baseline()->packed);
  EXPECT_EQ(options.default_cycles, program->baseline()->compiled_cycles);
}

TEST(AddDefault, AddsNothingForAProgramWithoutADefault) {
  ProgramBuilder builder;
  builder.AddInstruction(10, {Read(builder.AddBuffer(100, {.live_in = true}), 5)});
  const Program program = builder.Build();
  std::vector<Panel> panels;
  PlotOptions options;
  AddDefault(program, panels, options);
  EXPECT_TRUE(panels.empty());
  EXPECT_FALSE(options.default_cycles.has_value());
}

}  // namespace
}  // namespace mallocmuzero::view
