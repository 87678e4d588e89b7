#include "tools/gym/native/show_game.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/enums.h"
#include "base/message_file.h"
#include "env/action.h"
#include "env/fast_memory.h"
#include "env/solvers/plan.h"
#include "simulator/core/mapping.h"
#include "view/format.h"
#include "view/mapping_svg.h"
#include "view/names.h"

namespace mallocmuzero::gym {
namespace {

// The mapping of the game after it has been played to its end with Drop.
Mapping MappingOf(Game game) {
  while (!game.finished()) game.Apply(Choose(Action::kDrop, game.legal_actions()));
  Mapping mapping = game.ToMapping();
  mapping.solver = "gym";
  return mapping;
}

std::string LegalActions(const Game& game) {
  constexpr const char* kNames[kActionCount] = {"Copy", "NoCopy", "Drop"};
  std::vector<const char*> names;
  for (const Action action : kActions) {
    if (game.IsLegal(action)) names.push_back(kNames[Underlying(action)]);
  }
  return absl::StrJoin(names, ", ");
}

// "read of fusion.12 (8.0 MiB) by dot.3".
std::string Decision(const Game& game) {
  const Program& program = game.program();
  const view::Names names(program);
  const Access& access = program.accesses()[game.access()];
  constexpr const char* kKinds[] = {"read", "write", "update"};
  return absl::StrCat(
      kKinds[Underlying(access.kind)], " of ", names.Tensor(access.buffer), " (",
      view::FormatBytes(static_cast<double>(program.buffers()[access.buffer].bytes)), ") by ",
      names.Instruction(access.instruction));
}

// A character for each of 64 equal parts of fast memory: '#' if the current instruction or a later
// one takes bytes of it, '.' if not.
std::string MemoryBar(const Game& game) {
  constexpr int64_t kParts = 64;
  std::string bar(kParts, '.');
  const FastMemory& memory = game.fast_memory();
  const InstructionIndex now = game.finished()
                                   ? game.program().instructions().end_index()
                                   : game.program().accesses()[game.access()].instruction;
  for (size_t r = 0; r < memory.regions().size(); ++r) {
    if (memory.regions()[r].last < now) continue;
    const int64_t begin = memory.regions()[r].offset * kParts / memory.bytes();
    const int64_t end = (memory.EndOf(r) * kParts + memory.bytes() - 1) / memory.bytes();
    std::fill(bar.begin() + begin, bar.begin() + std::min(end, kParts), '#');
  }
  return bar;
}

}  // namespace

std::string GameText(const Game& game) {
  const Program& program = game.program();
  const Baseline* baseline = program.baseline();
  std::string text =
      absl::StrCat(program.proto().name(), " on ", program.hardware().name(), ", ",
                   view::FormatCounted(static_cast<double>(game.history().size()), "decision"),
                   " taken\n", view::FormatCycles(game.cycles()));
  if (baseline != nullptr) {
    absl::StrAppend(&text, ", ", view::FormatChange(game.cycles(), baseline->compiled_cycles),
                    " the default");
  }
  absl::StrAppend(&text, "\nfast memory [", MemoryBar(game), "]\n");
  if (game.finished()) return absl::StrCat(text, "finished\n");
  return absl::StrCat(text, "next: ", Decision(game), "; legal: ", LegalActions(game), "\n");
}

std::string GameSvg(const Game& game) {
  const Program& program = game.program();
  const Mapping mapping = MappingOf(game);
  std::vector<view::Panel> panels = {{.title = "game", .mapping = &mapping}};
  view::PlotOptions options;
  view::AddDefault(program, panels, options);
  return view::MappingSvg(program, panels, options);
}

absl::Status SaveMapping(const Game& game, const std::string& path) {
  if (!game.finished()) {
    return absl::FailedPreconditionError("only a finished game has a mapping");
  }
  return WriteMessage(path, MappingToProto(MappingOf(game), game.program()));
}

}  // namespace mallocmuzero::gym
