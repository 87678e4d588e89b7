#include "view/format.h"

#include "gtest/gtest.h"

namespace mallocmuzero::view {
namespace {

TEST(FormatCount, SeparatesThousands) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(-123456), "-123,456");
  EXPECT_EQ(FormatCount(1234567), "1,234,567");
}

TEST(FormatCount, ZeroHasNoSign) {
  EXPECT_EQ(FormatCount(-0.4), "0");
  EXPECT_EQ(FormatPercent(-0.00001, 2), "0.00 %");
  EXPECT_EQ(FormatPercent(-0.0001, 2), "-0.01 %");
  EXPECT_EQ(FormatCycles(-0.1), "0 cycles");
}

TEST(FormatCycles, ChoosesTheUnitBySize) {
  EXPECT_EQ(FormatCycles(12), "12 cycles");
  EXPECT_EQ(FormatCycles(0.8), "1 cycle");
  EXPECT_EQ(FormatCycles(99999), "99,999 cycles");
  EXPECT_EQ(FormatCycles(-100000), "-0.100 Mcycles");
  EXPECT_EQ(FormatCycles(1234567890), "1,234.568 Mcycles");
  EXPECT_EQ(FormatMegacycles(1500), "0.002");
}

TEST(FormatMebibytes, HasOneDecimal) { EXPECT_EQ(FormatMebibytes(1536.0 * 1024), "1.5"); }

TEST(FormatChange, SaysHowAValueComparesWithItsReference) {
  EXPECT_EQ(FormatChange(75, 100), "25.00 % below");
  EXPECT_EQ(FormatChange(100.4, 100), "0.40 % above");
  EXPECT_EQ(FormatChange(100, 100), "equal to");
}

TEST(FormatTime, ChoosesTheUnitByLength) {
  EXPECT_EQ(FormatTime(0.84), "0.8 seconds");
  EXPECT_EQ(FormatTime(60), "1.0 minutes");
  EXPECT_EQ(FormatTime(7199), "120.0 minutes");
  EXPECT_EQ(FormatTime(86400), "24.0 hours");
}

TEST(FormatPercent, TakesAShareOfOne) {
  EXPECT_EQ(FormatPercent(0.1234), "12.3 %");
  EXPECT_EQ(FormatPercent(0.1234, 2), "12.34 %");
}

TEST(FormatBytes, ChoosesTheUnitBySize) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1,023 B");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(25 * 1024.0 * 1024.0), "25.0 MiB");
  EXPECT_EQ(FormatBytes(3.5 * 1024 * 1024 * 1024), "3.5 GiB");
}

TEST(FormatCounted, TakesThePluralUnlessThereIsOne) {
  EXPECT_EQ(FormatCounted(1, "read"), "1 read");
  EXPECT_EQ(FormatCounted(0, "read"), "0 reads");
  EXPECT_EQ(FormatCounted(1200, "copy", "copies"), "1,200 copies");
}

}  // namespace
}  // namespace mallocmuzero::view
