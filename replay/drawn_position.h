// A position of a stored game that a learner has drawn.

#ifndef MALLOCMUZERO_REPLAY_DRAWN_POSITION_H_
#define MALLOCMUZERO_REPLAY_DRAWN_POSITION_H_

#include <cstdint>
#include <memory>

#include "mallocmuzero/v1/trajectory.pb.h"

namespace mallocmuzero {

using SharedTrajectory = std::shared_ptr<const v1::Trajectory>;

// A decision of a stored game, drawn from a TrajectoryBuffer or by a ReplaySampler.
struct DrawnPosition {
  SharedTrajectory trajectory;
  uint32_t position = 0;  // below trajectory->actions().size()

  // The probability that a single draw gives this position. With several shards this is P(shard) x
  // P(position | shard), over the shards that were available.
  double probability = 0;

  // Where a new priority of the position belongs. A TrajectoryBuffer sets `serial`, the number of
  // the game's insert. A ReplaySampler sets `shard`, a number for ReplaySampler::shard_name.
  uint64_t serial = 0;
  uint32_t shard = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_DRAWN_POSITION_H_
