// Who may call whom: TLS certificates, a token, and which addresses may be listened on.

#ifndef MALLOCMUZERO_RPC_SECURITY_H_
#define MALLOCMUZERO_RPC_SECURITY_H_

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero {

// Immutable; shared by all of a process's channels and servers. Its secrets are in no message.
class Security {
 public:
  // Neither TLS nor a token, loopback only.
  Security() = default;

  // Reads the files named; relative ones are relative to `folder`. InvalidArgument names the field
  // and the file.
  static absl::StatusOr<std::shared_ptr<const Security>> Load(const v1::Security& config,
                                                              const std::string& folder);

  std::shared_ptr<grpc::ServerCredentials> ServerCredentials() const;
  std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials() const;

  // Empty: none.
  const std::string& token() const { return token_; }
  const std::string& admin_token() const { return admin_token_; }

  // InvalidArgument if `address` (host:port) may not be listened on: it is not a loopback address
  // and there is neither TLS, nor a token that may be sent in clear text, nor
  // allow_insecure_network.
  absl::Status CheckListenAddress(const std::string& address) const;

  // The token that requests for metrics on `address` must carry, empty if none. InvalidArgument if
  // metrics, which are served without TLS, may not be there.
  absl::StatusOr<std::string> MetricsToken(const std::string& address) const;

  // For a server, first thing in every call: FAILED_PRECONDITION if the caller speaks another
  // protocol version, UNAUTHENTICATED if it lacks the token.
  grpc::Status CheckCaller(const grpc::ServerContextBase& context) const;

  // For a call of administration, instead: PERMISSION_DENIED if the caller lacks the token of
  // administrators, or, where none is configured, is on another machine.
  grpc::Status CheckAdministrator(const grpc::ServerContextBase& context) const;

 private:
  std::string ca_;  // PEM
  std::string certificate_;
  std::string key_;
  std::string token_;
  std::string admin_token_;
  bool has_admin_token_ = false;  // it is configured, though this machine may lack the file
  bool allow_clear_text_token_ = false;
  bool allow_insecure_network_ = false;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_SECURITY_H_
