#include "rpc/security.h"

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>
#include <openssl/crypto.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "rpc/host_port.h"
#include "rpc/protocol.h"

namespace mallocmuzero {
namespace {

// Reads a small file. InvalidArgument names `field` and the file, never the file's content.
absl::StatusOr<std::string> ReadSecret(absl::string_view field, const std::string& folder,
                                       const std::string& name) {
  const std::string path = (std::filesystem::path(folder) / name).string();
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file || text.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("security.", field, ": '", path, "' cannot be read or is empty"));
  }
  return text;
}

absl::Status ReadPem(absl::string_view field, const std::string& folder, const std::string& name,
                     absl::string_view what, std::string& pem) {
  absl::StatusOr<std::string> text = ReadSecret(field, folder, name);
  if (!text.ok()) return text.status();
  if (!absl::StrContains(*text, absl::StrCat(what, "-----"))) {
    return absl::InvalidArgumentError(
        absl::StrCat("security.", field, ": '", name, "' is no PEM file with a ", what));
  }
  pem = *std::move(text);
  return absl::OkStatus();
}

// Reads the first line of the file into `token`.
absl::Status ReadToken(absl::string_view field, const std::string& folder, const std::string& name,
                       std::string& token) {
  const absl::StatusOr<std::string> text = ReadSecret(field, folder, name);
  if (!text.ok()) return text.status();
  token = std::string(absl::StripAsciiWhitespace(text->substr(0, text->find('\n'))));
  if (token.size() >= 16) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("security.", field, ": the first line of '", name,
                                                 "' has fewer than 16 characters"));
}

// Compares in a time that does not depend on where the texts differ.
bool SameSecret(absl::string_view a, absl::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
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
  if (files == 3) {
    absl::Status status =
        ReadPem("ca_file", folder, config.ca_file(), "CERTIFICATE", security->ca_);
    status.Update(ReadPem("certificate_file", folder, config.certificate_file(), "CERTIFICATE",
                          security->certificate_));
    status.Update(ReadPem("key_file", folder, config.key_file(), "PRIVATE KEY", security->key_));
    if (!status.ok()) return status;
  }
  absl::Status status;
  if (!config.token_file().empty()) {
    status = ReadToken("token_file", folder, config.token_file(), security->token_);
  }
  // Only shards and administrators have the file.
  std::error_code error;
  if (security->has_admin_token_ &&
      std::filesystem::exists(std::filesystem::path(folder) / config.admin_token_file(), error)) {
    status.Update(
        ReadToken("admin_token_file", folder, config.admin_token_file(), security->admin_token_));
  }
  if (!status.ok()) return status;
  return security;
}

std::shared_ptr<grpc::ServerCredentials> Security::ServerCredentials() const {
  if (ca_.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = ca_;
  options.pem_key_cert_pairs.push_back({key_, certificate_});
  return grpc::SslServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> Security::ChannelCredentials() const {
  if (ca_.empty()) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials(
      {.pem_root_certs = ca_, .pem_private_key = key_, .pem_cert_chain = certificate_});
}

absl::Status Security::CheckListenAddress(const std::string& address) const {
  const std::optional<HostPort> parsed = ParseHostPort(address, /*least_port=*/0);
  if (!parsed.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("address '", address, "' is not host:port, such as 127.0.0.1:7001"));
  }
  const bool token_is_enough = !token_.empty() && allow_clear_text_token_;
  if (IsLoopback(*parsed) || !ca_.empty() || token_is_enough || allow_insecure_network_) {
    return absl::OkStatus();
  }
  if (!token_.empty()) {
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

absl::StatusOr<std::string> Security::MetricsToken(const std::string& address) const {
  const std::optional<HostPort> parsed = ParseHostPort(address, /*least_port=*/0);
  if ((parsed.has_value() && IsLoopback(*parsed)) || allow_insecure_network_) return std::string();
  if (!token_.empty() && allow_clear_text_token_) return token_;
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
            "administration from another machine needs security.admin_token_file"};
  }
  if (!admin_token_.empty() &&
      SameSecret(MetadataOf(context, kAdminKey), absl::StrCat(kTokenPrefix, admin_token_))) {
    return grpc::Status::OK;
  }
  return {grpc::StatusCode::PERMISSION_DENIED,
          "the call carries no token of administrators, or another one"};
}

grpc::Status Security::CheckCaller(const grpc::ServerContextBase& context) const {
  if (!token_.empty() &&
      !SameSecret(MetadataOf(context, kTokenKey), absl::StrCat(kTokenPrefix, token_))) {
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
