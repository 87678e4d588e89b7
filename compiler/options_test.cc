#include "compiler/options.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using testing::HasSubstr;
using xla::OptionOverrideProto;

OptionOverrideProto Converted(const std::string& value) {
  xla::CompileOptionsProto options;
  EXPECT_TRUE(SetCompilerOption("option=" + value, options).ok());
  return options.env_option_overrides().at("option");
}

TEST(CompilerOptions, ConvertsValuesToTheTypesOfOptions) {
  EXPECT_EQ(Converted("true").value_case(), OptionOverrideProto::kBoolField);
  EXPECT_TRUE(Converted("true").bool_field());
  EXPECT_EQ(Converted("false").value_case(), OptionOverrideProto::kBoolField);
  EXPECT_FALSE(Converted("false").bool_field());
  EXPECT_EQ(Converted("49152").int_field(), 49152);
  EXPECT_EQ(Converted("-1").int_field(), -1);
  EXPECT_EQ(Converted("0.5").string_field(), "0.5");
  EXPECT_EQ(Converted("True").string_field(), "True");
  EXPECT_EQ(Converted("").value_case(), OptionOverrideProto::kStringField);
}

TEST(CompilerOptions, KeepsEqualsSignsOfTheValue) {
  EXPECT_EQ(Converted("a { b=c }").string_field(), "a { b=c }");
}

TEST(CompilerOptions, ReplacesAValueThatStandsThere) {
  xla::CompileOptionsProto options;
  ASSERT_TRUE(SetCompilerOption("x=1", options).ok());
  ASSERT_TRUE(SetCompilerOption("x=true", options).ok());
  EXPECT_EQ(options.env_option_overrides_size(), 1);
  EXPECT_TRUE(options.env_option_overrides().at("x").bool_field());
}

TEST(CompilerOptions, RefusesWhatIsNoAssignment) {
  xla::CompileOptionsProto options;
  EXPECT_THAT(std::string(SetCompilerOption("xla_x", options).message()),
              HasSubstr("'xla_x': name=value expected"));
  EXPECT_FALSE(SetCompilerOption("=1", options).ok());
}

TEST(CompilerOptions, DefaultIsOneReplicaOfOnePartition) {
  const xla::ExecutableBuildOptionsProto build = DefaultCompileOptions().executable_build_options();
  EXPECT_EQ(build.num_replicas(), 1);
  EXPECT_EQ(build.num_partitions(), 1);
  EXPECT_EQ(build.device_ordinal(), -1);
  EXPECT_FALSE(build.has_device_assignment());
}

TEST(CompilerOptions, KeepsFieldsThatItDoesNotKnow) {
  xla::CompileOptionsProto options = DefaultCompileOptions();
  // Field 99, a varint: 99 << 3 = 792 = 0x98 0x06.
  const std::string unknown = "\x98\x06\x05";
  const absl::StatusOr<xla::CompileOptionsProto> parsed =
      ParseCompileOptions(options.SerializeAsString() + unknown, "file");
  ASSERT_TRUE(parsed.ok());
  EXPECT_THAT(parsed->SerializeAsString(), HasSubstr(unknown));
}

TEST(CompilerOptions, RefusesAFileOfAnotherKind) {
  for (const std::string& bytes :
       {std::string(), std::string("HloModule x"), std::string("\x0A")}) {
    const absl::Status status = ParseCompileOptions(bytes, "options.pb").status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << bytes;
    EXPECT_THAT(std::string(status.message()), HasSubstr("options.pb: "));
  }
}

// The name of an option is no UTF-8, which protobuf would report by itself.
TEST(CompilerOptions, LeaveItToTheCallerToReportDamage) {
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(ParseCompileOptions("\x3A\x04\x0A\x02\xff\xfe", "options.pb").ok());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace mallocmuzero
