// Access control between processes: TLS certificates, a token, and the addresses that a server may
// listen on.

#ifndef MALLOCMUZERO_RPC_SECURITY_H_
#define MALLOCMUZERO_RPC_SECURITY_H_

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "rpc/token_file.h"

namespace mallocmuzero {

// The credentials of a process, shared by all of its channels and servers. They follow their files:
// new connections use new certificates within seconds, and calls use new tokens (rpc/token_file.h).
// Thread-safe. No error message contains a secret.
class Security {
 public:
  // Uses neither TLS nor a token and allows loopback addresses only.
  Security() = default;

  // Reads the files that `config` names. Relative paths are relative to `folder`. InvalidArgument
  // names the field and the file that is missing or malformed.
  static absl::StatusOr<std::shared_ptr<const Security>> Load(const v1::Security& config,
                                                              const std::string& folder);

  // The credentials for gRPC servers and channels: mutual TLS if configured, else insecure.
  std::shared_ptr<grpc::ServerCredentials> ServerCredentials() const;
  std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials() const;

  // The token that every call must carry; empty if calls need none.
  std::string token() const { return token_ == nullptr ? "" : token_->token(); }
  std::string admin_token() const { return admin_token_ == nullptr ? "" : admin_token_->token(); }

  // InvalidArgument if a server may not listen on `address` (host:port): it is malformed, or it is
  // not a loopback address and there is neither TLS, nor a token that may be sent in clear text,
  // nor allow_insecure_network.
  absl::Status CheckListenAddress(const std::string& address) const;

  // InvalidArgument if calls to `address` (host:port) would send a token in clear text to another
  // machine, which neither allow_clear_text_token nor allow_insecure_network allows.
  absl::Status CheckCallAddress(const std::string& address) const;

  // Returns a function that says whether a request for metrics on `address` carries the token in
  // its header "Authorization". The function follows the token file and may outlive this object. It
  // is null if requests need no token. InvalidArgument if metrics, which are served without TLS,
  // may not be served at `address`.
  using HeaderCheck = std::function<bool(absl::string_view authorization)>;
  absl::StatusOr<HeaderCheck> MetricsAccess(const std::string& address) const;

  // Checks a caller; a server must call this first in every call. Returns UNAUTHENTICATED if the
  // caller lacks the token, FAILED_PRECONDITION if it speaks another protocol version.
  grpc::Status CheckCaller(const grpc::ServerContextBase& context) const;

  // Replaces CheckCaller in calls of administration. Also returns PERMISSION_DENIED if the caller
  // lacks the administrators' token or, if none is configured, is on another machine.
  grpc::Status CheckAdministrator(const grpc::ServerContextBase& context) const;

 private:
  // Reads the certificates again when their files change; null without TLS.
  std::shared_ptr<grpc::experimental::CertificateProviderInterface> certificates_;
  std::shared_ptr<TokenFile> token_;        // null if calls need no token
  std::shared_ptr<TokenFile> admin_token_;  // has no tokens if this machine lacks the file
  bool has_admin_token_ = false;            // whether it is configured
  bool allow_clear_text_token_ = false;
  bool allow_insecure_network_ = false;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_SECURITY_H_
