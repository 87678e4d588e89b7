#include "replay/service/replay_shard.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "base/steady_clock.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "mallocmuzero/v1/status.grpc.pb.h"
#include "mallocmuzero/v1/status.pb.h"
#include "metrics/process_usage.h"
#include "replay/service/durable_storage.h"
#include "replay/service/id_set.h"
#include "replay/service/metrics.h"
#include "replay/service/replay_block.h"
#include "replay/service/replay_service.h"
#include "replay/service/replay_table.h"
#include "replay/service/shard_config.h"
#include "replay/service/storage.h"
#include "replay/wire/wire.h"
#include "rpc/answer.h"
#include "rpc/request_bytes.h"
#include "rpc/security.h"
#include "rpc/server.h"

namespace mallocmuzero {
namespace {

// The seconds over which rates are measured.
constexpr size_t kRateSeconds = 5;

const std::string& ListenAddress(const v1::ReplayShard& config) {
  return config.listen_address().empty() ? config.address() : config.listen_address();
}

absl::StatusOr<std::unique_ptr<Storage>> OpenStorage(const v1::ReplayShard& config) {
  if (config.mode() == v1::ReplayShard::MEMORY) return std::make_unique<MemoryStorage>();
  return DurableStorage::Open(
      {.folder = config.data_dir(),
       .sync = config.mode() == v1::ReplayShard::DURABLE_SYNC,
       .cache_bytes = config.cache_bytes(),
       .max_bytes = config.max_bytes(),
       .most_evicted_ids = config.remember_evicted_bytes() / IdSet::kBytesOfEvicted,
       .copies = {.copies = config.copies(), .bytes = config.copy_bytes()}});
}

class StatusService final
    : public v1::Status::WithRawCallbackMethod_GetStatus<v1::Status::Service> {
 public:
  StatusService(const ReplayShard& shard, std::shared_ptr<const Security> security)
      : shard_(shard), security_(std::move(security)) {}

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override {
    grpc::Status status = security_->CheckCaller(*context);
    if (status.ok()) status = CheckSmall(*request);
    if (status.ok()) *response = ToByteBuffer(shard_.Status());
    return Answer(context, status);
  }

 private:
  const ReplayShard& shard_;
  const std::shared_ptr<const Security> security_;
};

}  // namespace

class ReplayShard::Impl {
 public:
  Impl(v1::ReplayShard config, std::unique_ptr<ReplayTable> table,
       std::shared_ptr<const Security> security, prometheus::Registry* registry)
      : config_(std::move(config)),
        security_(std::move(security)),
        registry_(registry),
        metrics_(registry, table->Stats(), config_.name()),
        table_(std::move(table)),
        service_(std::make_unique<ReplayService>(
            *table_, metrics_, security_,
            table_->on_disk() ? absl::StrCat(config_.data_dir(), "/retired") : std::string())),
        notes_(table_->notes()) {
    if (!service_->retired()) return;
    notes_.push_back(absl::StrCat("was removed from the cluster and takes no games; to use ",
                                  config_.data_dir(), " for a new shard, empty the folder first"));
  }

  ~Impl() { Stop(absl::ZeroDuration()); }

  absl::Status Listen(const ReplayShard& shard) {
    status_service_ = std::make_unique<StatusService>(shard, security_);
    absl::StatusOr<std::unique_ptr<RpcServer>> server =
        RpcServer::Start({.address = ListenAddress(config_),
                          .security = security_,
                          .services = {service_.get(), status_service_.get()},
                          .registry = registry_});
    if (!server.ok()) {
      const bool is_own = ListenAddress(config_) != config_.address();
      return StatusAt(absl::StrCat(config_.name(), is_own ? ": listen_address" : ": address"),
                      server.status());
    }
    server_ = *std::move(server);
    Observe();
    observer_ = std::thread([this] {
      while (!stopped_.WaitForNotificationWithTimeout(absl::Seconds(1))) Observe();
    });
    return absl::OkStatus();
  }

  const std::string& address() const { return server_->address(); }
  const std::vector<std::string>& notes() const { return notes_; }
  std::vector<std::string> TakeWarnings() { return table_->TakeWarnings(); }
  v1::ReplayStats Stats() const { return service_->Stats(); }

  v1::RoleStatus Status() const {
    v1::RoleStatus status;
    status.set_role(v1::RoleStatus::REPLAY);
    status.set_name(config_.name());
    status.set_address(config_.address());
    status.set_version(std::string(BuildVersion()));
    status.set_uptime_seconds(absl::ToDoubleSeconds(SteadyNow() - started_));
    status.set_rss_bytes(ResidentBytes());
    const ReplayBlock block = service_->Blocked();
    status.set_blocked_on(block.why);
    status.set_flow_control(block.flow_control());
    AddFigures(service_->Stats(), *status.mutable_figures());
    return status;
  }

  absl::Status Health() const {
    const std::string hang = table_->storage().hang();
    if (hang.empty()) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat("disk: ", hang));
  }

  absl::Status Ready() const {
    const ReplayBlock block = service_->Blocked();
    if (block.why.empty() || block.flow_control()) return absl::OkStatus();
    return absl::UnavailableError(block.why);
  }

  void Stop(absl::Duration grace) {
    if (stopped_.HasBeenNotified()) return;
    stopped_.Notify();
    if (observer_.joinable()) observer_.join();
    service_->Stop();
    if (server_ != nullptr) server_->Shutdown(grace);
  }

 private:
  struct Observation {
    absl::Time time;
    v1::ReplayStats stats;
  };

  void Observe() {
    const v1::ReplayStats stats = service_->Stats();
    metrics_.Update(stats, static_cast<double>(table_->storage().bytes_in_memory()),
                    service_->Blocked().on);
    const absl::MutexLock lock(&mutex_);
    observations_.push_back({SteadyNow(), stats});
    if (observations_.size() > kRateSeconds) observations_.pop_front();
  }

  void AddFigures(const v1::ReplayStats& stats,
                  google::protobuf::Map<std::string, double>& figures) const {
    const auto set = [&](const char* name, auto value) {
      figures[name] = static_cast<double>(value);
    };
    set("items", stats.items());
    set("positions", stats.positions());
    set("bytes", stats.bytes());
    set("disk_bytes", stats.bytes_on_disk());
    set("inserted_items", stats.inserted_items());
    set("sampled_positions", stats.drawn_positions());
    set("duplicate_items", stats.duplicate_items());
    set("evicted_items", stats.evicted_items());
    set("remembered_ids", stats.remembered_ids());
    set("ids_forgotten_early", stats.ids_forgotten_early());
    set("limiter_error_positions", stats.limiter_error());
    set("insert_streams", stats.insert_streams());
    set("sample_streams", stats.sample_streams());
    set("blocked_inserts", stats.blocked_inserts());
    set("blocked_samples", stats.blocked_samples());
    const absl::MutexLock lock(&mutex_);
    if (observations_.empty()) return;
    const Observation& before = observations_.front();
    const double seconds = absl::ToDoubleSeconds(SteadyNow() - before.time);
    if (seconds <= 0) return;
    const auto rate = [seconds](uint64_t now, uint64_t earlier) {
      return now > earlier ? static_cast<double>(now - earlier) / seconds : 0;
    };
    set("inserts_per_second", rate(stats.inserted_items(), before.stats.inserted_items()));
    // The number falls when draws were not delivered.
    set("samples_per_second", rate(stats.drawn_positions(), before.stats.drawn_positions()));
  }

  const v1::ReplayShard config_;
  const std::shared_ptr<const Security> security_;
  prometheus::Registry* const registry_;
  const absl::Time started_ = SteadyNow();
  ReplayMetrics metrics_;
  const std::unique_ptr<ReplayTable> table_;
  const std::unique_ptr<ReplayService> service_;
  std::vector<std::string> notes_;
  std::unique_ptr<StatusService> status_service_;
  std::unique_ptr<RpcServer> server_;

  mutable absl::Mutex mutex_;
  std::deque<Observation> observations_ ABSL_GUARDED_BY(mutex_);  // the latest, a second apart
  absl::Notification stopped_;
  std::thread observer_;
};

absl::StatusOr<std::unique_ptr<ReplayShard>> ReplayShard::Start(
    const v1::ReplayShard& config, const std::shared_ptr<const Security>& security,
    prometheus::Registry* registry, std::unique_ptr<Storage> storage) {
  MMZ_RETURN_IF_ERROR(CheckShardConfig(config));
  // Checked before the data is opened, so that a mistake in the address is reported even if another
  // process has the data open.
  MMZ_RETURN_IF_ERROR(security->CheckListenAddress(ListenAddress(config)));
  if (storage == nullptr) {
    absl::StatusOr<std::unique_ptr<Storage>> opened = OpenStorage(config);
    if (!opened.ok()) return opened.status();
    storage = *std::move(opened);
  }
  absl::StatusOr<std::unique_ptr<ReplayTable>> table =
      ReplayTable::Open(config, std::move(storage));
  if (!table.ok()) return table.status();
  std::unique_ptr<ReplayShard> shard(
      new ReplayShard(std::make_unique<Impl>(config, *std::move(table), security, registry)));
  if (absl::Status status = shard->impl_->Listen(*shard); !status.ok()) return status;
  return shard;
}

ReplayShard::ReplayShard(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ReplayShard::~ReplayShard() = default;

const std::string& ReplayShard::address() const { return impl_->address(); }

const std::vector<std::string>& ReplayShard::notes() const { return impl_->notes(); }

std::vector<std::string> ReplayShard::TakeWarnings() { return impl_->TakeWarnings(); }

v1::ReplayStats ReplayShard::Stats() const { return impl_->Stats(); }

v1::RoleStatus ReplayShard::Status() const { return impl_->Status(); }

absl::Status ReplayShard::Health() const { return impl_->Health(); }

absl::Status ReplayShard::Ready() const { return impl_->Ready(); }

void ReplayShard::Stop(absl::Duration grace) { impl_->Stop(grace); }

}  // namespace mallocmuzero
