#include "rpc/token_file.h"

#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using testing::Await;
using ::testing::HasSubstr;

class TokenFileTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) const { std::ofstream(path_) << text; }

  std::unique_ptr<TokenFile> Open() const {
    absl::StatusOr<std::unique_ptr<TokenFile>> file = TokenFile::Open("token_file", path_);
    EXPECT_TRUE(file.ok()) << file.status();
    return file.ok() ? *std::move(file) : nullptr;
  }

  const std::string path_ = absl::StrCat(::testing::TempDir(), "/token_file_test_", getpid());
};

TEST_F(TokenFileTest, SendsTheFirstTokenAndAcceptsTwo) {
  Write("first-token-0001\nsecond-token-002\nthird-token-0003\n");
  const std::unique_ptr<TokenFile> file = Open();
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->token(), "first-token-0001");
  EXPECT_TRUE(file->Accepts("Bearer ", "Bearer first-token-0001"));
  EXPECT_TRUE(file->Accepts("Bearer ", "Bearer second-token-002"));
  EXPECT_FALSE(file->Accepts("Bearer ", "Bearer third-token-0003"));
  EXPECT_FALSE(file->Accepts("Bearer ", "first-token-0001"));
  EXPECT_FALSE(file->Accepts("Bearer ", ""));
}

TEST_F(TokenFileTest, FollowsTheFile) {
  Write("first-token-0001\n");
  const std::unique_ptr<TokenFile> file = Open();
  ASSERT_NE(file, nullptr);
  Write("second-token-002\n");
  EXPECT_TRUE(Await([&] { return file->token() == "second-token-002"; }));
  EXPECT_FALSE(file->Accepts("", "first-token-0001"));
  // A file that is being written, or written wrongly, does not lock all callers out.
  Write("short\n");
  EXPECT_FALSE(Await([&] { return file->token() != "second-token-002"; }, absl::Seconds(2)));
}

TEST_F(TokenFileTest, RefusesAShortTokenWithoutShowingIt) {
  Write("first-token-0001\nhunter2\n");
  const std::string error(TokenFile::Open("token_file", path_).status().message());
  EXPECT_THAT(error, HasSubstr("security.token_file: line 2 of '"));
  EXPECT_THAT(error, HasSubstr("fewer than 16 characters"));
  EXPECT_THAT(error, ::testing::Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace mallocmuzero
