// Writes a configuration of a cluster whose addresses and folders are filled in later, on the nodes
// that run its roles.

#ifndef MALLOCMUZERO_CLUSTER_CONFIG_TEMPLATE_H_
#define MALLOCMUZERO_CLUSTER_CONFIG_TEMPLATE_H_

#include <string>

#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero {

// The fields of `config`, which must have its defaults and absolute paths, in text format, with
// marks in place of what depends on a node:
//   %address:NAME%   host:port of the shard NAME, of `learner`, or of `rendezvous`
//   %metrics:NAME%   the metrics address of a shard, of `learner`, `actor` or `reanalyse`
//   %spool%          the folder of an actor's spool
//   %local%          the folder of a node, if `local_shards`; shards have %local%/shards/NAME
// Without `local_shards`, shards have SHARED/shards/NAME/data, where SHARED is `shared_dir`.
std::string ConfigTemplate(v1::ClusterConfig config, bool local_shards,
                           const std::string& shared_dir);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_CONFIG_TEMPLATE_H_
