#include "simulator/hlo/backend_config.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/hlo/testing/modules.h"

namespace mallocmuzero::hlo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Module ParseConfig(absl::string_view config) {
  return MustParse(EntryModule(absl::StrCat("  %a = f32[2] iota(), backend_config=", config)));
}

TEST(BackendConfig, ReadsEstimateScopedMemoryAndAliasing) {
  const Module module = ParseConfig(
      R"({"flag_configs":[],"window_config":{"kernel_window_bounds":["1","1"],)"
      R"("estimated_cycles":"25807","iteration_bounds":["1"],"ml_estimated_microseconds":0,)"
      R"("is_mask":false},"scoped_memory_configs":[{"memory_space":"9","size":"9"}],)"
      R"("used_scoped_memory_configs":[{"memory_space":"1","offset":"0","size":"3145728"},)"
      R"({"memory_space":3,"offset":64,"size":128}],"retry_config":{"retry_count":"0"},)"
      R"("aliasing_operands":{"lists":[{"indices":["0","6"]},{"indices":["2","3","5"]}]}})");
  const Instruction& iota = Get(module, "a");
  EXPECT_EQ(iota.estimated_cycles, 25807);
  EXPECT_EQ(iota.known_trip_count, absl::nullopt);
  ASSERT_EQ(iota.scoped_memory.size(), 2);
  EXPECT_EQ(iota.scoped_memory[0].memory_space, 1);
  EXPECT_EQ(iota.scoped_memory[0].size, 3145728);
  EXPECT_EQ(iota.scoped_memory[1].memory_space, 3);
  EXPECT_EQ(iota.scoped_memory[1].offset, 64);
  EXPECT_EQ(iota.scoped_memory[1].size, 128);
  EXPECT_THAT(iota.aliasing_operands, ElementsAre(ElementsAre(0, 6), ElementsAre(2, 3, 5)));
}

TEST(BackendConfig, ReadsTripCounts) {
  const Module module = ParseConfig(
      R"({"known_trip_count":{"n":"12"},"known_induction_variable":{"tuple_index":"0"}})");
  EXPECT_EQ(Get(module, "a").known_trip_count, 12);
  EXPECT_EQ(Get(module, "a").estimated_cycles, absl::nullopt);
}

TEST(BackendConfig, ReadsTheFlopsThatAKernelStates) {
  const Module module = ParseConfig(
      R"({"custom_call_config":{"body":"TUzv","cost_estimate":{"flops":"17314086912",)"
      R"("transcendentals":"33554432","bytes_accessed":"33554432"},"needs_layout_passes":true}})");
  EXPECT_EQ(Get(module, "a").kernel_flops, 17314086912);
  EXPECT_EQ(Get(module, "a").estimated_cycles, absl::nullopt);
  EXPECT_EQ(Get(ParseConfig(R"({"custom_call_config":{"body":"TUzv"}})"), "a").kernel_flops,
            absl::nullopt);
}

TEST(BackendConfig, IgnoresEstimatesOfOtherThings) {
  const Module module = ParseConfig(
      R"({"other_config":{"estimated_cycles":"5","n":"3"},"debug":"\"estimated_cycles\":\"7\" }"})");
  EXPECT_EQ(Get(module, "a").estimated_cycles, absl::nullopt);
}

TEST(BackendConfig, DropsNegativeNumbersOfCyclesAndIterations) {
  const Module module =
      ParseConfig(R"({"window_config":{"estimated_cycles":"-1"},"known_trip_count":{"n":"-1"}})");
  EXPECT_EQ(Get(module, "a").estimated_cycles, absl::nullopt);
  EXPECT_EQ(Get(module, "a").known_trip_count, absl::nullopt);
}

TEST(BackendConfig, ReadsTheQuotedForm) {
  const Module module = ParseConfig(R"("{\"known_trip_count\":{\"n\":\"7\"}}")");
  EXPECT_EQ(Get(module, "a").known_trip_count, 7);
}

TEST(BackendConfig, SkipsQuotedTextThatIsNoJson) {
  for (const absl::string_view config : {R"("")", R"("TUlPUGF5bG9hZA==")", R"("{not json")",
                                         R"("{\"known_trip_count\":{\"n\":\"7\"}} more")"}) {
    EXPECT_EQ(Get(ParseConfig(config), "a").known_trip_count, absl::nullopt) << config;
  }
}

// As XLA prints the configuration of a custom call with api_version=API_VERSION_TYPED_FFI.
TEST(BackendConfig, SkipsBracesThatHoldNoJson) {
  const Module module = ParseConfig(R"({threads = 4 : i32, name = "}{"}, dimensions={0})");
  EXPECT_EQ(Get(module, "a").estimated_cycles, absl::nullopt);
  EXPECT_EQ(Get(module, "a").FindAttribute("dimensions"), "{0}");
}

TEST(BackendConfig, AcceptsTheEmptyObject) {
  const Module module = ParseConfig("{}, dimensions={0}");
  EXPECT_THAT(Get(module, "a").scoped_memory, IsEmpty());
  EXPECT_EQ(Get(module, "a").FindAttribute("dimensions"), "{0}");
}

TEST(BackendConfig, ReportsWhereANumberIsWrong) {
  const auto error = [](absl::string_view config) {
    return ParseError(EntryModule(absl::StrCat("%a = f32[] iota(), backend_config=", config)));
  };
  EXPECT_THAT(error(R"({"estimated_cycles":"many"})"),
              HasSubstr("test.hlo:4:56: expected a whole number, found 'many'"));
  EXPECT_THAT(error(R"({"known_trip_count":{"n":"99999999999999999999"}})"),
              HasSubstr("expected a whole number"));
  EXPECT_THAT(error(R"({"aliasing_operands":{"lists":[{"indices":["-1"]}]}})"),
              HasSubstr("expected a number that is not negative, found '-1'"));
  EXPECT_THAT(error(R"({"a":{"b":1})"),
              HasSubstr("6:1: expected an instruction, found end of text"));
  EXPECT_THAT(error(R"({"a":[1)"), HasSubstr("5:1: expected ']', found '}'"));
  EXPECT_THAT(error(R"({"a" 1})"), HasSubstr("4:40: expected ':', found '1'"));
}

}  // namespace
}  // namespace mallocmuzero::hlo
