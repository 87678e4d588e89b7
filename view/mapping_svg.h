// Draws a mapping: fast memory in time x address, with copies and bandwidth below (as in figures 1
// and 2 of arXiv 2305.07440).

#ifndef MALLOCMUZERO_VIEW_MAPPING_SVG_H_
#define MALLOCMUZERO_VIEW_MAPPING_SVG_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "view/timeline.h"

namespace mallocmuzero::view {

// One mapping in the picture.
struct Panel {
  std::string title;
  const Mapping* mapping = nullptr;  // its indices must lie in the program (MappingFromProto)

  // False if the intervals' offsets are meaningless (Baseline.packed). The panel then says so, and
  // shows bytes in use instead of addresses.
  bool has_addresses = true;
};

// Settings of MappingSvg.
struct PlotOptions {
  Axis axis = Axis::kCycles;

  // True: panels are below each other. False: two in a row.
  bool stacked = false;

  // Cycles of the compiler's default. Headers compare each total with it.
  std::optional<double> default_cycles;
};

// Adds the compiler's default, if the program has one, as the last panel, and its cycles to the
// options. The panel points into `program`.
void AddDefault(const Program& program, std::vector<Panel>& panels, PlotOptions& options);

// A self-contained SVG document (no scripts, no fonts of its own, white background) with all panels
// on the same scales. From top to bottom each panel has
//   - total and stalled cycles, and the change from the default;
//   - loops: each body is drawn once, under a bracket with the trip count;
//   - fast memory: one rectangle for each interval; x is its time, y its addresses, the colour says
//     what the buffer is for; it is hatched while a copy of it is in flight;
//   - stalls; copies in and out (pale from queueing to waiting, solid while they move); the share
//     of each instruction's HBM bandwidth that its own accesses and the copies use; the
//     instructions.
// Rectangles have tooltips with names, bytes and copies. A panel takes up to 1 MB: rectangles that
// are too small to see are merged and have no tooltip.
std::string MappingSvg(const Program& program, absl::Span<const Panel> panels,
                       const PlotOptions& options = {});

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_MAPPING_SVG_H_
