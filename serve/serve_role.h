// The server of `serve` as a whole.

#ifndef MALLOCMUZERO_SERVE_SERVE_ROLE_H_
#define MALLOCMUZERO_SERVE_SERVE_ROLE_H_

#include <prometheus/registry.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/serve.pb.h"

namespace mallocmuzero {

class Security;

// Serves the service Mapper, health and reflection, and plays newer checkpoints as they come.
// Thread-safe.
class ServeRole {
 public:
  // `config` must come from CompleteServeConfig; without a checkpoint the solvers search alone.
  // InvalidArgument or NotFound names the field, the file or the address that is wrong. `registry`
  // gets the metrics of serve/metrics.h; it may be null. It is not owned and must outlive the role.
  static absl::StatusOr<std::unique_ptr<ServeRole>> Start(
      const v1::ServeConfig& config, const std::shared_ptr<const Security>& security,
      prometheus::Registry* registry);

  // Calls Stop without grace.
  ~ServeRole();
  ServeRole(const ServeRole&) = delete;
  ServeRole& operator=(const ServeRole&) = delete;

  // OK while the server can search. Otherwise the error of the device that evaluates the network;
  // the process should then be restarted.
  absl::Status status() const;

  // host:port with the port that the server listens on.
  const std::string& address() const;

  // Ends the running searches, whose calls get their best mappings, and refuses other calls. Blocks
  // until all calls have ended; they are cancelled after `grace`.
  void Stop(absl::Duration grace);

 private:
  class Impl;

  explicit ServeRole(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SERVE_SERVE_ROLE_H_
