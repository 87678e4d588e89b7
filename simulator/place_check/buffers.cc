// Finds the values that share a buffer, and the most bytes that buffers take at the same time.

#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "simulator/place_check/in_place.h"
#include "simulator/place_check/memory.h"
#include "simulator/place_check/shapes.h"

namespace mallocmuzero::place_check {
namespace {

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

// Bytes that a value takes in fast memory.
int64_t FastBytes(const Value& value, int64_t alignment) {
  const int64_t bytes = ByteSize(*value.shape);
  if (alignment <= 1 || bytes % alignment == 0) return bytes;
  return SaturatingAdd(bytes, alignment - bytes % alignment);
}

}  // namespace

Buffers::Buffers(const Flow& flow, Report& report)
    : flow_(flow), report_(report), in_place_(flow.graph()), parent_(flow.size()) {
  std::iota(parent_.begin(), parent_.end(), 0);
  const Graph& graph = flow.graph();
  for (int c = 0; c < graph.computations.size(); ++c) {
    if (graph.computations[c].controlled) {
      for (int i = 0; i < graph.computations[c].instructions.size(); ++i) {
        switch (graph.At(c, i).kind) {
          case Kind::kWhile:
            UniteLoop(c, i);
            break;
          case Kind::kConditional:
            UniteBranches(c, i);
            break;
          case Kind::kFusion:
          case Kind::kCompute:
            UniteInPlace(c, i);
            break;
          default:
            break;
        }
      }
    }
  }
  UniteProgramAliases();
}

int Buffers::Of(ValueId value) const {
  int buffer = flow_.Stored(value);
  while (parent_[buffer] != buffer) buffer = parent_[buffer];
  return buffer;
}

void Buffers::Unite(ValueId a, ValueId b, const std::string& what) {
  a = flow_.Stored(a);
  b = flow_.Stored(b);
  const xla::ShapeProto& x = *flow_.value(a).shape;
  const xla::ShapeProto& y = *flow_.value(b).shape;
  if (SpaceOf(x) != SpaceOf(y)) {
    report_.Add(PlacedRule::kAliasSpace, what, ": ", Describe(x), " and ", Describe(y),
                " share a buffer");
  }
  int low = Of(a);
  int high = Of(b);
  if (low > high) std::swap(low, high);
  parent_[high] = low;
  // Path compression: link every value on the way directly to the representative.
  for (ValueId v : {a, b}) {
    while (parent_[v] != v) v = std::exchange(parent_[v], low);
  }
}

void Buffers::UniteInPlace(int computation, int index) {
  for (const InPlacePair& pair : in_place_.Pairs(computation, index)) {
    const int operand = flow_.graph().At(computation, index).operands[pair.operand];
    Unite(flow_.Leaf(computation, index, pair.output_leaf),
          flow_.Leaf(computation, operand, pair.operand_leaf),
          flow_.graph().Describe(computation, index));
  }
}

void Buffers::UniteLoop(int computation, int index) {
  const Instruction& loop = flow_.graph().At(computation, index);
  const Computation& body = flow_.graph().computations[loop.calls[kBody]];
  if (body.parameters.size() != 1) return;
  const LeafValues initial = flow_.Of(computation, loop.operands[0]);
  const LeafValues carried = flow_.Of(loop.calls[kBody], body.parameters[0]);
  const LeafValues roots = flow_.OfRoot(loop.calls[kBody]);
  const LeafValues results = flow_.Of(computation, index);
  const size_t count = std::min({initial.size(), carried.size(), roots.size(), results.size()});
  for (size_t i = 0; i < count; ++i) {
    const std::string what =
        absl::StrCat(flow_.graph().Describe(computation, index), ", array ", i);
    for (const ValueId other : {carried[i], roots[i], results[i]}) Unite(initial[i], other, what);
  }
}

void Buffers::UniteBranches(int computation, int index) {
  const Instruction& conditional = flow_.graph().At(computation, index);
  const LeafValues results = flow_.Of(computation, index);
  for (const int branch : conditional.calls) {
    const LeafValues roots = flow_.OfRoot(branch);
    for (size_t i = 0; i < std::min(roots.size(), results.size()); ++i) {
      Unite(results[i], roots[i],
            absl::StrCat(flow_.graph().Describe(computation, index), ", array ", i));
    }
  }
}

void Buffers::UniteProgramAliases() {
  const Graph& graph = flow_.graph();
  const Computation& entry = graph.computations[graph.entry];
  const LeafValues results = flow_.OfRoot(graph.entry);
  for (const auto& alias : graph.proto->input_output_alias().entries()) {
    if (alias.parameter_number() < 0 || alias.parameter_number() >= entry.parameters.size()) {
      continue;
    }
    const int parameter = entry.parameters[alias.parameter_number()];
    const LeafValues given = flow_.Of(graph.entry, parameter);
    const size_t in = LeafAt(graph.ShapeOf(graph.entry, parameter), alias.parameter_shape_index());
    const size_t out = LeafAt(graph.RootShape(graph.entry), alias.output_shape_index());
    if (in >= given.size() || out >= results.size()) continue;
    Unite(given[in], results[out],
          absl::StrCat("parameter ", alias.parameter_number(), " and its result"));
  }
}

Peak FindPeak(const Flow& flow, const Buffers& buffers, const MemoryTrace& trace,
              const PlacedCheckOptions& options) {
  struct Event {
    int step;
    int buffer;
    int change;
  };
  std::vector<Event> events;
  std::vector<int64_t> bytes(flow.size(), 0);  // for each buffer
  for (ValueId v = 0; v < flow.size(); ++v) {
    const Value& value = flow.value(v);
    if (trace.lives[v].first < 0 || value.shape == nullptr ||
        SpaceOf(*value.shape) != options.fast_memory_space) {
      continue;
    }
    const int buffer = buffers.Of(v);
    bytes[buffer] = std::max(bytes[buffer], FastBytes(value, options.alignment_bytes));
    events.push_back({trace.lives[v].first, buffer, 1});
    events.push_back({trace.lives[v].last + 1, buffer, -1});
  }
  // At each step, values that end free their bytes before other values begin.
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::make_pair(a.step, a.change) < std::make_pair(b.step, b.change);
  });
  std::vector<int> alive(flow.size(), 0);
  Peak peak;
  absl::int128 now = 0;  // arrays of absurd sizes together take more than 64 bits hold
  for (const Event& event : events) {
    const bool was = alive[event.buffer] > 0;
    alive[event.buffer] += event.change;
    const bool is = alive[event.buffer] > 0;
    if (was && !is) now -= bytes[event.buffer];
    if (!was && is) now += bytes[event.buffer];
    if (now <= peak.bytes) continue;
    const absl::int128 most = std::numeric_limits<int64_t>::max();
    peak = {static_cast<int64_t>(std::min(now, most)), event.step};
  }
  return peak;
}

}  // namespace mallocmuzero::place_check
