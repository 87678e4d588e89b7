#include "replay/client/priority_writer.h"

#include <grpcpp/client_context.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/replay.grpc.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "rpc/channel.h"
#include "rpc/security.h"

namespace mallocmuzero {
namespace {

// The most updates of one call, and the most that may wait. The oldest are dropped first.
constexpr size_t kMaxUpdates = 4096;
constexpr size_t kMaxWaiting = 65536;

}  // namespace

PriorityWriter::PriorityWriter(const std::shared_ptr<grpc::Channel>& channel,
                               std::shared_ptr<const Security> security, SamplerMetrics& metrics,
                               absl::Duration timeout)
    : stub_(v1::Replay::NewStub(channel)),
      security_(std::move(security)),
      metrics_(metrics),
      timeout_(timeout),
      thread_([this] { Run(); }) {}

PriorityWriter::~PriorityWriter() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
    if (context_ != nullptr) context_->TryCancel();
    changed_.Signal();
  }
  thread_.join();
}

void PriorityWriter::Add(std::vector<v1::UpdatePrioritiesRequest::Update> updates) {
  const absl::MutexLock lock(&mutex_);
  for (v1::UpdatePrioritiesRequest::Update& update : updates) {
    updates_.push_back(std::move(update));
  }
  while (updates_.size() > kMaxWaiting) {
    updates_.pop_front();
    metrics_.dropped_priorities->Increment();
  }
  changed_.Signal();
}

void PriorityWriter::Run() {
  while (true) {
    grpc::ClientContext context;
    v1::UpdatePrioritiesRequest request;
    {
      const absl::MutexLock lock(&mutex_);
      while (updates_.empty() && !stopping_) changed_.Wait(&mutex_);
      if (stopping_) return;
      while (!updates_.empty() && request.updates_size() < kMaxUpdates) {
        *request.add_updates() = std::move(updates_.front());
        updates_.pop_front();
      }
      // The call's deadline counts from here, so it must not be set before the wait above.
      PrepareCall(context, *security_, timeout_);
      context_ = &context;
    }
    v1::UpdatePrioritiesResponse response;
    const bool ok = stub_->UpdatePriorities(&context, request, &response).ok();
    (ok ? metrics_.sent_priorities : metrics_.dropped_priorities)
        ->Increment(request.updates_size());
    const absl::MutexLock lock(&mutex_);
    context_ = nullptr;
  }
}

}  // namespace mallocmuzero
