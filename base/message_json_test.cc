#include "base/message_json.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/report.pb.h"
#include "nlohmann/json.hpp"

namespace mallocmuzero {
namespace {

TEST(MessageToJson, KeepsProtoNamesAndPrintsNumbersAsNumbers) {
  v1::PriceReport report;
  report.set_name("gpt");
  report.set_total_cycles(9007199254740991.0);
  report.set_stall_cycles(0.5);
  const auto json = MessageToJson(report);
  ASSERT_TRUE(json.ok()) << json.status();
  const nlohmann::json parsed = nlohmann::json::parse(*json);
  EXPECT_EQ(parsed["name"], "gpt");
  EXPECT_EQ(parsed["total_cycles"].get<double>(), 9007199254740991.0);
  EXPECT_TRUE(parsed["stall_cycles"].is_number());
}

TEST(MessageToJson, PrintsZerosButNotAbsentOptionalFields) {
  const auto json = MessageToJson(v1::PriceReport());
  ASSERT_TRUE(json.ok()) << json.status();
  const nlohmann::json parsed = nlohmann::json::parse(*json);
  EXPECT_EQ(parsed["copies"], 0);
  EXPECT_EQ(parsed["estimated_cycles"], 0.0);
  EXPECT_FALSE(parsed.contains("default_cycles"));
}

TEST(MessageToJson, SortsTheEntriesOfMaps) {
  google::protobuf::Struct message;
  for (const char* key : {"m", "b", "x", "d", "a", "k", "c", "z", "e", "t"}) {
    (*message.mutable_fields())[key].set_bool_value(true);
  }
  const auto json = MessageToJson(message);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(*json,
            "{\"a\":true,\"b\":true,\"c\":true,\"d\":true,\"e\":true,\"k\":true,\"m\":true,"
            "\"t\":true,\"x\":true,\"z\":true}");
}

TEST(MessageToJson, IsOneLine) {
  v1::ValidationReport report;
  report.add_violations()->set_message("two\nlines");
  const auto json = MessageToJson(report);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_THAT(*json, ::testing::Not(::testing::HasSubstr("\n")));
}

TEST(MessageFromJson, SaysInOneLineWhatIsWrong) {
  v1::PriceReport report;
  const absl::Status status = MessageFromJson("{\"name\": \"gpt\",\n \"copies\": x}", report);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()),
            "mallocmuzero.v1.PriceReport as JSON expected: INVALID_ARGUMENT:Unexpected token.");
}

}  // namespace
}  // namespace mallocmuzero
