// Prints which devices a collective of XLA's messages joins, as it appears in HLO text.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_PRINT_GROUPS_H_
#define MALLOCMUZERO_SIMULATOR_HLO_PRINT_GROUPS_H_

#include <string>

#include "absl/status/status.h"
#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero::hlo {

// Appends ", replica_groups=..." in the form that the message has, or nothing if it has none:
//   {{0,1},{2,3}}                      lists of devices
//   [2,4]<=[4,2]T(1,0)                 groups and devices in each, cut out of all devices in order
//   mesh['x'=2,'y'=4] {'y'}            devices that differ only along these axes of a mesh
// (ReplicaGroupsToString, IotaTileAssignment::ToString, MeshAxesReplicaGroupList::ToString in
// xla/hlo/ir). Names of axes that could end the value are printed without the bytes in question.
// InvalidArgument, one line, if the devices differ along more than 64 axes, or an axis has a name
// of more than 4096 bytes. A long name that occurs often makes a text much longer than the message.
absl::Status AppendReplicaGroups(const xla::HloInstructionProto& collective, std::string& out);

// Appends ", source_target_pairs={{0,1},{1,0}}", or nothing if there are none.
void AppendSourceTargetPairs(const xla::HloInstructionProto& permute, std::string& out);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_PRINT_GROUPS_H_
