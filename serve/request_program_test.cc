#include "serve/request_program.h"

#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/compression.h"
#include "base/file_io.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serve/testing/requests.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr RequestLimits kLimits = {.max_program_bytes = 1 << 20, .max_budget_seconds = 60};
const std::string& Folder() {
  static const std::string folder = MALLOCMUZERO_SOURCE_DIR "/tests/data/hlo/dlrm/";
  return folder;
}

bool NeverStop() { return false; }

std::string ErrorOf(const v1::FindMappingRequest& request, const RequestLimits& limits = kLimits) {
  absl::Status status = CheckRequest(request, limits);
  if (status.ok()) status = MakeRequestProgram(request, limits, NeverStop).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), Not(HasSubstr("\n")));
  return std::string(status.message());
}

TEST(RequestProgram, ReadsAPlainAndACompressedProgram) {
  v1::FindMappingRequest request = testing::LayersRequest(5, 1);
  EXPECT_TRUE(CheckRequest(request, kLimits).ok());
  const auto plain = MakeRequestProgram(request, kLimits, NeverStop);
  ASSERT_TRUE(plain.ok()) << plain.status();
  request.set_program(*Compress(request.program(), ""));
  const auto compressed = MakeRequestProgram(request, kLimits, NeverStop);
  ASSERT_TRUE(compressed.ok()) << compressed.status();
  EXPECT_EQ((*plain)->sha256(), (*compressed)->sha256());
}

TEST(RequestProgram, RefusesWhatIsTooLargeAlsoWhenDecompressed) {
  v1::FindMappingRequest request = testing::LayersRequest(5, 1);
  const uint64_t bytes = request.program().size();
  const RequestLimits small = {.max_program_bytes = bytes - 1, .max_budget_seconds = 60};
  EXPECT_THAT(
      ErrorOf(request, small),
      HasSubstr(absl::StrCat("the program has ", bytes, " bytes, this server takes at most")));
  request.set_program(*Compress(request.program(), ""));
  EXPECT_THAT(ErrorOf(request, small), HasSubstr("program: content is longer than"));
  request.set_program(*Compress(std::string(100 << 20, 'x'), ""));
  EXPECT_THAT(ErrorOf(request), HasSubstr("program: content is longer than"));
}

TEST(RequestProgram, NamesTheFieldThatIsWrong) {
  v1::FindMappingRequest request;
  request.set_budget_seconds(1);
  EXPECT_THAT(ErrorOf(request), HasSubstr("program or hlo expected"));
  request = testing::LayersRequest(5, 61);
  EXPECT_THAT(ErrorOf(request), HasSubstr("budget_seconds: 61 given"));
  request.set_budget_seconds(1e-300);
  EXPECT_THAT(ErrorOf(request), HasSubstr("budget_seconds: 1e-300 given"));
  request.set_budget_seconds(std::nan(""));
  EXPECT_THAT(ErrorOf(request), HasSubstr("budget_seconds: nan given"));
  request.set_budget_seconds(1);
  request.set_solver("magic");
  EXPECT_THAT(ErrorOf(request), HasSubstr("solver: one of all_hbm, "));
  request.clear_solver();
  request.mutable_program()->resize(request.program().size() / 2);
  EXPECT_THAT(ErrorOf(request), HasSubstr("program: "));
}

TEST(RequestProgram, ImportsModulesAsTheCommandDoes) {
  v1::FindMappingRequest request;
  request.set_budget_seconds(1);
  v1::HloModules& hlo = *request.mutable_hlo();
  hlo.set_name("dlrm");
  hlo.set_hardware("tpu_v4i");
  hlo.set_all_hbm(*ReadFile(Folder() + "all_hbm.hlo.zst"));
  hlo.set_default_placement(*Compress(*ReadFile(Folder() + "default.hlo.zst"), ""));
  const RequestLimits limits = {.max_program_bytes = 32 << 20, .max_budget_seconds = 60};
  ASSERT_TRUE(CheckRequest(request, limits).ok()) << CheckRequest(request, limits);
  const auto program = MakeRequestProgram(request, limits, NeverStop);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ((*program)->name(), "dlrm");
  EXPECT_NE((*program)->program().baseline(), nullptr);

  // The limit holds for all modules together.
  const uint64_t first = hlo.all_hbm().size();
  hlo.set_all_hbm(*Compress(hlo.all_hbm(), ""));
  EXPECT_THAT(ErrorOf(request, {.max_program_bytes = first + 1, .max_budget_seconds = 60}),
              HasSubstr("hlo.default_placement: content is longer than 1 bytes"));
}

TEST(RequestProgram, NamesTheModuleThatIsWrongAndReadsNoFiles) {
  v1::FindMappingRequest request;
  request.set_budget_seconds(1);
  v1::HloModules& hlo = *request.mutable_hlo();
  hlo.set_all_hbm("HloModule broken\n\nENTRY");
  EXPECT_THAT(ErrorOf(request), HasSubstr("hlo.hardware: one of tpu7x, tpu_v4, "));
  hlo.set_hardware(MALLOCMUZERO_SOURCE_DIR "/hardware/tpu_v4i.textproto");
  EXPECT_THAT(ErrorOf(request), HasSubstr("hlo.hardware: one of tpu7x, tpu_v4, "));
  hlo.set_hardware("tpu_v4i");
  EXPECT_THAT(ErrorOf(request), HasSubstr("hlo.all_hbm:"));
  hlo.clear_all_hbm();
  EXPECT_THAT(ErrorOf(request), HasSubstr("hlo.all_hbm: the compile"));
}

TEST(RequestProgram, RefusesEmptyModulesAndTooManyBeforeItReadsAny) {
  v1::FindMappingRequest request;
  request.set_budget_seconds(1);
  v1::HloModules& hlo = *request.mutable_hlo();
  hlo.set_hardware("tpu_v4i");
  hlo.set_all_hbm("HloModule one");
  hlo.add_samples("HloModule two");
  hlo.add_placed("HloModule three");
  EXPECT_TRUE(CheckRequest(request, kLimits).ok());
  hlo.add_samples();
  EXPECT_EQ(CheckRequest(request, kLimits).message(), "hlo.samples[1]: a module expected");
  hlo.mutable_samples()->RemoveLast();
  hlo.add_placed();
  EXPECT_EQ(CheckRequest(request, kLimits).message(), "hlo.placed[1]: a module expected");
  for (int k = 0; k < 100'000; ++k) hlo.add_samples();
  const absl::Status many = CheckRequest(request, kLimits);
  EXPECT_EQ(many.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(many.message(),
            "hlo.samples and hlo.placed: at most 1000 modules expected, found 100003");
}

TEST(RequestProgram, StopsAnImport) {
  v1::FindMappingRequest request;
  request.mutable_hlo()->set_hardware("tpu_v4i");
  request.mutable_hlo()->set_all_hbm(*ReadFile(Folder() + "all_hbm.hlo.zst"));
  const auto stopped = MakeRequestProgram(request, kLimits, [] { return true; });
  EXPECT_EQ(stopped.status().code(), absl::StatusCode::kCancelled);
}

// The import of one module asks before it reads the module, analyses it and matches it, and before
// it fits the estimates of the first class of instructions.
TEST(RequestProgram, StopsAnImportThatHasReadAllModules) {
  v1::FindMappingRequest request;
  request.mutable_hlo()->set_hardware("tpu_v4i");
  request.mutable_hlo()->set_all_hbm(*ReadFile(Folder() + "all_hbm.hlo.zst"));
  const RequestLimits limits = {.max_program_bytes = 32 << 20, .max_budget_seconds = 60};
  for (const int answers : {1, 2, 3}) {
    int asked = 0;
    const auto stopped =
        MakeRequestProgram(request, limits, [&asked, answers] { return ++asked > answers; });
    EXPECT_EQ(stopped.status().code(), absl::StatusCode::kCancelled) << answers;
  }
}

}  // namespace
}  // namespace mallocmuzero
