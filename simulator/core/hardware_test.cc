#include "simulator/core/hardware.h"

#include <cmath>
#include <limits>
#include <utility>

#include "base/message_file.h"
#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Hardware, BuiltInChipsAreValid) {
  EXPECT_THAT(BuiltInHardwareNames(),
              ElementsAre("tpu7x", "tpu_v4", "tpu_v4i", "tpu_v5e", "tpu_v5p", "tpu_v6e"));
  for (const std::string& name : BuiltInHardwareNames()) {
    const absl::StatusOr<v1::Hardware> hardware = LoadHardware(name);
    ASSERT_TRUE(hardware.ok()) << hardware.status();
    EXPECT_EQ(hardware->name(), name);
  }
}

TEST(Hardware, TpuV4iHasThePublishedRates) {
  const absl::StatusOr<v1::Hardware> chip = LoadHardware("tpu_v4i");
  ASSERT_TRUE(chip.ok()) << chip.status();
  EXPECT_EQ(chip->fast_memory_space(), 3);
  EXPECT_EQ(chip->fast_memory_bytes(), 128 << 20);
  EXPECT_NEAR(chip->hbm_bytes_per_cycle() * chip->clock_hz(), 614e9, 1e6);
  EXPECT_NEAR(chip->flops_per_cycle() * chip->clock_hz(), 138e12, 1e9);
}

TEST(Hardware, VmemChipsSetScopedMemoryAside) {
  // The chip's fast memory without the 64 KiB that the compiler never gives to
  // tensors.
  const std::pair<const char*, int> left_kibibytes[] = {
      {"tpu_v5e", (128 - 16) * 1024},
      {"tpu_v5p", (64 - 16) * 1024 - 64},
      {"tpu_v6e", (128 - 32) * 1024 - 64},
      {"tpu7x", (64 - 32) * 1024 - 64},
  };
  for (const auto& [name, kibibytes] : left_kibibytes) {
    const absl::StatusOr<v1::Hardware> chip = LoadHardware(name);
    ASSERT_TRUE(chip.ok()) << chip.status();
    EXPECT_EQ(chip->fast_memory_space(), 1);
    EXPECT_EQ(chip->fast_memory_bytes(), int64_t{kibibytes} << 10);
  }
}

TEST(Hardware, LoadsAFile) {
  const std::string path = ::testing::TempDir() + "/chip.textproto";
  ASSERT_TRUE(WriteMessage(path, testing::SmallHardware()).ok());
  const absl::StatusOr<v1::Hardware> chip = LoadHardware(path);
  ASSERT_TRUE(chip.ok()) << chip.status();
  EXPECT_EQ(chip->hbm_bytes_per_cycle(), 10);
}

TEST(Hardware, UnknownNameListsTheKnownOnes) {
  const absl::Status status = LoadHardware("tpu_v9").status();
  EXPECT_EQ(status.message(),
            "hardware: tpu_v9 is neither a file nor one of tpu7x, tpu_v4, tpu_v4i, tpu_v5e, "
            "tpu_v5p, tpu_v6e");
}

TEST(Hardware, ErrorsNameFileAndField) {
  v1::Hardware hardware = testing::SmallHardware();
  hardware.set_fast_memory_alignment_bytes(24);
  const std::string path = ::testing::TempDir() + "/odd.textproto";
  ASSERT_TRUE(WriteMessage(path, hardware).ok());
  EXPECT_EQ(LoadHardware(path).status().message(),
            path +
                ": fast_memory_alignment_bytes: a power of two up to fast_memory_bytes "
                "expected, found 24");
}

TEST(Hardware, RefusesEveryFieldThatCannotBe) {
  const auto error = [](auto change) {
    v1::Hardware hardware = testing::SmallHardware();
    change(hardware);
    return std::string(CheckHardware(hardware, "chip").message());
  };
  EXPECT_THAT(error([](v1::Hardware& h) { h.clear_name(); }), HasSubstr("chip: name: "));
  EXPECT_THAT(error([](v1::Hardware& h) { h.set_fast_memory_space(0); }),
              HasSubstr("chip: fast_memory_space: "));
  EXPECT_THAT(error([](v1::Hardware& h) { h.set_fast_memory_bytes(-1); }),
              HasSubstr("chip: fast_memory_bytes: 1 to 2^50 expected, found -1"));
  EXPECT_THAT(error([](v1::Hardware& h) { h.set_hbm_bytes_per_cycle(0); }),
              HasSubstr("chip: hbm_bytes_per_cycle: "));
  EXPECT_THAT(error([](v1::Hardware& h) { h.set_fast_memory_read_bytes_per_cycle(-3); }),
              HasSubstr("chip: fast_memory_read_bytes_per_cycle: "));
  EXPECT_THAT(error([](v1::Hardware& h) { h.set_fast_memory_write_bytes_per_cycle(1e300); }),
              HasSubstr("chip: fast_memory_write_bytes_per_cycle: "));
  EXPECT_THAT(error([](v1::Hardware& h) { h.set_flops_per_cycle(std::nan("")); }),
              HasSubstr("chip: flops_per_cycle: "));
  EXPECT_THAT(
      error([](v1::Hardware& h) { h.set_clock_hz(std::numeric_limits<double>::infinity()); }),
      HasSubstr("chip: clock_hz: "));
  EXPECT_THAT(error([](v1::Hardware& h) { h.set_link_bytes_per_cycle(-1); }),
              HasSubstr("chip: link_bytes_per_cycle: 0 or a number from 1e-6 to 1e15 expected"));
  EXPECT_EQ(error([](v1::Hardware& h) { h.set_link_bytes_per_cycle(0); }), "");
}

TEST(Hardware, ChipsThatModelsAreShardedOverKnowTheirLinks) {
  for (const char* name : {"tpu_v4", "tpu_v5e", "tpu_v5p", "tpu_v6e", "tpu7x"}) {
    const absl::StatusOr<v1::Hardware> chip = LoadHardware(name);
    ASSERT_TRUE(chip.ok()) << chip.status();
    // 90 or 180 GB/s in both directions of a link.
    const double gigabytes = chip->link_bytes_per_cycle() * chip->clock_hz() / 1e9;
    EXPECT_NEAR(gigabytes, gigabytes < 100 ? 90 : 180, 1e-3) << name;
  }
}

}  // namespace
}  // namespace mallocmuzero
