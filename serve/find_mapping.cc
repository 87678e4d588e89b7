#include "serve/find_mapping.h"

#include <grpcpp/client_context.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "rpc/channel.h"
#include "rpc/status.h"

namespace mallocmuzero {
namespace {

constexpr absl::Duration kStopInterval = absl::Milliseconds(50);

// Cancels a call once `stop` is true.
class Canceller {
 public:
  Canceller(grpc::ClientContext& context, const std::function<bool()>& stop) {
    if (!stop) return;
    thread_ = std::thread([this, &context, &stop] {
      while (!over_.WaitForNotificationWithTimeout(kStopInterval)) {
        if (!stop()) continue;
        cancelled_ = true;
        context.TryCancel();
        return;
      }
    });
  }
  ~Canceller() {
    over_.Notify();
    if (thread_.joinable()) thread_.join();
  }
  Canceller(const Canceller&) = delete;
  Canceller& operator=(const Canceller&) = delete;

  bool cancelled() const { return cancelled_; }

 private:
  absl::Notification over_;
  std::atomic<bool> cancelled_ = false;
  std::thread thread_;
};

// Whether the end of a call says nothing against the mappings that came before.
bool IsCutShort(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsInternal(status) ||
         absl::IsResourceExhausted(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

absl::StatusOr<v1::FoundMapping> FindMapping(v1::Mapper::StubInterface& server,
                                             const Security& security,
                                             const v1::FindMappingRequest& request,
                                             const FindMappingOptions& options) {
  grpc::ClientContext context;
  PrepareCall(context, security, options.timeout);
  const Canceller canceller(context, options.stop);
  const std::unique_ptr<grpc::ClientReaderInterface<v1::FindMappingResponse>> reader =
      server.FindMapping(&context, request);
  std::optional<v1::FoundMapping> best;
  bool is_result = false;
  v1::FindMappingResponse response;
  while (reader->Read(&response)) {
    if (response.has_started() && options.started) options.started(response.started());
    if (response.has_better()) {
      best = std::move(*response.mutable_better());
      if (options.better) options.better(*best);
    }
    if (response.has_result()) {
      best = std::move(*response.mutable_result());
      is_result = true;
    }
  }
  absl::Status status = FromGrpc(reader->Finish());
  if (is_result && status.ok()) return *std::move(best);
  if (status.ok()) status = absl::InternalError("the server sent no result");
  if (!best.has_value()) return status;
  if (!canceller.cancelled()) {
    if (!options.cut_short || !IsCutShort(status)) return status;
    options.cut_short(status);
  }
  best->set_interrupted(true);
  return *std::move(best);
}

}  // namespace mallocmuzero
