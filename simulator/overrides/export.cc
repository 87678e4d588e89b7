#include "simulator/overrides/export.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "simulator/core/index_fields.h"
#include "simulator/core/simulate.h"
#include "simulator/core/values.h"
#include "simulator/overrides/override_text.h"
#include "simulator/overrides/partial_mapping.h"
#include "simulator/overrides/positions.h"

namespace mallocmuzero {
namespace {

using Item = v1::OverridesReport::Item;

// The values that the compiler decides about, in the order of their first access.
IndexVector<ValueIndex, Value> ValuesByFirstAccess(const Program& program) {
  IndexVector<ValueIndex, Value> values = FindValues(program, UpdateMeaning::kMakesValue);
  std::sort(values.begin(), values.end(),
            [](const Value& a, const Value& b) { return a.accesses.front() < b.accesses.front(); });
  return values;
}

class Exporter {
 public:
  Exporter(const Program& program, const Mapping& baseline, const Mapping& wanted,
           OverrideScope scope, const std::function<bool()>& stop)
      : program_(program),
        baseline_(baseline),
        wanted_(wanted),
        scope_(scope),
        stop_(stop),
        baseline_cycles_(Simulate(program, baseline).total_cycles) {}

  v1::OverridesReport Run() && {
    for (const Value& value : ValuesByFirstAccess(program_)) ExportValue(value);
    v1::OverridesReport report;
    report.set_program(program_.proto().name());
    CountWhatIsLeftOut(report);
    std::stable_sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
      return a.gain_cycles() > b.gain_cycles();
    });
    for (size_t i = 0; i < items_.size(); ++i) items_[i].set_id(i);
    std::string tensor_overrides;
    std::string sort_overrides;
    for (Item& item : items_) {
      Join(item.tensor_overrides(), tensor_overrides);
      Join(item.sort_overrides(), sort_overrides);
      *report.add_items() = std::move(item);
    }
    auto& options = *report.mutable_options();
    if (!tensor_overrides.empty()) options[kTensorOverridesOption] = std::move(tensor_overrides);
    if (!sort_overrides.empty()) options[kSortOrderOverridesOption] = std::move(sort_overrides);
    return report;
  }

 private:
  static void Join(const google::protobuf::RepeatedPtrField<std::string>& texts,
                   std::string& joined) {
    for (const std::string& text : texts) {
      absl::StrAppend(&joined, joined.empty() ? "" : " ", text);
    }
  }

  bool IsWanted(AccessIndex access) const { return wanted_.in_fast_memory[access] != 0; }
  bool IsDefault(AccessIndex access) const { return baseline_.in_fast_memory[access] != 0; }

  void ExportValue(const Value& value) {
    // Options do not name the arrays of asynchronous collectives: they stay where the compiler has
    // them.
    if (!program_.FlightsOf(value.buffer).empty()) return;
    std::vector<AccessIndex> gained;  // accesses that only the wanted mapping has in fast memory
    std::vector<AccessIndex> lost;    // accesses that only the default has in fast memory
    for (const AccessIndex a : value.accesses) {
      if (IsWanted(a) && !IsDefault(a)) gained.push_back(a);
      if (!IsWanted(a) && IsDefault(a)) lost.push_back(a);
    }
    const bool wanted_somewhere = std::any_of(value.accesses.begin(), value.accesses.end(),
                                              [this](AccessIndex a) { return IsWanted(a); });
    if (lost.empty() && !gained.empty()) AssignValueFirst(value, gained);
    if (!lost.empty() && !wanted_somewhere) KeepValue(value, lost);
    if (!lost.empty() && wanted_somewhere && scope_ == OverrideScope::kUses) {
      for (const AccessIndex a : lost) KeepAccess(a);
      PrefetchAccesses(gained);
    }
  }

  Item& AddItem(const char* kind, const std::string& instruction,
                const std::vector<AccessIndex>& accesses) {
    Item& item = items_.emplace_back();
    item.set_kind(kind);
    item.set_instruction(instruction);
    const BufferIndex buffer = program_.accesses()[accesses.front()].buffer;
    item.set_buffer(buffer.number());
    item.set_bytes(static_cast<double>(program_.buffers()[buffer].bytes));
    for (const AccessIndex a : accesses) {
      Append(*item.mutable_accesses(), a);
      item.set_bytes_moved(item.bytes_moved() + BytesMoved(a));
    }
    if (stop_()) return item;
    // Each item takes a whole simulation. A shorter way would give other last digits, because the
    // sums of Simulate and the bytes of its queues are rounded at every step.
    const Mapping changed = WithAccessesAsWanted(program_, baseline_, wanted_, accesses);
    item.set_gain_cycles(baseline_cycles_ - Simulate(program_, changed).total_cycles);
    return item;
  }

  // Keeps the value in HBM where it is written, and gives none of its uses a copy.
  void KeepValue(const Value& value, const std::vector<AccessIndex>& lost) {
    std::vector<Definition> definitions = InputDefinition(program_, value.buffer);
    if (value.has_definition) definitions = DefinitionsOf(program_, value.accesses.front());
    std::vector<std::string> texts;
    // A program input is in HBM anyhow, so that only its uses need overrides.
    if (value.has_definition) AppendKept(definitions, texts);
    for (const AccessIndex a : value.accesses) AppendKept(UsesOf(program_, a, wanted_), texts);
    if (texts.empty()) return;
    Item& item = AddItem("keep_value", NameOf(definitions, lost), lost);
    for (std::string& text : texts) item.add_tensor_overrides(std::move(text));
  }

  // Lets the compiler assign fast memory to the value before all others.
  void AssignValueFirst(const Value& value, const std::vector<AccessIndex>& gained) {
    const std::vector<Definition> definitions =
        value.has_definition ? DefinitionsOf(program_, value.accesses.front())
                             : InputDefinition(program_, value.buffer);
    // The compiler assigns a value that a loop hands on together with the loop's initial value.
    if (definitions.empty()) return;
    Item& item = AddItem("assign_first", definitions.front().instruction, gained);
    for (const Definition& definition : definitions) {
      item.add_sort_overrides(AssignFirst(definition));
    }
    // Pinning a program input would move the input itself, so the strict text asks for a copy.
    item.set_strict(value.has_definition ? PinInFastMemory(definitions.front())
                                         : PrefetchText(gained.front()));
  }

  // Keeps one access in HBM of a value that is in fast memory at other accesses.
  void KeepAccess(AccessIndex access) {
    std::vector<std::string> texts;
    AppendKept(DefinitionsOf(program_, access), texts);
    AppendKept(UsesOf(program_, access, wanted_), texts);
    if (texts.empty()) return;
    Item& item = AddItem("keep_use", NameOf({}, {access}), {access});
    for (std::string& text : texts) item.add_tensor_overrides(std::move(text));
  }

  // Asks for one copy for all accesses that the same interval serves.
  void PrefetchAccesses(const std::vector<AccessIndex>& gained) {
    std::map<const Interval*, std::vector<AccessIndex>> served;
    for (const AccessIndex a : gained) {
      if (const Interval* copy = CopyInFor(a); copy != nullptr) served[copy].push_back(a);
    }
    for (const auto& [copy, accesses] : served) {
      const std::string text = PrefetchText(accesses.front());
      if (text.empty()) continue;
      Item& item = AddItem("prefetch_use", NameOf({}, accesses), accesses);
      item.add_tensor_overrides(text);
    }
  }

  template <typename Position>
  static void AppendKept(const std::vector<Position>& positions, std::vector<std::string>& texts) {
    for (const Position& position : positions) texts.push_back(KeepInHbm(position));
  }

  // Name of the instruction that an item reports.
  std::string NameOf(const std::vector<Definition>& definitions,
                     const std::vector<AccessIndex>& accesses) const {
    if (!definitions.empty()) return definitions.front().instruction;
    return InstructionName(program_, program_.accesses()[accesses.front()].instruction);
  }

  // The override that asks for the copy that an access needs. Empty if the access needs none, or if
  // no override can name its use.
  std::string PrefetchText(AccessIndex access) const {
    const Interval* copy = CopyInFor(access);
    const std::vector<Use> uses = UsesOf(program_, access, wanted_);
    if (copy == nullptr || uses.empty()) return "";
    return Prefetch(uses.front(), TimeOfCopy(copy->copy_in_start));
  }

  // The interval of the wanted mapping that serves the access, if the interval begins with a copy
  // from HBM; otherwise null.
  const Interval* CopyInFor(AccessIndex access) const {
    const Access& use = program_.accesses()[access];
    for (const Interval& interval : wanted_.intervals) {
      if (interval.buffer != use.buffer || interval.copy_in_start < 0) continue;
      if (interval.first <= use.instruction && use.instruction <= interval.last) return &interval;
    }
    return nullptr;
  }

  PrefetchTime TimeOfCopy(InstructionIndex start) const {
    const auto is_marker = [this](InstructionIndex i) {
      return IsMarker(program_.instructions()[i].kind);
    };
    if (!is_marker(start)) return {PrefetchTime::Kind::kBefore, InstructionName(program_, start)};
    if (start > 0 && !is_marker(start - 1))
      return {PrefetchTime::Kind::kAfter, InstructionName(program_, start - 1)};
    return {.kind = PrefetchTime::Kind::kEagerness, .instruction = "", .eagerness = 0};
  }

  double BytesMoved(AccessIndex access) const {
    return program_.BytesMoved(program_.accesses()[access]);
  }

  void CountWhatIsLeftOut(v1::OverridesReport& report) const {
    IndexVector<AccessIndex, uint8_t> covered(program_.access_count(), 0);
    for (const Item& item : items_) {
      for (const uint32_t a : item.accesses()) covered[AccessIndex(a)] = 1;
    }
    double different = 0;
    double left_out = 0;
    for (const AccessIndex a : program_.accesses().indices()) {
      if (IsWanted(a) == IsDefault(a)) continue;
      different += BytesMoved(a);
      if (covered[a] != 0) continue;
      left_out += BytesMoved(a);
      report.set_left_out_accesses(report.left_out_accesses() + 1);
    }
    if (different > 0) report.set_left_out_share(left_out / different);
  }

  const Program& program_;
  const Mapping& baseline_;
  const Mapping& wanted_;
  const OverrideScope scope_;
  const std::function<bool()>& stop_;
  const double baseline_cycles_;
  std::vector<Item> items_;
};

}  // namespace

absl::StatusOr<v1::OverridesReport> ExportOverrides(const Program& program, const Mapping& wanted,
                                                    OverrideScope scope,
                                                    const std::function<bool()>& stop) {
  const absl::StatusOr<Mapping> baseline = BaselineMapping(program);
  if (!baseline.ok()) return baseline.status();
  return Exporter(program, *baseline, wanted, scope, stop).Run();
}

std::string OptionLines(const v1::OverridesReport& report) {
  const std::map<std::string, std::string> sorted(report.options().begin(), report.options().end());
  std::string lines;
  for (const auto& [name, value] : sorted) absl::StrAppend(&lines, name, "=", value, "\n");
  return lines;
}

}  // namespace mallocmuzero
