// Checks the addresses in a cluster's configuration.

#ifndef MALLOCMUZERO_CLUSTER_ADDRESS_CHECKS_H_
#define MALLOCMUZERO_CLUSTER_ADDRESS_CHECKS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cluster/config_text.h"
#include "rpc/host_port.h"
#include "rpc/security.h"

namespace mallocmuzero {

// Remembers the addresses of earlier sections, which later ones must not use again. Complains to
// the section about each mistake.
class AddressChecks {
 public:
  // Until this call no address is checked against the security's rules.
  void SetSecurity(std::shared_ptr<const Security> security);

  // Checks the addresses of an RPC server: other roles must be able to find it at `address`, and
  // `listen_address` must be secured if strangers can reach it.
  void CheckListen(const std::string& address, const std::string& listen_address,
                   const ConfigSection& section);

  // Checks the address of `count` metrics servers on consecutive ports: strangers may read them
  // only as the security permits. An empty address means none. `machine` is the address of an RPC
  // server on the same machine.
  void CheckMetrics(const std::string& address, uint32_t count, const std::string& machine,
                    const ConfigSection& section);

  // Checks the address, which `field` has, where processes meet: it must be secured if strangers
  // can reach it. `machine` is the address of an RPC server on the same machine.
  void CheckMeeting(const std::string& field, const std::string& address,
                    const std::string& machine, const ConfigSection& section);

 private:
  struct Place {
    HostPort address;  // of the first port
    uint32_t count;    // of ports in a row
    std::string field;
    std::string where;  // the field's line, or the override that set it
  };

  void CheckSecured(const std::string& field, const std::string& address,
                    const ConfigSection& section) const;

  // Complains if an earlier section has taken one of the ports.
  void CheckFree(const Place& place, const ConfigSection& section, const std::string& field);

  std::shared_ptr<const Security> security_;  // null if its section has mistakes
  std::vector<Place> places_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_ADDRESS_CHECKS_H_
