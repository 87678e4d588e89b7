#include "rpc/call_timer.h"

#include <google/protobuf/descriptor.h>
#include <grpcpp/support/server_interceptor.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace mallocmuzero {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerInterceptorFactoryInterface;
using grpc::experimental::ServerRpcInfo;
using prometheus::Histogram;
using Clock = std::chrono::steady_clock;  // an operator may set the wall clock during a call

class CallTimer : public Interceptor {
 public:
  CallTimer(prometheus::Family<Histogram>& family, absl::string_view method)
      : family_(family), method_(method), start_(Clock::now()) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      Count(static_cast<absl::StatusCode>(methods->GetSendStatus().error_code()));
    }
    methods->Proceed();
  }

 private:
  void Count(absl::StatusCode code) {
    static const Histogram::BucketBoundaries kSeconds = {1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2,
                                                         0.1,  0.3,  1,    3,    10,   60};
    family_.Add({{"method", method_}, {"code", absl::StatusCodeToString(code)}}, kSeconds)
        .Observe(std::chrono::duration<double>(Clock::now() - start_).count());
  }

  prometheus::Family<Histogram>& family_;
  std::string method_;
  Clock::time_point start_;
};

class CallTimerFactory : public ServerInterceptorFactoryInterface {
 public:
  explicit CallTimerFactory(prometheus::Registry& registry)
      : family_(prometheus::BuildHistogram()
                    .Name("mallocmuzero_rpc_server_seconds")
                    .Help("Time from a call's arrival until its status is sent.")
                    .Register(registry)) {}

  Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    // A method's name comes from the caller. Only known methods become labels, so that a stranger
    // cannot create time series without bound.
    const absl::string_view path = info->method();
    const std::string name = absl::StrReplaceAll(absl::StripPrefix(path, "/"), {{"/", "."}});
    const auto* method = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
    return new CallTimer(family_, method != nullptr ? method->full_name() : "other");
  }

 private:
  prometheus::Family<Histogram>& family_;
};

}  // namespace

std::unique_ptr<ServerInterceptorFactoryInterface> MakeCallTimer(prometheus::Registry& registry) {
  return std::make_unique<CallTimerFactory>(registry);
}

}  // namespace mallocmuzero
