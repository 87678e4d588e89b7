#include "cli/number_flag.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero::cli {
namespace {

using ::testing::ElementsAre;

// The error that `--flag text` causes; empty if there is none. Stores the value in `value`.
template <typename T>
std::string Parse(const CLI::Validator& check, const std::string& text, T& value) {
  CLI::App app;
  app.add_option("--flag", value)->check(check);
  try {
    app.parse(std::vector<std::string>{"--flag=" + text});
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST(WholeNumber, TakesDecimalsFromLeastToMost) {
  uint64_t value = 0;
  EXPECT_EQ(Parse(WholeNumber(0), "18446744073709551615", value), "");
  EXPECT_EQ(value, UINT64_MAX);
  EXPECT_EQ(Parse(WholeNumber(3, 5), "3", value), "");
  EXPECT_EQ(value, 3);
  EXPECT_EQ(Parse(WholeNumber(3, 5), "5", value), "");
  EXPECT_EQ(Parse(WholeNumber(0), "0", value), "");
}

TEST(WholeNumber, SaysWhatWouldBeRight) {
  uint64_t value = 0;
  EXPECT_EQ(Parse(WholeNumber(3, 5), "2", value),
            "--flag: expected a whole number from 3 to 5, found '2'");
  for (const char* text : {"6", "04", "-4", "-18446744073709551612", "+4", " 4", "4x", "4.0", "0x4",
                           "99999999999999999999999", ""}) {
    EXPECT_NE(Parse(WholeNumber(3, 5), text, value), "") << text;
  }
  EXPECT_EQ(Parse(WholeNumber(0), "18446744073709551616", value),
            "--flag: expected a whole number from 0 to 18446744073709551615, found "
            "'18446744073709551616'");
}

TEST(Numbers, AreFiniteAndOfTheRightSide) {
  double value = 0;
  EXPECT_EQ(Parse(ZeroOrMore(), "0", value), "");
  EXPECT_EQ(Parse(AboveZero(), "2.5e-3", value), "");
  EXPECT_EQ(value, 2.5e-3);
  EXPECT_EQ(Parse(AboveZero(), "0", value), "--flag: expected a number above 0, found '0'");
  EXPECT_EQ(Parse(ZeroOrMore(), "-1", value), "--flag: expected a number of 0 or more, found '-1'");
  for (const char* text : {"nan", "inf", "1e999", "many", ""}) {
    EXPECT_NE(Parse(ZeroOrMore(), text, value), "") << text;
    EXPECT_NE(Parse(AboveZero(), text, value), "") << text;
  }
}

TEST(Numbers, AreWithinTheirRange) {
  double value = 0;
  EXPECT_EQ(Parse(NumberBetween(0.25, 1), "0.25", value), "");
  EXPECT_EQ(Parse(NumberBetween(0.25, 1), "1", value), "");
  EXPECT_EQ(Parse(NumberBetween(0.25, 1), "0.2", value),
            "--flag: expected a number from 0.25 to 1, found '0.2'");
  for (const char* text : {"1.01", "nan", "inf", "-inf", ""}) {
    EXPECT_NE(Parse(NumberBetween(0.25, 1), text, value), "") << text;
  }
}

TEST(Numbers, AreCheckedOneByOneInAList) {
  std::vector<double> values;
  CLI::App app;
  app.add_option("--flag", values)->delimiter(',')->check(AboveZero());
  app.parse(std::vector<std::string>{"--flag=0.25,0.5"});
  EXPECT_THAT(values, ElementsAre(0.25, 0.5));
}

}  // namespace
}  // namespace mallocmuzero::cli
