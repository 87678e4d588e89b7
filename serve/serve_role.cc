#include "serve/serve_role.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "actor/round_pacer.h"
#include "actor/self_play.h"
#include "base/log.h"
#include "base/steady_clock.h"
#include "model/network.h"
#include "rpc/security.h"
#include "rpc/server.h"
#include "serve/mapper_service.h"
#include "serve/metrics.h"
#include "serve/network_store.h"
#include "train/train_config.h"

namespace mallocmuzero {
namespace {

constexpr char kLogName[] = "serve";

// The most time between two updates of the gauges.
constexpr absl::Duration kTick = absl::Seconds(1);

absl::StatusOr<SearchConfig> AgentSearch(const v1::ServeConfig& config) {
  v1::SearchOptions options = DefaultSearchOptions();
  options.set_simulations(config.simulations());
  return MakeSearchConfig(options);
}

// Null if the configuration names no checkpoint.
absl::StatusOr<std::unique_ptr<NetworkStore>> OpenNetworks(const v1::ServeConfig& config,
                                                           ServeMetrics& metrics) {
  if (config.checkpoint().empty()) return nullptr;
  const absl::StatusOr<Device> device = ParseDevice(config.device());
  if (!device.ok()) return device.status();
  const absl::StatusOr<Precision> precision = ParsePrecision(config.precision());
  if (!precision.ok()) return precision.status();
  NetworkStoreOptions options;
  options.checkpoint = config.checkpoint();
  options.evaluation = {.precision = *precision, .device = *device};
  const uint32_t slots = RoundPacer::kMostGames * (config.simulations() + 1);
  options.sharing = {.evaluators = config.evaluators(),
                     .models = config.searches(),
                     .slots = slots,
                     .batch_wait = absl::Microseconds(config.batch_wait_microseconds()),
                     .batched = [&metrics](const LaneBatch& batch) { metrics.CountBatch(batch); }};
  return NetworkStore::Open(options);
}

}  // namespace

class ServeRole::Impl {
 public:
  Impl(v1::ServeConfig config, prometheus::Registry* registry)
      : config_(std::move(config)), registry_(registry), metrics_(registry) {}

  ~Impl() { Stop(absl::ZeroDuration()); }

  absl::Status Begin(const std::shared_ptr<const Security>& security) {
    const absl::StatusOr<SearchConfig> search = AgentSearch(config_);
    if (!search.ok()) return search.status();
    absl::StatusOr<std::unique_ptr<NetworkStore>> networks = OpenNetworks(config_, metrics_);
    if (!networks.ok()) return networks.status();
    networks_ = *std::move(networks);
    MapperOptions options;
    options.security = security;
    options.settings = {.limits = {.max_program_bytes = config_.max_program_bytes(),
                                   .max_budget_seconds = config_.max_budget_seconds()},
                        .threads = config_.threads_per_search(),
                        .search = *search};
    options.searches = config_.searches();
    options.waiting = config_.waiting();
    options.networks = networks_.get();
    options.metrics = &metrics_;
    service_ = std::make_unique<MapperService>(options);
    absl::StatusOr<std::unique_ptr<RpcServer>> server =
        RpcServer::Start({.address = config_.address(),
                          .security = security,
                          .services = {service_.get()},
                          .registry = registry_});
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    watcher_ = std::thread([this] { Watch(); });
    return absl::OkStatus();
  }

  absl::Status status() const { return service_->status(); }
  const std::string& address() const { return server_->address(); }

  void Stop(absl::Duration grace) ABSL_LOCKS_EXCLUDED(stop_mutex_) {
    const absl::MutexLock lock(&stop_mutex_);
    if (stopped_.HasBeenNotified()) return;
    stopped_.Notify();
    const absl::Time end = SteadyNow() + grace;
    if (service_ != nullptr) service_->Stop();
    if (server_ != nullptr) {
      server_->Shutdown(std::max(absl::ZeroDuration(), end - SteadyNow()));
    }
    // Comes last, because the watcher may load a large checkpoint.
    if (watcher_.joinable()) watcher_.join();
  }

 private:
  // Updates gauges and looks for another checkpoint until the role stops.
  void Watch() {
    absl::Time reload_at = networks_ == nullptr ? absl::InfiniteFuture() : SteadyNow();
    do {
      if (SteadyNow() >= reload_at) {
        Reload();
        reload_at = SteadyNow() + absl::Seconds(config_.reload_seconds());
      }
      metrics_.Update(service_->running(), service_->waiting(),
                      networks_ == nullptr ? 0 : networks_->current()->step);
    } while (!stopped_.WaitForNotificationWithTimeout(std::min(kTick, reload_at - SteadyNow())));
  }

  void Reload() {
    const absl::StatusOr<bool> loaded = networks_->Reload();
    if (!loaded.ok()) {
      metrics_.CountReload(/*loaded=*/false);
      Log(LogLevel::kWarning, kLogName,
          absl::StrCat("goes on with the network before: ", loaded.status().message()));
    } else if (*loaded) {
      metrics_.CountReload(/*loaded=*/true);
      Log(LogLevel::kInfo, kLogName,
          absl::StrCat("new searches play the network of step ", networks_->current()->step));
    }
  }

  const v1::ServeConfig config_;
  prometheus::Registry* const registry_;
  ServeMetrics metrics_;
  std::unique_ptr<NetworkStore> networks_;
  std::unique_ptr<MapperService> service_;
  std::unique_ptr<RpcServer> server_;
  absl::Mutex stop_mutex_;  // a second call of Stop waits for the first one
  absl::Notification stopped_;
  std::thread watcher_;
};

absl::StatusOr<std::unique_ptr<ServeRole>> ServeRole::Start(
    const v1::ServeConfig& config, const std::shared_ptr<const Security>& security,
    prometheus::Registry* registry) {
  auto impl = std::make_unique<Impl>(config, registry);
  if (absl::Status status = impl->Begin(security); !status.ok()) return status;
  return absl::WrapUnique(new ServeRole(std::move(impl)));
}

ServeRole::ServeRole(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ServeRole::~ServeRole() = default;

absl::Status ServeRole::status() const { return impl_->status(); }

const std::string& ServeRole::address() const { return impl_->address(); }

void ServeRole::Stop(absl::Duration grace) { impl_->Stop(grace); }

}  // namespace mallocmuzero
