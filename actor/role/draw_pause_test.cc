#include "actor/role/draw_pause.h"

#include <memory>

#include "absl/time/time.h"
#include "actor/role/actor_state.h"
#include "actor/role/assigned_programs.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(DrawPause, LastsASecondOrUntilTheWeightsOrProgramsChange) {
  const absl::Time now = absl::FromUnixSeconds(1000);
  RoundInputs inputs;
  inputs.step = 5;
  DrawPause pause;
  EXPECT_FALSE(pause.Holds(inputs, now));
  pause.Begin(inputs, now);
  EXPECT_TRUE(pause.Holds(inputs, now));
  EXPECT_TRUE(pause.Holds(inputs, now + absl::Milliseconds(999)));
  EXPECT_FALSE(pause.Holds(inputs, now + absl::Seconds(1)));
  inputs.step = 6;
  EXPECT_FALSE(pause.Holds(inputs, now));
  inputs.step = 5;
  EXPECT_TRUE(pause.Holds(inputs, now));
  inputs.assigned = std::make_shared<const AssignedPrograms>();
  EXPECT_FALSE(pause.Holds(inputs, now));
}

}  // namespace
}  // namespace mallocmuzero
