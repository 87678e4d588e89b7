#include "replay/wire/crc32c.h"

#include <string>

#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(Crc32c, IsThatOfTheStandard) {
  // The first two values are from RFC 3720, B.4: 32 bytes of zeros and of ones. The third is the
  // check value of the CRC catalogue.
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aa);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283);
}

}  // namespace
}  // namespace mallocmuzero
