#include "cli/agent/server_search.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/security.h"

namespace mallocmuzero::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The error of a security file with this text.
std::string ErrorOf(const std::string& text) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/client.textproto");
  EXPECT_TRUE(WriteFileAtomically(path, text).ok());
  const auto security = LoadServerSecurity(path);
  EXPECT_EQ(security.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(security.status().message());
}

TEST(LoadServerSecurity, NamesLineAndFieldOfAMistake) {
  EXPECT_THAT(ErrorOf("# of the client\ntoken: \"token\"\n"),
              HasSubstr("/client.textproto:2: token: no such field; here may be ca_file"));
  EXPECT_THAT(ErrorOf("\nallow_insecure_network: maybe\n"),
              HasSubstr("/client.textproto:2: allow_insecure_network: "));
  EXPECT_THAT(ErrorOf("token_file: \"token\n"), HasSubstr("/client.textproto:1: "));
}

TEST(LoadServerSecurity, CountsSeveralMistakes) {
  EXPECT_THAT(ErrorOf("token: \"token\"\nca: \"ca.pem\"\n"),
              HasSubstr("/client.textproto: 2 mistakes"));
}

TEST(LoadServerSecurity, NamesAFileThatIsMissing) {
  EXPECT_THAT(ErrorOf("token_file: \"no_such_token\"\n"),
              AllOf(HasSubstr("token_file"), HasSubstr("no_such_token")));
}

TEST(LoadServerSecurity, NoFileStandsForNoSecurity) { EXPECT_TRUE(LoadServerSecurity("").ok()); }

}  // namespace
}  // namespace mallocmuzero::cli
