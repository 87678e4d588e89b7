// How many games the agent plays at once, and whether it searches, by what its rounds have taken.

#ifndef MALLOCMUZERO_ACTOR_ROUND_PACER_H_
#define MALLOCMUZERO_ACTOR_ROUND_PACER_H_

#include <cstdint>

namespace mallocmuzero {

// Games played side by side: all searched, or all by the policy alone.
struct AgentRound {
  uint64_t games = 0;
  bool searches = false;

  friend bool operator==(const AgentRound&, const AgentRound&) = default;
};

// Rounds without and with search by turns, of as many games as there is time for. The two kinds
// are measured apart: what a searched decision takes says little about one of the policy's, as most
// of its rows are cheap. Has no clock.
class RoundPacer {
 public:
  // Most games of a round.
  static constexpr uint64_t kMostGames = 64;

  // `search_cost`: how often the time of a decision without search one with search takes, for as
  // long as no round with search was measured.
  explicit RoundPacer(double search_cost) : search_cost_(search_cost) {}

  // Takes in that a round took so long.
  void Add(const AgentRound& round, double seconds);

  // The round to play next, as `seconds` are left; without search if one with it would take too
  // long, and none if there is no time for either. The first one, two games by the policy, is
  // played whatever the time.
  AgentRound Next(double seconds) const;

 private:
  // What rounds of one kind have taken.
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
