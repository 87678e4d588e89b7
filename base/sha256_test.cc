#include "base/sha256.h"

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(Sha256, HashesTheStandardsExample) {
  // FIPS 180-2, appendix B.1.
  EXPECT_EQ(absl::BytesToHexString(Sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace mallocmuzero
