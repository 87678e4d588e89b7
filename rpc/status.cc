#include "rpc/status.h"

#include <grpcpp/support/status.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {
namespace {

constexpr size_t kMostReasonBytes = 160;

// The first `most` bytes, without a part of a character of UTF-8 at their end.
absl::string_view Cut(absl::string_view text, size_t most) {
  if (text.size() <= most) return text;
  const auto continues = [](char byte) { return (byte & 0xC0) == 0x80; };
  while (most > 0 && continues(text[most])) --most;
  return text.substr(0, most);
}

}  // namespace

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

std::string Reason(const absl::Status& status) {
  if (absl::IsDeadlineExceeded(status)) return "no answer in time";
  absl::string_view message = status.message();
  for (const absl::string_view chain : {"last error: ", "Failed to connect to remote host: "}) {
    const size_t cause = message.rfind(chain);
    if (cause != absl::string_view::npos) message.remove_prefix(cause + chain.size());
  }
  const std::string text(Cut(message, kMostReasonBytes));
  if (absl::IsUnavailable(status) || absl::IsUnknown(status)) {
    return text.empty() ? "does not answer" : text;
  }
  return absl::StrCat(absl::StatusCodeToString(status.code()), text.empty() ? "" : ": ", text);
}

absl::Status StatusOfCall(absl::string_view place, const absl::Status& status) {
  if (status.ok()) return status;
  const std::string why =
      absl::IsUnavailable(status) ? Reason(status) : std::string(status.message());
  return absl::Status(status.code(), absl::StrCat(place, ": ", why));
}

}  // namespace mallocmuzero
