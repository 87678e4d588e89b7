#include "rpc/security.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "rpc/test_certificates.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class SecurityTest : public ::testing::Test {
 protected:
  SecurityTest() { std::filesystem::create_directories(folder_); }
  ~SecurityTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
  }

  std::string ErrorOf(const v1::Security& config) {
    return std::string(Security::Load(config, folder_).status().message());
  }

  const std::string folder_ = ::testing::TempDir() + "/security_test";
};

TEST_F(SecurityTest, NothingConfiguredMeansLoopbackOnly) {
  const Security security;
  EXPECT_TRUE(security.CheckListenAddress("127.0.0.1:7001").ok());
  EXPECT_TRUE(security.CheckListenAddress("localhost:7001").ok());
  EXPECT_TRUE(security.CheckListenAddress("[::1]:7001").ok());
  EXPECT_THAT(security.CheckListenAddress("0.0.0.0:7001").message(),
              AllOf(HasSubstr("0.0.0.0:7001"), HasSubstr("allow_insecure_network")));
  EXPECT_FALSE(security.CheckListenAddress("[::]:7001").ok());
  EXPECT_FALSE(security.CheckListenAddress("10.1.2.3:7001").ok());
  // This is a name and no address, though it begins with 127.
  EXPECT_FALSE(security.CheckListenAddress("127.example.net:7001").ok());
}

TEST_F(SecurityTest, AnAddressNeedsHostAndPort) {
  for (const char* address : {"7001", ":7001", "localhost:", "localhost:65536", "[::1]", "::1:1"}) {
    EXPECT_THAT(Security().CheckListenAddress(address).message(), HasSubstr("host:port"));
  }
  EXPECT_TRUE(Security().CheckListenAddress("localhost:0").ok());
}

TEST_F(SecurityTest, ATokenOpensTheNetworkOnlyWithTlsOrByAnExplicitFlag) {
  Write("token", "0123456789abcdef  \nfedcba9876543210\nthird line\n");
  v1::Security config;
  config.set_token_file("token");
  const absl::StatusOr<std::shared_ptr<const Security>> security = Security::Load(config, folder_);
  ASSERT_TRUE(security.ok()) << security.status();
  EXPECT_EQ((*security)->token(), "0123456789abcdef");
  EXPECT_TRUE((*security)->CheckListenAddress("127.0.0.1:7001").ok());
  EXPECT_THAT((*security)->CheckListenAddress("0.0.0.0:7001").message(),
              AllOf(HasSubstr("clear text"), HasSubstr("allow_clear_text_token")));
  config.set_allow_clear_text_token(true);
  EXPECT_TRUE((*Security::Load(config, folder_))->CheckListenAddress("0.0.0.0:7001").ok());
  config.clear_allow_clear_text_token();
  const TestCertificates certificates = MakeTestCertificates();
  Write("ca.pem", certificates.ca);
  Write("cert.pem", certificates.certificate);
  Write("key.pem", certificates.key);
  config.set_ca_file("ca.pem");
  config.set_certificate_file("cert.pem");
  config.set_key_file("key.pem");
  EXPECT_TRUE((*Security::Load(config, folder_))->CheckListenAddress("0.0.0.0:7001").ok());
}

TEST_F(SecurityTest, MetricsObeyTheRuleOfLoopbackOrAskForTheToken) {
  EXPECT_EQ(*Security().MetricsAccess("127.0.0.1:9464"), nullptr);
  EXPECT_THAT(Security().MetricsAccess("0.0.0.0:9464").status().message(),
              HasSubstr("allow_insecure_network"));
  v1::Security config;
  config.set_allow_insecure_network(true);
  EXPECT_EQ(*(*Security::Load(config, folder_))->MetricsAccess("0.0.0.0:9464"), nullptr);
  Write("token", "0123456789abcdef\n");
  config.Clear();
  config.set_token_file("token");
  EXPECT_FALSE((*Security::Load(config, folder_))->MetricsAccess("0.0.0.0:9464").ok());
  config.set_allow_clear_text_token(true);
  EXPECT_EQ(*(*Security::Load(config, folder_))->MetricsAccess("127.0.0.1:9464"), nullptr);
  const Security::HeaderCheck check =
      *(*Security::Load(config, folder_))->MetricsAccess("0.0.0.0:9464");
  ASSERT_NE(check, nullptr);
  EXPECT_FALSE(check(""));
  EXPECT_FALSE(check("Bearer 0123456789abcdeF"));
  EXPECT_TRUE(check("Bearer 0123456789abcdef"));
}

TEST_F(SecurityTest, RequestsForMetricsNeedTheTokenThatTheFileHasNow) {
  Write("token", "0123456789abcdef\n");
  v1::Security config;
  config.set_token_file("token");
  config.set_allow_clear_text_token(true);
  const Security::HeaderCheck check =
      *(*Security::Load(config, folder_))->MetricsAccess("0.0.0.0:9464");
  Write("token", "another-token-02\n0123456789abcdef\n");
  EXPECT_TRUE(testing::Await([&] { return check("Bearer another-token-02"); }));
  EXPECT_TRUE(check("Bearer 0123456789abcdef"));
  Write("token", "another-token-02\n");
  EXPECT_TRUE(testing::Await([&] { return !check("Bearer 0123456789abcdef"); }));
}

TEST_F(SecurityTest, ATokenGoesInClearTextOnlyWhereThatIsAllowed) {
  EXPECT_TRUE(Security().CheckCallAddress("10.1.2.3:7500").ok());
  Write("token", "0123456789abcdef\n");
  for (const bool is_admin : {false, true}) {
    v1::Security config;
    *(is_admin ? config.mutable_admin_token_file() : config.mutable_token_file()) = "token";
    const auto security = *Security::Load(config, folder_);
    EXPECT_TRUE(security->CheckCallAddress("127.0.0.1:7500").ok());
    EXPECT_THAT(security->CheckCallAddress("10.1.2.3:7500").message(),
                HasSubstr("'10.1.2.3:7500': without TLS the token goes there in clear text"));
    config.set_allow_clear_text_token(true);
    EXPECT_TRUE((*Security::Load(config, folder_))->CheckCallAddress("10.1.2.3:7500").ok());
  }
}

TEST_F(SecurityTest, AShortTokenIsRefusedWithoutBeingShown) {
  Write("short", "hunter2\n");
  v1::Security config;
  config.set_token_file("short");
  EXPECT_THAT(ErrorOf(config), AllOf(HasSubstr("16 characters"), Not(HasSubstr("hunter2"))));
}

TEST_F(SecurityTest, TlsTakesAllThreeFiles) {
  v1::Security config;
  config.set_ca_file("ca.pem");
  EXPECT_THAT(ErrorOf(config), HasSubstr("all three"));
}

TEST_F(SecurityTest, NamesTheFileThatIsNotWhatItShouldBe) {
  const TestCertificates certificates = MakeTestCertificates();
  Write("ca.pem", certificates.ca);
  Write("cert.pem", certificates.certificate);
  Write("key.pem", certificates.key);
  v1::Security config;
  config.set_ca_file("ca.pem");
  config.set_certificate_file("cert.pem");
  config.set_key_file("key.pem");
  EXPECT_EQ(ErrorOf(config), "");

  config.set_key_file("cert.pem");
  EXPECT_THAT(ErrorOf(config), AllOf(HasSubstr("key_file"), HasSubstr("PRIVATE KEY")));
  config.set_key_file("absent.pem");
  EXPECT_THAT(ErrorOf(config), AllOf(HasSubstr("key_file"), HasSubstr("absent.pem")));
}

TEST_F(SecurityTest, NamesAFolderInPlaceOfAFile) {
  std::filesystem::create_directories(folder_ + "/secrets");
  v1::Security config;
  config.set_token_file("secrets");
  EXPECT_THAT(ErrorOf(config),
              AllOf(HasSubstr("security.token_file: '"), HasSubstr("/secrets' cannot be read")));
  config.clear_token_file();
  const TestCertificates certificates = MakeTestCertificates();
  Write("cert.pem", certificates.certificate);
  Write("key.pem", certificates.key);
  config.set_ca_file("secrets");
  config.set_certificate_file("cert.pem");
  config.set_key_file("key.pem");
  EXPECT_THAT(ErrorOf(config),
              AllOf(HasSubstr("security.ca_file: '"), HasSubstr("/secrets' cannot be read")));
}

}  // namespace
}  // namespace mallocmuzero
