#include "cli/corpus.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/report.pb.h"

namespace mallocmuzero::cli {
namespace {

using ::testing::HasSubstr;

// Contended by its HBM share: 10 % left in HBM, no stalls, 3 % headroom.
v1::ImportReport BarelyContended() {
  v1::ImportReport report;
  report.set_program("gpt");
  report.set_hardware("tpu_v4i");
  report.set_default_cycles(10000);
  report.set_all_fast_cycles(9700);
  report.set_default_hbm_share(0.10);
  return report;
}

TEST(IsContended, NeedsBytesLeftInHbmOrStalls) {
  v1::ImportReport report = BarelyContended();
  EXPECT_TRUE(IsContended(report));
  report.set_default_hbm_share(0.099);
  EXPECT_FALSE(IsContended(report));
  report.set_default_stall_cycles(100);
  EXPECT_TRUE(IsContended(report));
  report.set_default_stall_cycles(99);
  EXPECT_FALSE(IsContended(report));
}

TEST(IsContended, NeedsHeadroomBelowTheDefault) {
  v1::ImportReport report = BarelyContended();
  report.set_all_fast_cycles(9701);
  EXPECT_FALSE(IsContended(report));
}

TEST(IsContended, IsFalseWithoutADefault) {
  v1::ImportReport report = BarelyContended();
  report.set_default_cycles(0);
  EXPECT_FALSE(IsContended(report));
}

TEST(CorpusMarkdown, HasATableAndTotalsForEachChip) {
  v1::ImportReport other = BarelyContended();
  other.set_hardware("tpu_v6e");
  other.set_default_hbm_share(0);
  other.set_accesses(2000);
  const std::string text =
      CorpusMarkdown({{"gpt", "train", BarelyContended()}, {"gpt", "test", other}});
  EXPECT_THAT(text, HasSubstr("### tpu_v4i\n\n1 programs of 1 families (1 train, 0 validation, 0 "
                              "test); 1 contended; 0 with 2,000 or more accesses.\n\n| program |"));
  EXPECT_THAT(text, HasSubstr("### tpu_v6e\n\n1 programs of 1 families (0 train, 0 validation, 1 "
                              "test); 0 contended; 1 with 2,000 or more accesses."));
}

TEST(ReplaceBetweenMarkers, KeepsWhatIsAround) {
  const auto text = ReplaceBetweenMarkers(
      "before\n<!-- corpus:begin -->\nold\n<!-- corpus:end -->\nafter\n", "new\n");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "before\n<!-- corpus:begin -->\nnew\n<!-- corpus:end -->\nafter\n");
}

TEST(ReplaceBetweenMarkers, RefusesADocumentWithoutMarkers) {
  EXPECT_EQ(
      ReplaceBetweenMarkers("<!-- corpus:end -->\n<!-- corpus:begin -->\n", "new").status().code(),
      absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mallocmuzero::cli
