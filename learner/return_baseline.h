// The returns of recent games of a program. Networks learn values relative to them.

#ifndef MALLOCMUZERO_LEARNER_RETURN_BASELINE_H_
#define MALLOCMUZERO_LEARNER_RETURN_BASELINE_H_

#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "mallocmuzero/v1/train_state.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "replay/return_units.h"

namespace mallocmuzero {

// One decision can be worth only a millionth of the return, and most of the return to go is the
// same in every game. So networks learn returns to go relative to the mean of recent games at the
// same access, in units of their deviation:
//   value at a decision  = (return to go - baseline at its access) / scale
//   reward of a decision = (reward - fall of the baseline until the next decision) / scale
// A value is then still the sum of the rewards that follow.
//
// Ranked values only say how a game ends. A game is won if its return is above a quantile of the
// returns of the latest games, and lost if it is below (Laterre et al., 2018, "Ranked Reward";
// self-competition in MuZero-RC, Mandhane et al., 2022). Not thread-safe.
class ReturnBaseline {
 public:
  // `access_count` is that of the program. `ranked_quantile` is the share of the latest games that
  // a game must beat, above 0 and below 1. 0 means that values are not ranked.
  explicit ReturnBaseline(uint32_t access_count, double ranked_quantile = 0);

  // Adds a game to the means.
  void Add(const v1::Trajectory& trajectory);

  // Updates At, scale and Outcome to the games added so far. Before the first call they are 0, 1
  // and 0.
  void Refresh();

  // Whether At and scale come from games. Without games the values of a network mean nothing yet.
  bool is_measured() const { return is_measured_; }

  // Mean return to go from the first decision at `access` or after it. 0 for access_count.
  HbmShare At(uint32_t access) const { return HbmShare(frozen_[access]); }

  // Typical deviation from it, above 0.
  HbmShare scale() const { return HbmShare(scale_); }

  // Conversions of relative values. A return to go belongs to a decision at `access`. A reward
  // belongs to a decision at `access` if the next decision is at `next_access`, which is
  // access_count after the last decision.
  NetworkValue ToNetwork(HbmShare to_go, uint32_t access) const {
    return NetworkValue((to_go - At(access)) / scale());
  }
  HbmShare FromNetwork(NetworkValue value, uint32_t access) const {
    return At(access) + value.value() * scale();
  }
  NetworkValue RewardToNetwork(HbmShare reward, uint32_t access, uint32_t next_access) const {
    return NetworkValue((reward - (At(access) - At(next_access))) / scale());
  }

  bool is_ranked() const { return ranked_quantile_ > 0; }

  // The outcome of a game for ranked values: 1 if it is won, -1 if it is lost. If its return equals
  // the return to beat, its id decides, and both outcomes are equally likely.
  NetworkValue Outcome(const v1::Trajectory& trajectory) const;

  uint64_t games() const { return games_; }

  // The whole state, with which a training run goes on. Restore returns false and changes nothing
  // if the state is that of a baseline with another access_count, or if only one of the two is
  // ranked. It does so, too, if the state has numbers that no baseline has.
  v1::ReturnBaselineState Save() const;
  bool Restore(const v1::ReturnBaselineState& state);

 private:
  uint64_t games_ = 0;
  bool is_measured_ = false;
  double scale_ = 1;
  double variance_ = 0;         // mean square deviation from the mean
  std::vector<double> mean_;    // by access, and one after the last
  std::vector<double> frozen_;  // likewise
  double ranked_quantile_;
  std::deque<double> returns_;  // of the latest games, oldest first; empty if not ranked
  double return_to_beat_ = std::numeric_limits<double>::quiet_NaN();
};

// Sets searched_returns of a game from its root_values. `baseline` must be the one with which the
// network that searched the game had learned in its last update. Without effect if it is ranked or
// not measured.
void NoteSearchedReturns(const ReturnBaseline& baseline, v1::Trajectory& game);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_RETURN_BASELINE_H_
