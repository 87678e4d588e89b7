// Chooses how many games the agent plays at once and whether it searches, from the time that
// earlier rounds took.

#ifndef MALLOCMUZERO_ACTOR_ROUND_PACER_H_
#define MALLOCMUZERO_ACTOR_ROUND_PACER_H_

#include <cstdint>

namespace mallocmuzero {

// Games that are played side by side, all with search or all by the policy alone.
struct AgentRound {
  uint64_t games = 0;
  bool searches = false;

  friend bool operator==(const AgentRound&, const AgentRound&) = default;
};

// Rounds without and with search alternate, each with as many games as there is time for. The two
// kinds are measured separately, because the time of a searched decision says little about the time
// of a decision without search. The class reads no clock.
class RoundPacer {
 public:
  // The largest number of games in a round.
  static constexpr uint64_t kMostGames = 64;

  // `search_cost`: the time of a decision with search as a multiple of one without. It is used
  // until a round with search has been measured.
  explicit RoundPacer(double search_cost) : search_cost_(search_cost) {}

  // Records the time that a round took.
  void Add(const AgentRound& round, double seconds);

  // The next round, if `seconds` are left. It is without search if a round with search would take
  // too long, and has no games if there is no time for either kind. The first round has two games
  // by the policy, however little time is left.
  AgentRound Next(double seconds) const;

 private:
  // The time that rounds of one kind took.
  struct Measured {
    double seconds = 0;
    double games = 0;  // with kBatchGames a round
  };

  double GamesIn(double seconds, bool searches) const;

  double search_cost_;
  uint64_t rounds_ = 0;
  Measured measured_[2];  // by `searches`
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROUND_PACER_H_
