// The picture of a mapping: fast memory in time x address, and what copies and bandwidth do
// meanwhile (as in figures 1 and 2 of arXiv 2305.07440).

#ifndef MALLOCMUZERO_VIEW_MAPPING_SVG_H_
#define MALLOCMUZERO_VIEW_MAPPING_SVG_H_

#include <optional>
#include <string>

#include "absl/types/span.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "view/timeline.h"

namespace mallocmuzero::view {

// One mapping of the picture.
struct Panel {
  std::string title;
  const Mapping* mapping = nullptr;  // its indices must lie in the program (MappingFromProto)

  // False if the offsets of the intervals mean nothing (Baseline.packed); then the panel says so
  // and shows the lanes only.
  bool has_addresses = true;
};

struct PlotOptions {
  Axis axis = Axis::kCycles;

  // Panels one below the other instead of two in a row.
  bool stacked = false;

  // What the headers compare each total with, cycles: the price of the compiler's default.
  std::optional<double> default_cycles;
};

// A self-contained SVG document (no scripts, no fonts of its own, white background) with all panels
// on the same scales. From top to bottom each has
//   - total and stalled cycles, and the change against the default;
//   - loops: their bodies are drawn once, under a bracket with the trip count;
//   - fast memory: one rectangle an interval, x its time, y its addresses, coloured by what the
//     buffer is; hatched while a copy of it is on its way;
//   - stalls; copies in and out (pale from queued to needed, solid while they move); the share of
//     each instruction's HBM bandwidth that its own accesses and the copies use; the instructions.
// Rectangles have tooltips with names, bytes and copies. Up to 1 MB a panel: what is too small to
// see is merged and has no tooltip.
std::string MappingSvg(const Program& program, absl::Span<const Panel> panels,
                       const PlotOptions& options = {});

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_MAPPING_SVG_H_
