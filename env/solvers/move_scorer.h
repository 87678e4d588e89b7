// An experiment: features of the moves of local search, and scorers that choose among several
// draws. See docs/search-scaling.md.

#ifndef MALLOCMUZERO_ENV_SOLVERS_MOVE_SCORER_H_
#define MALLOCMUZERO_ENV_SOLVERS_MOVE_SCORER_H_

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "base/random.h"
#include "env/solvers/incumbent.h"
#include "env/solvers/neighbourhood.h"

namespace mallocmuzero {

inline constexpr int kMoveFeatures = 40;
inline constexpr int kHidden = 32;
using MoveFeatures = std::array<float, kMoveFeatures>;

// What the environment variables of an experiment ask for.
struct MoveSettings {
  std::string mode = "none";  // none, random, hand, linear, mlp, untrained: for steps
  std::string kick_mode = "none";
  uint32_t draws = 8;
  uint32_t kick_draws = 8;
  float temperature = 1;
  float kick_temperature = 1;
  float idle = 1;        // what a try without a gain counts for the end of a climb
  bool dedupe = false;   // draws again instead of a try that is known to be refused
  uint32_t local = 0;    // climbs after kicks within a window of so many movable accesses
  uint32_t strict = 0;   // per cent of steps that must gain
  uint32_t strict_kick = 0;  // the same after a kick
  uint32_t longest_whole = 4096;
  bool long_selects = false;
  uint32_t orbit = 0;    // per cent of steps that change all alike accesses
  uint32_t layer = 0;    // per cent of kicks that copy a layer
  std::string weights;   // file
  std::string kick_weights;
  std::string log;       // files LOG.steps and LOG.kicks
};
const MoveSettings& TheMoveSettings();

float Mlp(const float* x, const float* w1, const float* b1, const float* w2, float b2);

class Model {
 public:
  Model() = default;
  Model(const std::string& mode, const std::string& file, bool kicks);
  bool scores() const { return kind_ != Kind::kNone; }
  bool is_random() const { return kind_ == Kind::kRandom; }
  float Score(const MoveFeatures& x) const;

 private:
  enum class Kind { kNone, kRandom, kLinear, kMlp };
  Kind kind_ = Kind::kNone;
  std::array<float, kMoveFeatures + 1> linear_ = {};
  alignas(32) float w1_[kMoveFeatures][kHidden] = {};
  alignas(32) float b1_[kHidden] = {};
  alignas(32) float w2_[kHidden] = {};
  float b2_ = 0;
};

struct Move {
  MoveKind kind = MoveKind::kFlip;
  bool costly = false;
  AccessIndex anchor = 0;
  absl::InlinedVector<PlanChange, 24> changes;
  MoveFeatures features;
  uint64_t key = 0;
  bool is_effective = false;
};

class MoveScorer {
 public:
  explicit MoveScorer(const NeighbourhoodTables& tables);
  ~MoveScorer();

  // Whether anything but the plain search is wanted.
  bool is_on() const { return is_on_; }

  const Move& ChooseStep(Neighbourhood& neighbourhood, const Incumbent& incumbent, Random& random,
                         double idle_share);
  const Move& ChooseKick(Neighbourhood& neighbourhood, const Incumbent& incumbent, Random& random);

  const Move& kick() const { return kicks_[kick_]; }

  // After the try of the last ChooseStep, or the climb after the last ChooseKick.
  void StepDone(bool played, double gain, bool accepted);
  void KickDone(double gain, bool after_climb_equal);

  void SetKicked(AccessIndex access, bool after_kick) {
    kicked_ = access;
    after_kick_ = after_kick;
  }

 private:
  struct Facts {  // of an access; cycles in units of the mean saving
    float saving, bytes, rent, copy, occupied, log_count, value_size;
    uint32_t position;
  };

  void Describe(const Incumbent& incumbent, Move& move, bool is_kick, double idle_share);
  void Update(const Incumbent& incumbent);
  void Occupy(AccessIndex access, const std::vector<uint8_t>& fast, float sign);
  bool Seen(uint64_t key) const { return seen_[key % seen_.size()] == key; }
  size_t Pick(const std::vector<Move>& moves, size_t count, const Model& model, float temperature,
              Random& random) const;

  const NeighbourhoodTables& tables_;
  const ProgramFacts& facts_;
  bool is_on_;
  bool needs_features_;
  double unit_ = 1;
  Model model_;
  Model kick_model_;
  std::vector<Facts> access_;
  std::vector<float> occupancy_;  // by instruction, share of the memory
  std::vector<uint8_t> fast_;
  uint64_t version_ = 0;
  uint64_t game_key_ = 0;
  std::vector<uint64_t> seen_;
  std::vector<float> fails_, kick_fails_;  // by value
  std::vector<uint8_t> gained_, kick_gained_;
  AccessIndex kicked_ = 0;
  bool after_kick_ = false;
  std::vector<Move> moves_, kicks_;
  size_t step_ = 0, kick_ = 0;
  FILE* step_log_ = nullptr;
  FILE* kick_log_ = nullptr;
  uint64_t logged_ = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_MOVE_SCORER_H_
