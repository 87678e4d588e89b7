#include "simulator/import/baseline/pack_mapping.h"

#include <cstdint>
#include <vector>

#include "base/union_find.h"
#include "simulator/import/baseline/pack.h"

namespace mallocmuzero {
namespace {

constexpr int kPackAttempts = 2000;

// Half a minute. Only very long programs need so many.
constexpr int64_t kPackLooks = int64_t{1} << 31;

// Adds the blocks of an interval. The bytes of each slice are occupied from the start of that
// slice's copy.
void AddBlocks(const v1::Interval& interval, int64_t bytes, int32_t group,
               std::vector<Block>& blocks) {
  if (interval.copy_in_slices_size() == 0) {
    blocks.push_back({interval.first(), interval.last(), bytes, 0, group});
  }
  int64_t delta = 0;
  for (const v1::CopySlice& slice : interval.copy_in_slices()) {
    blocks.push_back({slice.start(), interval.last(), slice.bytes(), delta, group});
    delta += slice.bytes();
  }
}

}  // namespace

absl::flat_hash_map<int32_t, int32_t> CarriedBuffers(const v1::Program& program) {
  UnionFind sets(program.buffers_size());
  absl::flat_hash_map<int32_t, int32_t> carried;
  for (const v1::CarriedGroup& group : program.carried_groups()) {
    for (uint32_t member : {group.initial_buffer(), group.parameter_buffer(), group.root_buffer(),
                            group.result_buffer()}) {
      sets.Union(group.initial_buffer(), member);
      carried[member] = 0;
    }
  }
  for (auto& [buffer, representative] : carried) {
    representative = sets.Find(buffer);
  }
  return carried;
}

bool PackMapping(const v1::Program& program, v1::Mapping& mapping) {
  const absl::flat_hash_map<int32_t, int32_t> carried = CarriedBuffers(program);
  absl::flat_hash_map<int32_t, int32_t> group_of_carried;
  std::vector<Block> blocks;
  std::vector<int32_t> group_of_interval;
  int32_t groups = 0;
  for (const v1::Interval& interval : mapping.intervals()) {
    const int32_t buffer = interval.buffer();
    int32_t group = groups;
    if (const auto found = carried.find(buffer); found != carried.end()) {
      group = group_of_carried.try_emplace(found->second, groups).first->second;
    }
    if (group == groups) ++groups;
    AddBlocks(interval, program.buffers(buffer).bytes(), group, blocks);
    group_of_interval.push_back(group);
  }
  const auto offsets =
      PackBlocks(blocks, program.hardware().fast_memory_bytes(),
                 program.hardware().fast_memory_alignment_bytes(), kPackAttempts, kPackLooks);
  if (!offsets) return false;
  for (int i = 0; i < mapping.intervals_size(); ++i) {
    mapping.mutable_intervals(i)->set_offset((*offsets)[group_of_interval[i]]);
  }
  return true;
}

}  // namespace mallocmuzero
