#include "rpc/security.h"

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file_io.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "rpc/host_port.h"
#include "rpc/protocol.h"
#include "rpc/token_file.h"

namespace mallocmuzero {
namespace {

namespace tls = grpc::experimental;

// The time after which a change of a certificate's file is noticed at the latest.
constexpr unsigned int kRefreshSeconds = 2;

// Reads a small file. InvalidArgument names `field` and the file, never the file's content.
absl::StatusOr<std::string> ReadSecret(absl::string_view field, const std::string& folder,
                                       const std::string& name) {
  const std::string path = (std::filesystem::path(folder) / name).string();
  absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok() || text->empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("security.", field, ": '", path, "' cannot be read or is empty"));
  }
  return text;
}

absl::Status CheckPem(absl::string_view field, const std::string& folder, const std::string& name,
                      absl::string_view what) {
  const absl::StatusOr<std::string> text = ReadSecret(field, folder, name);
  if (!text.ok()) return text.status();
  if (absl::StrContains(*text, absl::StrCat(what, "-----"))) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("security.", field, ": '", name, "' is no PEM file with a ", what));
}

// Moves `opened` into `tokens`.
absl::Status Take(absl::StatusOr<std::unique_ptr<TokenFile>> opened,
                  std::shared_ptr<TokenFile>& tokens) {
  if (!opened.ok()) return opened.status();
  tokens = *std::move(opened);
  return absl::OkStatus();
}

// The caller's metadata under `key`; empty if it sent none.
absl::string_view MetadataOf(const grpc::ServerContextBase& context, const char* key) {
  const auto found = context.client_metadata().find(key);
  if (found == context.client_metadata().end()) return {};
  return absl::string_view(found->second.data(), found->second.size());
}

// Whether a peer, by gRPC's name such as "ipv4:127.0.0.1:4711", is on this machine.
bool IsLocal(absl::string_view peer) {
  return absl::StartsWith(peer, "ipv4:127.") || absl::StartsWith(peer, "ipv6:[::1]:") ||
         absl::StartsWith(peer, "ipv6:%5B::1%5D:") || absl::StartsWith(peer, "unix:");
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Security>> Security::Load(const v1::Security& config,
                                                               const std::string& folder) {
  auto security = std::make_shared<Security>();
  security->allow_insecure_network_ = config.allow_insecure_network();
  security->allow_clear_text_token_ = config.allow_clear_text_token();
  security->has_admin_token_ = !config.admin_token_file().empty();
  const int files =
      !config.ca_file().empty() + !config.certificate_file().empty() + !config.key_file().empty();
  if (files != 0 && files != 3) {
    return absl::InvalidArgumentError(
        "security: TLS needs ca_file, certificate_file and key_file, all three");
  }
  const auto path_of = [&folder](const std::string& name) {
    return (std::filesystem::path(folder) / name).string();
  };
  if (files == 3) {
    absl::Status status = CheckPem("ca_file", folder, config.ca_file(), "CERTIFICATE");
    status.Update(CheckPem("certificate_file", folder, config.certificate_file(), "CERTIFICATE"));
    status.Update(CheckPem("key_file", folder, config.key_file(), "PRIVATE KEY"));
    if (!status.ok()) return status;
    security->certificates_ = std::make_shared<tls::FileWatcherCertificateProvider>(
        path_of(config.key_file()), path_of(config.certificate_file()), path_of(config.ca_file()),
        kRefreshSeconds);
  }
  absl::Status status;
  if (!config.token_file().empty()) {
    status = Take(TokenFile::Open("token_file", path_of(config.token_file())), security->token_);
  }
  // Only shards, the learner and administrators have the file. It may come later.
  if (security->has_admin_token_) {
    status.Update(Take(TokenFile::OpenLater("admin_token_file", path_of(config.admin_token_file())),
                       security->admin_token_));
  }
  if (!status.ok()) return status;
  return security;
}

std::shared_ptr<grpc::ServerCredentials> Security::ServerCredentials() const {
  if (certificates_ == nullptr) return grpc::InsecureServerCredentials();
  tls::TlsServerCredentialsOptions options(certificates_);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return tls::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> Security::ChannelCredentials() const {
  if (certificates_ == nullptr) return grpc::InsecureChannelCredentials();
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(certificates_);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  return tls::TlsCredentials(options);
}

absl::Status Security::CheckListenAddress(const std::string& address) const {
  const std::optional<HostPort> parsed = ParseHostPort(address, /*least_port=*/0);
  if (!parsed.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("address '", address, "' is not host:port, such as 127.0.0.1:7001"));
  }
  const bool token_is_enough = token_ != nullptr && allow_clear_text_token_;
  if (IsLoopback(*parsed) || certificates_ != nullptr || token_is_enough ||
      allow_insecure_network_) {
    return absl::OkStatus();
  }
  if (token_ != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "address '", address,
        "' can be reached from other machines, and without TLS the token goes there in clear text: "
        "give certificates in 'security', or set security.allow_clear_text_token"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "address '", address,
      "' can be reached from other machines: give certificates or a token "
      "in 'security', or set security.allow_insecure_network if the network is closed otherwise"));
}

absl::Status Security::CheckCallAddress(const std::string& address) const {
  const std::optional<HostPort> parsed = ParseHostPort(address);
  const bool has_token = token_ != nullptr || !admin_token().empty();
  const bool is_allowed = allow_clear_text_token_ || allow_insecure_network_;
  if (!has_token || certificates_ != nullptr || is_allowed ||
      (parsed.has_value() && IsLoopback(*parsed))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("address '", address,
                   "': without TLS the token goes there in clear text: give certificates, or set "
                   "allow_clear_text_token"));
}

absl::StatusOr<Security::HeaderCheck> Security::MetricsAccess(const std::string& address) const {
  const std::optional<HostPort> parsed = ParseHostPort(address, /*least_port=*/0);
  if ((parsed.has_value() && IsLoopback(*parsed)) || allow_insecure_network_) return HeaderCheck();
  if (token_ != nullptr && allow_clear_text_token_) {
    return HeaderCheck([token = token_](absl::string_view authorization) {
      return token->Accepts(kTokenPrefix, authorization);
    });
  }
  return absl::InvalidArgumentError(absl::StrCat(
      address,
      ": metrics can be read from other machines: listen on a loopback address, or set "
      "security.allow_insecure_network if the network is closed otherwise, or give a token and "
      "security.allow_clear_text_token"));
}

grpc::Status Security::CheckAdministrator(const grpc::ServerContextBase& context) const {
  if (grpc::Status status = CheckCaller(context); !status.ok()) return status;
  if (!has_admin_token_) {
    if (IsLocal(context.peer())) return grpc::Status::OK;
    return {grpc::StatusCode::PERMISSION_DENIED,
            "administration over an address that is not loopback needs security.admin_token_file"};
  }
  if (admin_token_ != nullptr &&
      admin_token_->Accepts(kTokenPrefix, MetadataOf(context, kAdminKey))) {
    return grpc::Status::OK;
  }
  return {grpc::StatusCode::PERMISSION_DENIED,
          "the call carries no token of administrators, or another one"};
}

grpc::Status Security::CheckCaller(const grpc::ServerContextBase& context) const {
  if (token_ != nullptr && !token_->Accepts(kTokenPrefix, MetadataOf(context, kTokenKey))) {
    return {grpc::StatusCode::UNAUTHENTICATED, "the call carries no token, or another one"};
  }
  const std::string ours = absl::StrCat(kProtocolVersion);
  const absl::string_view theirs = MetadataOf(context, kProtocolKey);
  if (theirs != ours) {
    return {
        grpc::StatusCode::FAILED_PRECONDITION,
        absl::StrCat("the caller speaks protocol version '", absl::CHexEscape(theirs.substr(0, 20)),
                     "', this server version ", ours, ": use the same release on both sides")};
  }
  return grpc::Status::OK;
}

}  // namespace mallocmuzero
