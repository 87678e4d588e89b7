#include "simulator/import/structure/touches.h"

#include <algorithm>
#include <utility>

#include "absl/types/span.h"
#include "base/size32.h"
#include "simulator/core/program_types.h"
#include "simulator/import/analysis/collectives.h"
#include "simulator/import/analysis/traffic.h"

namespace mallocmuzero {
namespace {

bool IsPlaceable(const hlo::Shape& shape, const v1::Hardware& hardware) {
  const int32_t space = shape.layout.memory_space;
  return (space == 0 || space == hardware.fast_memory_space()) && hlo::ShapeByteSize(shape) > 0;
}

v1::Position MakePosition(int32_t operand, absl::Span<const int32_t> index) {
  v1::Position position;
  position.set_operand(operand);
  for (int32_t i : index) position.add_tuple_index(i);
  return position;
}

class TouchCollector {
 public:
  TouchCollector(const AnalyzedModule& source, const v1::Hardware& hardware)
      : source_(source), flow_(source.flow), hardware_(hardware) {}

  Touches Run() && {
    found_.storages.resize(flow_.storage_count());
    for (const HloValue& value : flow_.values()) {
      const auto id = static_cast<ValueId>(&value - flow_.values().data());
      StorageInfo& info = found_.storages[flow_.StorageOf(id)];
      info.bytes = std::max(info.bytes, hlo::ShapeByteSize(*value.shape));
      info.placeable = info.placeable && IsPlaceable(*value.shape, hardware_);
      // The compiler never puts a scalar into fast memory, because scalars (loop counters, indices)
      // control the copies.
      info.pinned = info.pinned || value.shape->dims.empty();
    }
    found_.touches.resize(source_.priced.size());
    touch_of_.assign(flow_.storage_count(), kNone);
    for (size_t i = 0; i < source_.priced.size(); ++i) {
      const PricedStep& priced = source_.priced[i];
      if (IsMarker(source_.KindOf(priced)) || priced.instruction->opcode == hlo::Opcode::kTuple)
        continue;
      CollectFrom(priced, found_.touches[i]);
      for (const Touch& touch : found_.touches[i]) {
        found_.storages[touch.storage].touched = true;
        touch_of_[touch.storage] = kNone;
      }
    }
    return std::move(found_);
  }

 private:
  static constexpr int32_t kNone = -1;

  Touch& TouchOf(std::vector<Touch>& touches, int32_t storage) {
    int32_t& index = touch_of_[storage];
    if (index == kNone) {
      index = Size32(touches);
      touches.push_back({.storage = storage});
    }
    return touches[index];
  }

  // The start of a collective names its operands among its outputs, but does not write them.
  bool OnlyNames(const PricedStep& priced, ValueId output) const {
    const Step& step = source_.StepOf(priced);
    const HloValue& value = flow_.values()[output];
    return StatesItsArrays(*priced.instruction) &&
           (value.instance != step.instance || value.instruction != step.instruction);
  }

  void CollectFrom(const PricedStep& priced, std::vector<Touch>& touches) {
    const Step& step = source_.StepOf(priced);
    const hlo::Computation& computation = source_.schedule.ComputationOf(step.instance);
    const auto add = [&](int32_t operand, const hlo::Shape& shape, absl::Span<const ValueId> values,
                         const std::vector<int64_t>& bytes) {
      size_t leaf = 0;
      hlo::ForEachLeaf(shape, [&](absl::Span<const int32_t> index, const hlo::Shape& array) {
        const int32_t storage = flow_.StorageOf(values[leaf]);
        if (found_.storages[storage].placeable) {
          Touch& touch = TouchOf(touches, storage);
          const bool reads = operand >= 0 || OnlyNames(priced, values[leaf]);
          (reads ? touch.reads : touch.writes) = true;
          touch.bytes = std::max(touch.bytes, hlo::ShapeByteSize(array));
          touch.bytes_accessed = SaturatingAdd(touch.bytes_accessed, bytes[leaf]);
          touch.positions.push_back(MakePosition(operand, index));
        }
        ++leaf;
      });
    };
    for (size_t i = 0; i < priced.instruction->operands.size(); ++i) {
      const hlo::InstructionIndex operand = priced.instruction->operands[i];
      add(i, computation.instructions[operand].shape, flow_.ValuesOf(step.instance, operand),
          priced.traffic.operand_bytes[i]);
    }
    add(-1, priced.instruction->shape, flow_.ValuesOf(step.instance, step.instruction),
        priced.traffic.output_bytes);
  }

  const AnalyzedModule& source_;
  const Dataflow& flow_;
  const v1::Hardware& hardware_;
  Touches found_;
  std::vector<int32_t> touch_of_;  // by storage: its touch by the present instruction, or kNone
};

}  // namespace

Touches FindTouches(const AnalyzedModule& module, const v1::Hardware& hardware) {
  return TouchCollector(module, hardware).Run();
}

}  // namespace mallocmuzero
