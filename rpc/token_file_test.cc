#include "rpc/token_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using ::testing::AllOf;
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

  const std::string path_ = ::testing::TempDir() + "/token_file_test";
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

TEST_F(TokenFileTest, AFileMayComeLater) {
  std::filesystem::remove(path_);
  const auto file = TokenFile::OpenLater("admin_token_file", path_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->token(), "");
  EXPECT_FALSE((*file)->Accepts("Bearer ", "Bearer "));
  Write("first-token-0001\n");
  EXPECT_TRUE(Await([&] { return (*file)->Accepts("Bearer ", "Bearer first-token-0001"); }));
  EXPECT_EQ((*file)->token(), "first-token-0001");
  // A file that is there must be right.
  Write("short\n");
  EXPECT_FALSE(TokenFile::OpenLater("admin_token_file", path_).ok());
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

// A named pipe stands for a file on a disk that hangs: it can be opened and read once it has a
// writer.
TEST_F(TokenFileTest, AFileThatCannotBeReadYetHoldsUpOneCallerOnly) {
  Write("first-token-0001\n");
  const std::unique_ptr<TokenFile> file = Open();
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(unlink(path_.c_str()), 0);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  std::thread held_up([&] {
    while (file->token() == "first-token-0001") {
    }
  });
  int writer = -1;
  const auto has_reader = [&] {
    writer = open(path_.c_str(), O_WRONLY | O_NONBLOCK);
    return writer >= 0;
  };
  EXPECT_TRUE(Await(has_reader));
  std::future<std::string> other = std::async(std::launch::async, [&] { return file->token(); });
  EXPECT_EQ(other.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  unlink(path_.c_str());
  EXPECT_EQ(write(writer, "second-token-002\n", 17), 17);
  close(writer);
  held_up.join();
  EXPECT_EQ(other.get(), "first-token-0001");
}

TEST_F(TokenFileTest, RefusesAFolder) {
  const std::string error(TokenFile::Open("token_file", ::testing::TempDir()).status().message());
  EXPECT_THAT(error, AllOf(HasSubstr("security.token_file: '"), HasSubstr("cannot be read")));
}

TEST_F(TokenFileTest, KeepsItsTokensWhenTheFileBecomesAFolder) {
  Write("first-token-0001\n");
  const std::unique_ptr<TokenFile> file = Open();
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(unlink(path_.c_str()), 0);
  ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
  const auto accepts = [&] { return file->Accepts("", "first-token-0001"); };
  EXPECT_FALSE(Await([&] { return !accepts(); }, absl::Seconds(2)));
  ASSERT_EQ(rmdir(path_.c_str()), 0);
  Write("second-token-002\n");
  EXPECT_TRUE(Await([&] { return !accepts(); }));
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
