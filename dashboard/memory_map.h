// A program and its mappings as the data of a memory map: time across, addresses upwards.

#ifndef MALLOCMUZERO_DASHBOARD_MEMORY_MAP_H_
#define MALLOCMUZERO_DASHBOARD_MEMORY_MAP_H_

#include "mallocmuzero/v1/dashboard.pb.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "view/timeline.h"

namespace mallocmuzero {

// Describes the program without a mapping and without versions.
v1::DashboardProgram DescribeProgram(const Program& program);

// A mapping to draw. Its indices must lie in the program (MappingFromProto checks that).
struct DrawnMapping {
  const Mapping& mapping;
  bool has_addresses = true;
};

// The stays, copies and steps of the mapping on the axis, and how it differs from the default. Does
// not set id and title.
v1::DashboardMap MakeMap(const Program& program, const DrawnMapping& drawn, view::Axis axis);

// Bytes of an array without the padding of its layout. `shape` is HLO text, such as
// "bf16[8,100]{1,0:T(8,128)}". NaN if it is not the shape of an array.
double UnpaddedBytes(const std::string& shape);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_DASHBOARD_MEMORY_MAP_H_
