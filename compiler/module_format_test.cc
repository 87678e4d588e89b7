#include "compiler/module_format.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero {
namespace {

using testing::HasSubstr;

std::string Format(const std::string& bytes) {
  const absl::StatusOr<std::string> format = ModuleFormat(bytes, "file");
  return format.ok() ? *format : std::string(format.status().message());
}

TEST(ModuleFormat, KnowsBytecodeAndTextOfMlir) {
  EXPECT_EQ(Format("ML\xEFR\x01"), "mlir");
  EXPECT_EQ(Format("\n  module @jit_f {\n}"), "mlir");
  EXPECT_EQ(Format("#loc = loc(unknown)\nmodule {}"), "mlir");
  EXPECT_EQ(Format("// a comment\nmodule {}"), "mlir");
}

TEST(ModuleFormat, KnowsASerializedModule) {
  xla::HloModuleProto module;
  module.set_name("jit_f");
  module.set_entry_computation_name("main");
  module.add_computations()->set_name("main");
  EXPECT_EQ(Format(module.SerializeAsString()), "hlo");
}

TEST(ModuleFormat, SaysWhatIsRightInsteadOfHloText) {
  EXPECT_THAT(Format("HloModule jit_f, is_scheduled=true"),
              HasSubstr("file: is HLO text, which the compiler does not accept: a serialised "
                        "HloModuleProto or StableHLO expected"));
}

TEST(ModuleFormat, RefusesAnythingElse) {
  for (const std::string& bytes :
       {std::string(), std::string("hello"), std::string("\x0A\x03jit")}) {
    EXPECT_THAT(Format(bytes),
                HasSubstr("file: a serialised HloModuleProto or StableHLO expected"));
  }
}

// The name of the module is no UTF-8, which protobuf would report by itself.
TEST(ModuleFormat, LeavesItToTheCallerToReportDamage) {
  ::testing::internal::CaptureStderr();
  EXPECT_THAT(Format("\x0A\x02\xff\xfe"), HasSubstr("expected, found neither"));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace mallocmuzero
