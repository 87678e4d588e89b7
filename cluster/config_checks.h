// What a cluster's configuration must be, beyond its syntax.

#ifndef MALLOCMUZERO_CLUSTER_CONFIG_CHECKS_H_
#define MALLOCMUZERO_CLUSTER_CONFIG_CHECKS_H_

#include "cluster/config_text.h"
#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero {

// Of `config` with its defaults and absolute paths; `root` is the section of the whole of it, which
// takes the complaints. `programs` says whether learner.workloads must be there.
void CheckClusterConfig(const v1::ClusterConfig& config, bool programs, const ConfigSection& root);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_CONFIG_CHECKS_H_
