#include "base/status_at.h"

#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(StatusAt, PutsThePlaceBeforeTheMessageAndKeepsTheCode) {
  EXPECT_EQ(StatusAt("a.program", absl::DataLossError("cut off")),
            absl::DataLossError("a.program: cut off"));
}

TEST(StatusAt, LeavesOkAlone) {
  EXPECT_EQ(StatusAt("a.program", absl::OkStatus()), absl::OkStatus());
}

}  // namespace
}  // namespace mallocmuzero
