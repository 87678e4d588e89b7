// Tests with the real compiler. They run if the variable MALLOCMUZERO_LIBTPU names a libtpu.so.

#include <cstdlib>
#include <string>

#include "compiler/chip.h"
#include "compiler/compile.h"
#include "compiler/options.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero {
namespace {

using testing::HasSubstr;

constexpr char kModule[] = R"(module @jit_f {
  func.func public @main(%a: tensor<1024x1024xbf16>, %b: tensor<1024x1024xbf16>)
      -> tensor<1024x1024xbf16> {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<1024x1024xbf16>
    %1 = stablehlo.tanh %0 : tensor<1024x1024xbf16>
    return %1 : tensor<1024x1024xbf16>
  }
})";

CompileControl Control() {
  CompileControl control;
  control.child = {MALLOCMUZERO_BINARY_DIR "/testing/compile_child"};
  return control;
}

class LibtpuTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* library = std::getenv("MALLOCMUZERO_LIBTPU");
    if (library == nullptr) GTEST_SKIP() << "MALLOCMUZERO_LIBTPU names no libtpu.so";
    request_.set_library(library);
    const absl::StatusOr<CompilerChip> chip = FindCompilerChip("tpu_v6e");
    ASSERT_TRUE(chip.ok());
    request_.set_topology(chip->topology);
  }

  void Add(const std::string& format, const std::string& code) {
    v1::CompileProgram& program = *request_.add_programs();
    program.set_format(format);
    program.set_code(code);
    program.set_options(DefaultCompileOptions().SerializeAsString());
  }

  v1::CompileRequest request_;
};

TEST_F(LibtpuTest, CompilesStableHloAndItsOwnModuleAgain) {
  Add("mlir", kModule);
  const absl::StatusOr<v1::CompileResponse> first = Compile(request_, Control());
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(CompileStatus(first->programs(0)).ok()) << CompileStatus(first->programs(0));
  EXPECT_THAT(first->compiler().version(), HasSubstr("TPU"));
  EXPECT_GT(first->programs(0).memory().arguments(), 0);
  xla::HloModuleProto module;
  ASSERT_TRUE(module.ParseFromString(first->programs(0).module()));
  EXPECT_FALSE(module.schedule().sequences().empty());

  request_.clear_programs();
  Add("hlo", first->programs(0).module());
  Add("mlir", "module {");
  const absl::StatusOr<v1::CompileResponse> second = Compile(request_, Control());
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(CompileStatus(second->programs(0)).ok()) << CompileStatus(second->programs(0));
  EXPECT_FALSE(CompileStatus(second->programs(1)).ok());
}

TEST_F(LibtpuTest, RefusesATopologyThatDoesNotExist) {
  Add("mlir", kModule);
  request_.set_topology("v99:1x1");
  EXPECT_TRUE(absl::IsInvalidArgument(Compile(request_, Control()).status()));
}

}  // namespace
}  // namespace mallocmuzero
