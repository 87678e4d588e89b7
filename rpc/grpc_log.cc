#include "rpc/grpc_log.h"

#include <grpc/support/log.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "rpc/message_limit.h"

namespace mallocmuzero {
namespace {

// Global, because gRPC takes a plain function as its logger.
std::atomic<void (*)(absl::string_view)> receiver = nullptr;

void Receive(gpr_log_func_args* arguments) {
  if (absl::EndsWith(arguments->file, "chttp2_server.cc")) return;  // an address is not available
  // An operator who asks for other messages wants all of them.
  if (arguments->severity == GPR_LOG_SEVERITY_ERROR) {
    static MessageLimit& limit = *new MessageLimit();
    const std::optional<uint64_t> left_out = limit.Take(std::chrono::steady_clock::now());
    if (!left_out.has_value()) return;
    if (*left_out > 0) receiver.load()(absl::StrCat(*left_out, " messages were left out"));
  }
  receiver.load()(arguments->message);
}

}  // namespace

void PassOnGrpcLog(void (*log)(absl::string_view text)) {
  receiver = log;
  gpr_set_log_function(Receive);
}

}  // namespace mallocmuzero
