#include "rpc/grpc_log.h"

#include <grpc/support/log.h>

#include <atomic>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {
namespace {

// Global, because gRPC takes a plain function as its logger.
std::atomic<void (*)(absl::string_view)> receiver = nullptr;

void Receive(gpr_log_func_args* arguments) {
  if (absl::EndsWith(arguments->file, "chttp2_server.cc")) return;  // an address is not available
  receiver.load()(arguments->message);
}

}  // namespace

void PassOnGrpcLog(void (*log)(absl::string_view text)) {
  receiver = log;
  gpr_set_log_function(Receive);
}

}  // namespace mallocmuzero
