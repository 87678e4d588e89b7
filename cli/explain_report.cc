#include "cli/explain_report.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "cli/program_inputs.h"
#include "cli/table.h"
#include "mallocmuzero/v1/report.pb.h"
#include "simulator/core/simulate.h"
#include "view/explain.h"
#include "view/names.h"

namespace mallocmuzero::cli {
namespace {

constexpr int kInstructionsNamed = 3;

absl::string_view KindName(view::Reason::Kind kind) {
  switch (kind) {
    case view::Reason::Kind::kBuffer:
      return "tensor";
    case view::Reason::Kind::kStalls:
      return "stalls";
    case view::Reason::Kind::kRest:
      return "rest";
  }
  return "";
}

// "fusion.12{1} bf16[8,128], 25.0 MiB, at add.3, add.4, add.5 and 2 more".
std::string Subject(const v1::ExplainReport::Reason& reason) {
  std::string text =
      absl::StrCat(reason.tensor(), " ", reason.shape(), ", ", view::FormatBytes(reason.bytes()));
  const int shown = std::min(kInstructionsNamed, reason.instructions_size());
  for (int k = 0; k < shown; ++k) {
    absl::StrAppend(&text, k == 0 ? ", at " : ", ", reason.instructions(k));
  }
  if (shown < reason.instructions_size()) {
    absl::StrAppend(&text, " and ", reason.instructions_size() - shown, " more");
  }
  return text;
}

// Whether the default has a price as compiled that reads otherwise than that of its mapping.
bool HasOwnCompiledPrice(const v1::ExplainReport& report) {
  if (!report.has_default_compiled_cycles()) return false;
  const double mapped =
      report.mapping() == kDefaultMappingName ? report.total_cycles() : report.reference_cycles();
  return FormatCycles(mapped) != FormatCycles(report.default_compiled_cycles());
}

}  // namespace

v1::ExplainReport MakeExplainReport(const Program& program, const NamedMapping& ours,
                                    const NamedMapping& reference, int limit) {
  const view::Names names(program);
  v1::ExplainReport report;
  report.set_program(program.proto().name());
  report.set_mapping(ours.name);
  report.set_reference(reference.name);
  report.set_total_cycles(Simulate(program, ours.mapping).total_cycles);
  report.set_reference_cycles(Simulate(program, reference.mapping).total_cycles);
  if (program.baseline() != nullptr &&
      (ours.name == kDefaultMappingName || reference.name == kDefaultMappingName)) {
    report.set_default_compiled_cycles(program.baseline()->compiled_cycles);
  }
  for (const view::Reason& reason :
       view::Explain(program, ours.mapping, reference.mapping, limit)) {
    v1::ExplainReport::Reason& entry = *report.add_reasons();
    entry.set_kind(std::string(KindName(reason.kind)));
    entry.set_cycles_gained(reason.cycles_gained);
    entry.set_why(reason.why);
    if (reason.kind != view::Reason::Kind::kBuffer) continue;
    entry.set_buffer(reason.buffer.number());
    entry.set_tensor(reason.tensor);
    entry.set_shape(reason.shape);
    entry.set_bytes(static_cast<double>(reason.bytes));
    for (const InstructionIndex i : reason.instructions)
      entry.add_instructions(names.Instruction(i));
  }
  return report;
}

std::string ExplainText(const v1::ExplainReport& report) {
  const double total = report.total_cycles();
  const auto compared = [&](double cycles) {
    return absl::StrCat(FormatCycles(cycles), "; the first is ", FormatChange(total, cycles),
                        " it");
  };
  std::string text = FactList(
      {{absl::StrCat("total of ", report.mapping()), FormatCycles(total)},
       {absl::StrCat("total of ", report.reference()), compared(report.reference_cycles())},
       {"default as compiled",
        HasOwnCompiledPrice(report) ? compared(report.default_compiled_cycles()) : ""}});
  if (report.reasons().empty()) return absl::StrCat(text, "\nThe mappings do not differ.\n");
  absl::StrAppend(&text, "\nCycles gained (negative: lost), and why\n");
  for (const v1::ExplainReport::Reason& reason : report.reasons()) {
    const std::string cycles = absl::StrFormat("%14s  ", FormatCount(reason.cycles_gained()));
    const std::string next_line = absl::StrCat("\n", std::string(cycles.size(), ' '));
    const std::string why =
        absl::StrReplaceAll(reason.why(), {{"; ", absl::StrCat(";", next_line)}});
    absl::StrAppend(&text, cycles, reason.kind() == "tensor" ? Subject(reason) + next_line : "",
                    why, "\n");
  }
  return text;
}

}  // namespace mallocmuzero::cli
