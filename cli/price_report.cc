#include "cli/price_report.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/largest.h"
#include "cli/table.h"
#include "mallocmuzero/v1/program.pb.h"
#include "mallocmuzero/v1/report.pb.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/core/simulate.h"

namespace mallocmuzero::cli {
namespace {

// "3 of 5": accesses in fast memory of all accesses.
std::string FastOfAll(const v1::PriceReport::CostlyInstruction& instruction) {
  return absl::StrCat(instruction.fast_accesses(), " of ", instruction.accesses());
}

void ListCostliest(const Program& program, const Mapping& mapping, int listed,
                   v1::PriceReport& report) {
  std::vector<double> cycles;
  for (const InstructionIndex i : program.instructions().indices()) {
    const uint64_t mask = FastMask(program, i, mapping.in_fast_memory);
    cycles.push_back(program.latency().Cycles(i, mask) * program.instructions()[i].execution_count);
  }
  for (const size_t k : Largest(cycles, listed)) {
    const InstructionIndex i(k);
    const v1::Instruction& instruction = program.MessageOf(i);
    const Traffic traffic = MeasureTraffic(program, mapping, i);
    v1::PriceReport::CostlyInstruction& entry = *report.add_costliest();
    entry.set_name(instruction.name());
    entry.set_opcode(instruction.opcode());
    entry.set_op_name(instruction.op_name());
    entry.set_executions(static_cast<double>(instruction.execution_count()));
    entry.set_cycles(cycles[k]);
    entry.set_bytes_accessed(traffic.bytes_accessed);
    if (traffic.bytes_accessed > 0) {
      entry.set_hbm_share(traffic.hbm_bytes / traffic.bytes_accessed);
    }
    entry.set_accesses(instruction.access_count());
    entry.set_fast_accesses(__builtin_popcountll(FastMask(program, i, mapping.in_fast_memory)));
  }
}

// Cycles of the collectives that are no asynchronous ones, times executions.
double CollectiveCycles(const Program& program, const Mapping& mapping) {
  const v1::LatencyTable& latency = program.proto().latency();
  double cycles = 0;
  for (const InstructionIndex i : program.instructions().indices()) {
    const uint32_t latency_class = ElementOf(latency.instructions(), i).latency_class();
    if (IsMarker(program.instructions()[i].kind) ||
        latency.classes(latency_class).link_cycles() == 0) {
      continue;
    }
    cycles += program.latency().Cycles(i, FastMask(program, i, mapping.in_fast_memory)) *
              program.instructions()[i].execution_count;
  }
  return cycles;
}

}  // namespace

v1::PriceReport MakePriceReport(const Program& program, const Mapping& mapping, int listed) {
  const Price price = Simulate(program, mapping);
  const Traffic traffic = MeasureTraffic(program, mapping);
  v1::PriceReport report;
  report.set_name(program.proto().name());
  report.set_hardware(program.hardware().name());
  report.set_total_cycles(price.total_cycles);
  report.set_estimated_cycles(price.estimated_cycles);
  report.set_modelled_cycles(price.modelled_cycles);
  report.set_stall_cycles(price.stall_cycles);
  report.set_seconds(price.total_cycles / program.hardware().clock_hz());
  report.set_all_hbm_cycles(SimulateAllHbm(program).total_cycles);
  if (program.baseline() != nullptr) {
    report.set_default_cycles(program.baseline()->compiled_cycles);
  }
  report.set_bytes_accessed(traffic.bytes_accessed);
  if (traffic.bytes_accessed > 0) {
    report.set_hbm_share(traffic.hbm_bytes / traffic.bytes_accessed);
  }
  report.set_collective_cycles(CollectiveCycles(program, mapping) + price.collective_stall_cycles);
  report.set_instructions(program.instruction_count());
  report.set_copies(price.copies);
  ListCostliest(program, mapping, listed, report);
  return report;
}

std::string PriceText(const v1::PriceReport& report) {
  const double total = report.total_cycles();
  std::vector<std::pair<std::string, std::string>> facts = {
      {"total",
       absl::StrCat(FormatCycles(total), absl::StrFormat(" (%.3f ms)", 1e3 * report.seconds()))},
      {"  estimated", FormatCycles(report.estimated_cycles())},
      {"  modelled", FormatCycles(report.modelled_cycles())},
      {"  stalls", FormatCycles(report.stall_cycles())}};
  if (report.collective_cycles() > 0) {
    facts.push_back({"collectives", absl::StrCat(FormatCycles(report.collective_cycles()),
                                                 " of modelled and stalls")});
  }
  const auto add_reference = [&](const std::string& name, double cycles) {
    facts.push_back({name, absl::StrCat(FormatCycles(cycles), "; the total is ",
                                        FormatChange(total, cycles), " it")});
  };
  if (report.has_all_hbm_cycles()) add_reference("all in HBM", report.all_hbm_cycles());
  if (report.has_default_cycles()) add_reference("default", report.default_cycles());
  facts.push_back({"accessed", absl::StrCat(FormatMebibytes(report.bytes_accessed()), " MiB, ",
                                            FormatPercent(report.hbm_share()), " of it in HBM")});
  facts.push_back(
      {"schedule", absl::StrCat(FormatCounted(report.instructions(), "instruction"), ", ",
                                FormatCounted(report.copies(), "copy", "copies"))});
  return FactList(facts);
}

std::string PriceNotes(const v1::PriceReport& report) {
  std::string text = report.notes().empty() ? "" : "\nNotes\n";
  for (const std::string& note : report.notes()) absl::StrAppend(&text, "  ", note, "\n");
  return text;
}

std::string ComparedCycles(double cycles, bool has_default, double default_cycles) {
  if (!has_default) return FormatCycles(cycles);
  return absl::StrCat(FormatCycles(cycles), ", ", FormatChange(cycles, default_cycles),
                      " the default");
}

std::string CostliestText(const v1::PriceReport& report) {
  if (report.costliest().empty()) return "";
  const bool has_accesses = report.costliest(0).has_accesses();
  Table table({{"instruction"},
               {"opcode"},
               {"times", Table::Align::kRight},
               {"Mcycles", Table::Align::kRight},
               {"share", Table::Align::kRight},
               {has_accesses ? "fast accesses" : "bytes in HBM", Table::Align::kRight},
               {"operation"}});
  const double total = report.total_cycles();
  for (const v1::PriceReport::CostlyInstruction& instruction : report.costliest()) {
    table.AddRow({instruction.name(), instruction.opcode(), FormatCount(instruction.executions()),
                  FormatMegacycles(instruction.cycles()),
                  total > 0 ? FormatPercent(instruction.cycles() / total) : "",
                  has_accesses ? FastOfAll(instruction) : FormatPercent(instruction.hbm_share()),
                  instruction.op_name()});
  }
  return absl::StrCat("\nThe ", FormatCounted(report.costliest_size(), "instruction"),
                      report.costliest_size() == 1 ? " that takes" : " that take",
                      " most cycles, waiting for copies not included\n", table.ToText());
}

}  // namespace mallocmuzero::cli
