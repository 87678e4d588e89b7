// Checks a cluster's configuration beyond its syntax.

#ifndef MALLOCMUZERO_CLUSTER_CONFIG_CHECKS_H_
#define MALLOCMUZERO_CLUSTER_CONFIG_CHECKS_H_

#include "cluster/config_text.h"
#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero {

// Checks `config`, which must have its defaults and absolute paths, and adds all mistakes to
// `root`, the section of the whole file. `programs` says whether learner.workloads must exist.
void CheckClusterConfig(const v1::ClusterConfig& config, bool programs, const ConfigSection& root);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_CONFIG_CHECKS_H_
