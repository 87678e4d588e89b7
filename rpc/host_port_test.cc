#include "rpc/host_port.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

namespace mallocmuzero {
namespace {

std::string HostOf(const char* address) {
  const std::optional<HostPort> parsed = ParseHostPort(address);
  return parsed.has_value() ? absl::StrCat(parsed->host, " ", parsed->port) : "none";
}

bool IsLoopbackHost(const char* host) { return IsLoopback({.host = host, .port = 1}); }

TEST(HostPort, ReadsNamesAndAddressesOfBothKinds) {
  EXPECT_EQ(HostOf("127.0.0.1:7410"), "127.0.0.1 7410");
  EXPECT_EQ(HostOf("learner-1.example_net:1"), "learner-1.example_net 1");
  EXPECT_EQ(HostOf("[::1]:65535"), "::1 65535");
  EXPECT_EQ(HostOf("[2001:db8::7]:80"), "2001:db8::7 80");
}

TEST(HostPort, NeedsAHost) {
  for (const char* address : {"", "7410", ":7410", "[]:7410", "a b:1", "http://h:1", "h/:1"}) {
    EXPECT_EQ(HostOf(address), "none") << address;
  }
}

TEST(HostPort, NeedsAPort) {
  for (const char* address :
       {"localhost", "h:", "h:0", "h:65536", "h:99999999999", "h:-1", "h:+1", "h: 1", "h:1x"}) {
    EXPECT_EQ(HostOf(address), "none") << address;
  }
}

TEST(HostPort, OnlyAnIpv6AddressStandsInBrackets) {
  for (const char* address : {"[::1]", "::1:1", "[::1:1", "::1]:1", "[h:1", "h]:1", "[h]:1",
                              "[127.0.0.1]:1", "[::1]]:1", "[::g]:1"}) {
    EXPECT_EQ(HostOf(address), "none") << address;
  }
}

TEST(HostPort, ZeroIsAPortWhereItIsAskedFor) {
  const std::optional<HostPort> parsed = ParseHostPort("[::1]:0", 0);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->port, 0);
  EXPECT_FALSE(ParseHostPort("[::1]:65536", 0).has_value());
}

TEST(HostPort, IsWrittenAsItIsRead) {
  for (const char* address : {"127.0.0.1:7410", "[2001:db8::7]:80", "learner:1"}) {
    EXPECT_EQ(ToString(*ParseHostPort(address)), address);
  }
}

TEST(HostPort, KnowsWhatOnlyThisMachineCanReach) {
  for (const char* host : {"localhost", "127.0.0.1", "127.255.1.2", "::1", "0:0:0:0:0:0:0:1"}) {
    EXPECT_TRUE(IsLoopbackHost(host)) << host;
  }
  for (const char* host : {"128.0.0.1", "10.127.0.1", "0.0.0.0", "::", "::2", "fe80::1", "learner",
                           "localhost.example.net", "127.example.net", "127.0.0.1.example.net"}) {
    EXPECT_FALSE(IsLoopbackHost(host)) << host;
  }
}

TEST(HostPort, AWildcardIsInTheWayOfEveryHost) {
  EXPECT_TRUE(AreSameHost({"0.0.0.0", 1}, {"10.0.0.1", 1}));
  EXPECT_TRUE(AreSameHost({"::1", 1}, {"::", 1}));
  EXPECT_TRUE(AreSameHost({"localhost", 1}, {"127.0.0.1", 1}));
  EXPECT_FALSE(AreSameHost({"a", 1}, {"b", 1}));
}

}  // namespace
}  // namespace mallocmuzero
