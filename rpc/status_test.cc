#include "rpc/status.h"

#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(Reason, IsTheLastOfAChainOfCauses) {
  EXPECT_EQ(Reason(absl::UnavailableError(
                "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:7400: "
                "Failed to connect to remote host: Connection refused")),
            "Connection refused");
  EXPECT_EQ(Reason(absl::UnavailableError("failed to connect to all addresses; last error: "
                                          "UNKNOWN: ipv4:127.0.0.1:7400: Ssl handshake failed")),
            "UNKNOWN: ipv4:127.0.0.1:7400: Ssl handshake failed");
}

TEST(Reason, NamesTheCodeOfAnAnswer) {
  EXPECT_EQ(Reason(absl::UnauthenticatedError("no token")), "UNAUTHENTICATED: no token");
  EXPECT_EQ(Reason(absl::ResourceExhaustedError("")), "RESOURCE_EXHAUSTED");
}

TEST(Reason, IsAFewWords) {
  EXPECT_EQ(Reason(absl::UnavailableError("")), "does not answer");
  EXPECT_EQ(Reason(absl::DeadlineExceededError("Deadline Exceeded")), "no answer in time");
  EXPECT_EQ(Reason(absl::UnavailableError(std::string(1000, 'x'))).size(), 160);
  // No character is cut: a report with half a one could not be read.
  EXPECT_EQ(Reason(absl::UnavailableError(std::string(159, 'x') + "\u00f6")).size(), 159);
  EXPECT_EQ(Reason(absl::UnavailableError(std::string(158, 'x') + "\u00f6")).size(), 160);
}

TEST(StatusOfCall, SaysShortlyThatAServerDoesNotAnswer) {
  EXPECT_EQ(StatusOfCall("host:1", absl::UnavailableError(
                                       "failed to connect to all addresses; last error: UNKNOWN: "
                                       "ipv4:127.0.0.1:1: Failed to connect to remote host: "
                                       "Connection refused")),
            absl::UnavailableError("host:1: Connection refused"));
  EXPECT_EQ(StatusOfCall("host:1", absl::InvalidArgumentError("no shard: last error: a")),
            absl::InvalidArgumentError("host:1: no shard: last error: a"));
  EXPECT_TRUE(StatusOfCall("host:1", absl::OkStatus()).ok());
}

}  // namespace
}  // namespace mallocmuzero
