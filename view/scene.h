// The data of one panel of a picture and its place on the page, shared by all parts of the picture.

#ifndef MALLOCMUZERO_VIEW_SCENE_H_
#define MALLOCMUZERO_VIEW_SCENE_H_

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/enums.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/core/simulate.h"
#include "view/names.h"
#include "view/svg.h"
#include "view/timeline.h"

namespace mallocmuzero::view {

// A panel with everything that is computed from its mapping. All referenced objects must outlive
// it.
struct Scene {
  const Program& program;
  const Names& names;
  const Mapping& mapping;
  Trace trace;
  Timeline timeline;
};

// An area of the page whose x direction is the axis of the timeline.
struct Field {
  Box box;
  double axis_end = 1;  // position at the right edge; positive

  double X(double position) const {
    const double share = position / axis_end;
    return box.x + box.width * (std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0);
  }

  // The area from one position to another, over the whole height.
  Box Columns(double begin, double end) const {
    return {X(begin), box.y, X(end) - X(begin), box.height};
  }
};

// The CSS class of a kind of buffer. `outlined` rectangles have an outline.
inline const char* KindStyle(BufferKind kind, bool outlined) {
  constexpr const char* kStyles[kBufferKindCount][2] = {
      {"k0", "k0 o"}, {"k1", "k1 o"}, {"k2", "k2 o"}, {"k3", "k3 o"}};
  return kStyles[Underlying(kind)][outlined ? 1 : 0];
}

// Text such as "fusion.3 (#12)", or "the end".
inline std::string Place(const Scene& scene, InstructionIndex instruction) {
  std::string name = scene.names.Instruction(instruction);
  if (!scene.program.instructions().contains(instruction)) return name;
  return name + " (#" + absl::StrCat(instruction) + ")";
}

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_SCENE_H_
