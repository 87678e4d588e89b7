// A learner for tests of what actors ask of it.

#ifndef MALLOCMUZERO_ACTOR_ROLE_TEST_LEARNER_H_
#define MALLOCMUZERO_ACTOR_ROLE_TEST_LEARNER_H_

#include <grpcpp/server_context.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/sha256.h"
#include "mallocmuzero/v1/learner.grpc.pb.h"

namespace mallocmuzero {

// A learner whose weights, answers and faults the test sets.
class FakeLearner final : public v1::Learner::Service {
 public:
  grpc::Status WatchCheckpoint(grpc::ServerContext* context,
                               const v1::WatchCheckpointRequest* /*request*/,
                               grpc::ServerWriter<v1::CheckpointNotice>* writer) override {
    uint64_t sent = 0;
    while (!context->IsCancelled()) {
      v1::CheckpointNotice notice;
      {
        const absl::MutexLock lock(&mutex);
        const auto newer = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return step > sent; };
        if (!mutex.AwaitWithTimeout(absl::Condition(&newer), absl::Milliseconds(20))) continue;
        notice.set_step(step);
        notice.set_sha256(Sha256(weights));
        notice.set_bytes(weights.size());
        sent = step;
      }
      writer->Write(notice);
    }
    return grpc::Status::OK;
  }

  // Sends a file. For the weights, fails once after `cut_after` bytes, or damages them once.
  grpc::Status Fetch(grpc::ServerContext* context, const v1::FetchRequest* request,
                     grpc::ServerWriter<v1::FetchResponse>* writer) override {
    const absl::MutexLock lock(&mutex);
    offsets.push_back(request->offset());
    timeouts.push_back(absl::FromChrono(context->deadline()) - absl::Now());
    const bool is_weights = request->sha256() == Sha256(weights);
    if (superseded && is_weights) return {grpc::StatusCode::NOT_FOUND, "superseded"};
    const std::string& file = is_weights ? weights : program;
    if (Sha256(file) != request->sha256()) return {grpc::StatusCode::NOT_FOUND, "superseded"};
    const std::string rest = file.substr(request->offset());
    v1::FetchResponse chunk;
    chunk.set_data(rest);
    if (!is_weights) {
      writer->Write(chunk);
      return grpc::Status::OK;
    }
    if (cut_after > 0) chunk.set_data(rest.substr(0, cut_after));
    if (damage) (*chunk.mutable_data())[0] ^= 1;
    damage = false;
    writer->Write(chunk);
    if (cut_after == 0) return grpc::Status::OK;
    cut_after = 0;
    return {grpc::StatusCode::UNAVAILABLE, "cut"};
  }

  grpc::Status GetAssignment(grpc::ServerContext* /*context*/,
                             const v1::GetAssignmentRequest* /*request*/,
                             v1::Assignment* response) override {
    const absl::MutexLock lock(&mutex);
    response->set_version(version);
    v1::Assignment::Program& assigned = *response->add_programs();
    assigned.set_file_sha256(Sha256(program));
    assigned.set_file_bytes(program.size());
    return grpc::Status::OK;
  }

  grpc::Status Report(grpc::ServerContext* /*context*/, const v1::ActorReport* request,
                      v1::ActorOrders* response) override {
    const absl::MutexLock lock(&mutex);
    reports.push_back(*request);
    response->set_step(step);
    response->set_assignment_version(version);
    return answer;
  }

  absl::Mutex mutex;
  uint64_t step ABSL_GUARDED_BY(mutex) = 1;
  uint64_t version ABSL_GUARDED_BY(mutex) = 1;
  std::string weights ABSL_GUARDED_BY(mutex) = "weights of step 1";
  std::string program ABSL_GUARDED_BY(mutex) = "a program";
  size_t cut_after ABSL_GUARDED_BY(mutex) = 0;
  bool damage ABSL_GUARDED_BY(mutex) = false;
  bool superseded ABSL_GUARDED_BY(mutex) = false;               // each version at once
  std::vector<uint64_t> offsets ABSL_GUARDED_BY(mutex);         // of fetches
  std::vector<absl::Duration> timeouts ABSL_GUARDED_BY(mutex);  // likewise
  grpc::Status answer ABSL_GUARDED_BY(mutex);                   // to reports
  std::vector<v1::ActorReport> reports ABSL_GUARDED_BY(mutex);
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_TEST_LEARNER_H_
