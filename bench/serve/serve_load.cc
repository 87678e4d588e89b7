#include "bench/serve/serve_load.h"

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/percentile.h"
#include "base/random.h"
#include "base/rounding.h"
#include "base/steady_clock.h"
#include "mallocmuzero/v1/serve.pb.h"
#include "metrics/process_usage.h"
#include "rpc/channel.h"
#include "rpc/security.h"
#include "rpc/status.h"

namespace mallocmuzero::bench {
namespace {

constexpr char kMethod[] = "/mallocmuzero.v1.Mapper/FindMapping";

// The server's memory is first measured after this share of the requests: before, it grows to what
// its threads and connections need.
constexpr double kWarmUpShare = 0.05;

constexpr uint32_t kMostChanges = 8;  // of bytes of one message

// How often a client that waits for an answer looks whether it is to stop.
constexpr std::chrono::milliseconds kLook(100);

// The answer to one request.
struct Answer {
  absl::Status status;
  v1::FoundMapping result;
};

// Sends bytes as a FindMappingRequest, whether or not they are one. Not thread-safe.
class RawClient {
 public:
  RawClient(const std::string& address, const Security& security)
      : security_(security), stub_(MakeChannel(address, security)) {}
  ~RawClient() {
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // Once `stop` returns true the call is cancelled.
  Answer Call(const std::string& message, absl::Duration timeout,
              const std::function<bool()>& stop) {
    grpc::ClientContext context;
    PrepareCall(context, security_, timeout);
    const auto await = [&] { return Await(context, stop); };
    const std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call =
        stub_.PrepareCall(&context, kMethod, &queue_);
    call->StartCall(nullptr);
    bool going = await();
    if (going) {
      const grpc::Slice slice(message);
      call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
      going = await();
    }
    Answer answer;
    while (going) {
      grpc::ByteBuffer bytes;
      call->Read(&bytes, nullptr);
      going = await();
      if (going) Take(bytes, answer);
    }
    grpc::Status status;
    call->Finish(&status, nullptr);
    await();
    answer.status = FromGrpc(status);
    return answer;
  }

 private:
  bool Await(grpc::ClientContext& context, const std::function<bool()>& stop) {
    void* tag = nullptr;
    bool ok = false;
    for (;;) {
      const auto look = std::chrono::system_clock::now() + kLook;
      const auto next = queue_.AsyncNext(&tag, &ok, look);
      if (next != grpc::CompletionQueue::TIMEOUT) {
        return next == grpc::CompletionQueue::GOT_EVENT && ok;
      }
      if (stop && stop()) context.TryCancel();
    }
  }

  static void Take(grpc::ByteBuffer& bytes, Answer& answer) {
    grpc::ProtoBufferReader reader(&bytes);
    v1::FindMappingResponse response;
    if (response.ParseFromZeroCopyStream(&reader) && response.has_result()) {
      answer.result = std::move(*response.mutable_result());
    }
  }

  const Security& security_;
  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
};

// The message with up to kMostChanges bytes replaced, removed or repeated.
std::string Mutated(std::string message, Random& random) {
  for (uint32_t left = 1 + random.Below(kMostChanges); left > 0 && !message.empty(); --left) {
    const size_t at = random.Below(message.size());
    switch (random.Below(3)) {
      case 0:
        message[at] = random.Next();
        break;
      case 1:
        message.erase(at, 1 + random.Below(16));
        break;
      default:
        message.insert(at, message.substr(at, 1 + random.Below(16)));
        break;
    }
  }
  return message;
}

class Load {
 public:
  explicit Load(const ServeLoadOptions& options)
      : options_(options),
        warm_(RoundToZero(kWarmUpShare * static_cast<double>(options.requests))) {}

  absl::StatusOr<v1::ServeBenchReport> Run() {
    const absl::Time start = SteadyNow();
    std::vector<std::thread> threads;
    for (uint32_t k = 0; k < options_.clients; ++k) threads.emplace_back([this] { RunClient(); });
    for (std::thread& thread : threads) thread.join();
    const absl::MutexLock lock(&mutex_);
    if (!lost_.ok()) return lost_;
    report_.set_clients(options_.clients);
    report_.set_seconds(absl::ToDoubleSeconds(SteadyNow() - start));
    report_.set_overhead_p50_ms(1e3 * Percentile(overheads_, 0.5));
    report_.set_overhead_p99_ms(1e3 * Percentile(overheads_, 0.99));
    report_.set_last_server_bytes(ServerBytes());
    return report_;
  }

 private:
  uint64_t ServerBytes() const {
    return options_.server == 0 ? 0 : ResidentBytesOf(options_.server);
  }

  void RunClient() {
    RawClient client(options_.address, *options_.security);
    for (;;) {
      const uint64_t request = next_++;
      if (request >= options_.requests || over_ || IsStopped()) return;
      Random random(options_.seed + request);
      std::string message = options_.messages[request % options_.messages.size()];
      const uint32_t kind = options_.mutate ? random.Below(3) : 0;
      if (kind == 1) message = Mutated(std::move(message), random);
      if (kind == 2) message.resize(random.Below(message.size()));
      const absl::Time start = SteadyNow();
      const Answer answer = client.Call(message, options_.timeout, options_.stop);
      if (absl::IsCancelled(answer.status) && IsStopped()) return;  // it has no answer
      const double taken = absl::ToDoubleSeconds(SteadyNow() - start);
      const bool has_overhead = kind == 0 && answer.status.ok();
      Count(answer, has_overhead ? std::optional(taken - SearchSeconds(message, answer.result))
                                 : std::nullopt);
    }
  }

  bool IsStopped() const { return options_.stop && options_.stop(); }

  // The time of the search, or the budget if it took longer.
  static double SearchSeconds(const std::string& message, const v1::FoundMapping& result) {
    v1::FindMappingRequest request;
    if (!request.ParseFromString(message)) return 0;
    return std::min(request.budget_seconds(), result.seconds());
  }

  void Count(const Answer& answer, std::optional<double> overhead) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    if (absl::IsUnavailable(answer.status)) {
      lost_ = answer.status;
      over_ = true;
      return;
    }
    ++(*report_.mutable_codes())[absl::StatusCodeToString(answer.status.code())];
    report_.set_requests(report_.requests() + 1);
    report_.set_games(report_.games() + answer.result.games());
    report_.set_simulations(report_.simulations() + answer.result.simulations());
    if (overhead.has_value()) overheads_.push_back(*overhead);
    if (report_.requests() == warm_ + 1) report_.set_first_server_bytes(ServerBytes());
  }

  const ServeLoadOptions& options_;
  const uint64_t warm_;
  std::atomic<uint64_t> next_ = 0;
  std::atomic<bool> over_ = false;
  absl::Mutex mutex_;
  v1::ServeBenchReport report_ ABSL_GUARDED_BY(mutex_);
  std::vector<double> overheads_ ABSL_GUARDED_BY(mutex_);  // seconds
  absl::Status lost_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<v1::ServeBenchReport> LoadServer(const ServeLoadOptions& options) {
  if (options.server != 0 && ResidentBytesOf(options.server) == 0) {
    return absl::NotFoundError(absl::StrCat("no process ", options.server));
  }
  return Load(options).Run();
}

}  // namespace mallocmuzero::bench
