#include "simulator/hlo/print_groups.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mallocmuzero::hlo {
namespace {

using Groups = google::protobuf::RepeatedPtrField<xla::ReplicaGroup>;

constexpr int kMostAxes = 64;
constexpr size_t kMostNameBytes = 4096;

std::string Lists(const Groups& groups) {
  return absl::StrCat("{",
                      absl::StrJoin(groups, ",",
                                    [](std::string* text, const xla::ReplicaGroup& group) {
                                      absl::StrAppend(text, "{",
                                                      absl::StrJoin(group.replica_ids(), ","), "}");
                                    }),
                      "}");
}

std::string Iota(const xla::IotaReplicaGroupListProto& list) {
  std::string text = absl::StrCat("[", list.num_replica_groups(), ",", list.num_devices_per_group(),
                                  "]<=[", absl::StrJoin(list.iota_reshape_dims(), ","), "]");
  if (list.iota_transpose_perm_size() > 1) {
    absl::StrAppend(&text, "T(", absl::StrJoin(list.iota_transpose_perm(), ","), ")");
  }
  return text;
}

// The name in single quotes, without bytes that the parser could take for the end of the value.
std::string AxisName(const std::string& name) {
  std::string printable;
  std::copy_if(name.begin(), name.end(), std::back_inserter(printable), [](char byte) {
    return absl::ascii_isalnum(byte) || byte == '_' || byte == '-' || byte == '.';
  });
  return absl::StrCat("'", printable, "'");
}

absl::Status CheckMeshAxes(const xla::MeshAxesReplicaGroupListProto& list) {
  const auto error = [](absl::string_view field, absl::string_view expected, size_t found) {
    return absl::InvalidArgumentError(absl::StrCat("mesh_axes_replica_group_list.", field,
                                                   ": expected ", expected, ", found ", found));
  };
  if (list.axes_size() > kMostAxes) {
    return error("axes", absl::StrCat("at most ", kMostAxes), list.axes_size());
  }
  for (const auto& axis : list.mesh().axes()) {
    if (axis.name().size() <= kMostNameBytes) continue;
    return error("mesh.axes.name", absl::StrCat("at most ", kMostNameBytes, " bytes"),
                 axis.name().size());
  }
  return absl::OkStatus();
}

std::string MeshAxes(const xla::MeshAxesReplicaGroupListProto& list) {
  std::vector<std::string> axes;
  for (const auto& axis : list.mesh().axes()) {
    axes.push_back(absl::StrCat(AxisName(axis.name()), "=", axis.size()));
  }
  std::string text = absl::StrCat("mesh[", absl::StrJoin(axes, ","), "]");
  if (!list.mesh().device_ids().empty()) {
    absl::StrAppend(&text, ", device_ids=(", absl::StrJoin(list.mesh().device_ids(), ","), ")");
  }
  std::vector<std::string> joined;
  for (const xla::AxisRefProto& axis : list.axes()) {
    const int64_t index = axis.mesh_axis_index();
    if (index < 0 || index >= list.mesh().axes_size()) continue;
    std::string name = AxisName(list.mesh().axes(static_cast<int>(index)).name());
    if (axis.has_sub_axis_info()) {
      absl::StrAppend(&name, ":(", axis.sub_axis_info().pre_size(), ")",
                      axis.sub_axis_info().size());
    }
    joined.push_back(std::move(name));
  }
  return absl::StrCat(text, " {", absl::StrJoin(joined, ","), "}");
}

}  // namespace

absl::Status AppendReplicaGroups(const xla::HloInstructionProto& collective, std::string& out) {
  const xla::CollectiveDeviceListProto& list = collective.collective_device_list();
  if (collective.has_mesh_axes_replica_group_list()) {
    absl::Status status = CheckMeshAxes(collective.mesh_axes_replica_group_list());
    if (!status.ok()) return status;
    absl::StrAppend(&out, ", replica_groups=", MeshAxes(collective.mesh_axes_replica_group_list()));
  } else if (collective.has_iota_collective_device_list()) {
    absl::StrAppend(&out, ", replica_groups=", Iota(collective.iota_collective_device_list()));
  } else if (list.has_iota_replica_group_list()) {
    absl::StrAppend(&out, ", replica_groups=", Iota(list.iota_replica_group_list()));
  } else if (!list.replica_groups().empty()) {
    absl::StrAppend(&out, ", replica_groups=", Lists(list.replica_groups()));
  } else if (!collective.replica_groups().empty()) {
    absl::StrAppend(&out, ", replica_groups=", Lists(collective.replica_groups()));
  }
  return absl::OkStatus();
}

void AppendSourceTargetPairs(const xla::HloInstructionProto& permute, std::string& out) {
  if (permute.source_target_pairs().empty()) return;
  absl::StrAppend(&out, ", source_target_pairs={",
                  absl::StrJoin(permute.source_target_pairs(), ",",
                                [](std::string* text, const xla::SourceTarget& pair) {
                                  absl::StrAppend(text, "{", pair.source(), ",", pair.target(),
                                                  "}");
                                }),
                  "}");
}

}  // namespace mallocmuzero::hlo
