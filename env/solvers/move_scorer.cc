#include "env/solvers/move_scorer.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/enums.h"
#include "env/keep_value.h"
#include "simulator/core/mapping.h"

namespace mallocmuzero {
namespace {

std::string Get(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value == nullptr ? fallback : value;
}



// A cheap substitute of log1p for features: the exponent and a linear mantissa.
float Log(float x) {
  if (x <= 0) return 0;
  uint32_t bits;
  const float y = 1 + x;
  std::memcpy(&bits, &y, 4);
  return (static_cast<float>(bits) * (1.0F / (1 << 23)) - 127) * 0.6931472F;
}
float Slog(float x) { return x < 0 ? -Log(-x) : Log(x); }

}  // namespace

const MoveSettings& TheMoveSettings() {
  static const MoveSettings settings = [] {
    MoveSettings s;
    s.mode = Get("MMZ_MODE", "none");
    s.kick_mode = Get("MMZ_KMODE", "none");
    s.draws = std::stoi(Get("MMZ_K", "8"));
    s.kick_draws = std::stoi(Get("MMZ_KK", "8"));
    s.temperature = std::stof(Get("MMZ_T", "1"));
    s.kick_temperature = std::stof(Get("MMZ_KT", "1"));
    s.idle = std::stof(Get("MMZ_IDLE", "1"));
    s.dedupe = Get("MMZ_DEDUPE", "0") == "1";
    s.local = std::stoi(Get("MMZ_LOCAL", "0"));
    s.strict = std::stoi(Get("MMZ_STRICT", "0"));
    s.strict_kick = std::stoi(Get("MMZ_STRICTK", Get("MMZ_STRICT", "0").c_str()));
    s.longest_whole = std::stoi(Get("MMZ_LONG", "4096"));
    s.long_selects = Get("MMZ_LONGSELECT", "0") == "1";
    s.orbit = std::stoi(Get("MMZ_ORBIT", "0"));
    s.layer = std::stoi(Get("MMZ_LAYER", "0"));
    s.weights = Get("MMZ_WEIGHTS", "");
    s.kick_weights = Get("MMZ_KWEIGHTS", "");
    s.log = Get("MMZ_LOG", "");
    return s;
  }();
  return settings;
}

Model::Model(const std::string& mode, const std::string& file, bool kicks) {
  if (mode == "none") return;
  if (mode == "hand" && !kicks) {
    kind_ = Kind::kLinear;
    linear_[6] = 0.5;    // costly
    linear_[9] = 0.3;    // effective changes
    linear_[12] = 0.4;   // net saving
    linear_[29] = -0.5;  // distance from the kick
    linear_[31] = -0.5;  // failures
    linear_[32] = 0.5;   // gained before
    linear_[33] = -6;    // known to be refused
    return;
  }
  if (mode == "hand") {
    kind_ = Kind::kLinear;
    linear_[12] = 0.3;
    linear_[22] = 0.2;
    linear_[31] = -0.5;
    linear_[32] = 0.5;
    linear_[33] = -3;
    return;
  }
  if (mode == "linear") {
    kind_ = Kind::kLinear;
    std::ifstream in(file);
    for (float& w : linear_) in >> w;
    if (!in) std::abort();
    return;
  }
  kind_ = mode == "random" ? Kind::kRandom : Kind::kMlp;
  if (mode == "mlp") {
    std::ifstream in(file);
    for (auto& row : w1_)
      for (float& w : row) in >> w;
    for (float& w : b1_) in >> w;
    for (float& w : w2_) in >> w;
    in >> b2_;
    if (!in) std::abort();
    return;
  }
  Random random(12345);
  const auto normal = [&random] {
    return static_cast<float>(std::sqrt(-2 * std::log(1 - random.Unit())) *
                              std::cos(6.283185307 * random.Unit()));
  };
  for (auto& row : w1_)
    for (float& w : row) w = normal() * std::sqrt(2.0F / kMoveFeatures);
  for (float& w : w2_) w = normal() * std::sqrt(1.0F / kHidden);
}

__attribute__((target_clones("arch=haswell", "default"))) float Mlp(
    const float* x, const float* w1, const float* b1, const float* w2, float b2) {
  alignas(32) float h[kHidden];
  for (int k = 0; k < kHidden; ++k) h[k] = b1[k];
  for (int f = 0; f < kMoveFeatures; ++f) {
    const float v = x[f];
    for (int k = 0; k < kHidden; ++k) h[k] += v * w1[f * kHidden + k];
  }
  float sum = b2;
  for (int k = 0; k < kHidden; ++k) sum += (h[k] > 0 ? h[k] : 0) * w2[k];
  return sum;
}

float Model::Score(const MoveFeatures& x) const {
  if (kind_ == Kind::kLinear) {
    float sum = linear_[kMoveFeatures];
    for (int f = 0; f < kMoveFeatures; ++f) sum += x[f] * linear_[f];
    return sum;
  }
  return Mlp(x.data(), &w1_[0][0], b1_, w2_, b2_);
}

MoveScorer::MoveScorer(const NeighbourhoodTables& tables)
    : tables_(tables), facts_(tables.facts()) {
  const MoveSettings& s = TheMoveSettings();
  model_ = Model(s.mode, s.weights, false);
  kick_model_ = Model(s.kick_mode, s.kick_weights, true);
  needs_features_ = model_.scores() || kick_model_.scores() || !s.log.empty();
  is_on_ = needs_features_ || s.dedupe;
  moves_.resize(std::max(1U, s.draws));
  kicks_.resize(std::max(1U, s.kick_draws));
  if (!is_on_) return;
  seen_.resize(1 << 15);
  const Program& program = tables.program();
  const uint32_t n = program.access_count();
  double sum = 1e-9 * tables.rules().all_hbm_cycles();
  for (const AccessIndex a : tables.movable()) sum += std::max(0.0, facts_.savings()[a]);
  unit_ = sum / std::max<size_t>(1, tables.movable().size());
  const double total = facts_.cycles_before().back();
  const double memory_unit = SavingsDensityUnit(program, facts_.savings(), total);
  const auto keeps = FindKeepValues(tables.rules(), facts_.savings());
  const double capacity = static_cast<double>(std::max<int64_t>(1, tables.rules().fast_memory_bytes()));
  access_.resize(n);
  uint32_t position = 0;
  for (const AccessIndex a : program.accesses().indices()) {
    const Value& value = facts_.values()[facts_.ValueOf(a)];
    const double bytes = static_cast<double>(tables.rules().buffer(value.buffer).bytes);
    const uint32_t k = facts_.PositionOf(a);
    const InstructionIndex i = program.accesses()[a].instruction;
    const double held =
        k == 0 ? 0
               : facts_.cycles_before()[i + 1] -
                     facts_.cycles_before()[program.accesses()[value.accesses[k - 1]].instruction + 1];
    Facts& f = access_[a.number()];
    f.saving = facts_.savings()[a] / unit_;
    f.bytes = std::min(2.0, bytes / capacity);
    f.rent = memory_unit * bytes * std::max(0.0, held) / unit_;
    f.copy = bytes / program.hardware().hbm_bytes_per_cycle() / unit_;
    f.occupied = keeps[a].exists ? keeps[a].occupied : 0;
    f.log_count = std::log1p(program.instructions()[i].execution_count);
    f.value_size = std::log1p(value.accesses.size());
    f.position = position;
    if (facts_.IsMovable(a)) ++position;
  }
  occupancy_.assign(program.instruction_count() + 1, 0);
  fast_.assign(n, 0);
  fails_.assign(facts_.values().size(), 0);
  kick_fails_ = fails_;
  gained_.assign(facts_.values().size(), 0);
  kick_gained_ = gained_;
  if (!s.log.empty()) {
    step_log_ = std::fopen((s.log + ".steps").c_str(), "ab");
    kick_log_ = std::fopen((s.log + ".kicks").c_str(), "ab");
  }
}

MoveScorer::~MoveScorer() {
  if (step_log_ != nullptr) std::fclose(step_log_);
  if (kick_log_ != nullptr) std::fclose(kick_log_);
}

void MoveScorer::Occupy(AccessIndex access, const std::vector<uint8_t>& fast, float sign) {
  // The pair of the access before and this one.
  const Value& value = facts_.values()[facts_.ValueOf(access)];
  const uint32_t k = facts_.PositionOf(access);
  if (!fast[access.number()]) return;
  InstructionIndex first = tables_.program().accesses()[access].instruction;
  const InstructionIndex last = first;
  if (k > 0 && fast[value.accesses[k - 1].number()]) {
    first = tables_.program().accesses()[value.accesses[k - 1]].instruction + 1;
  }
  const float bytes = sign * access_[access.number()].bytes;
  for (InstructionIndex i = first; i <= last; ++i) occupancy_[i.number()] += bytes;
}

void MoveScorer::Update(const Incumbent& incumbent) {
  if (version_ == incumbent.version()) return;
  version_ = incumbent.version();
  if (needs_features_) {
    for (uint32_t a = 0; a < fast_.size(); ++a) {
      const AccessIndex access(a);
      const uint8_t now = incumbent.IsFast(access) ? 1 : 0;
      if (fast_[a] == now) continue;
      const Value& value = facts_.values()[facts_.ValueOf(access)];
      const uint32_t k = facts_.PositionOf(access);
      const bool has_next = k + 1 < value.accesses.size();
      Occupy(access, fast_, -1);
      if (has_next) Occupy(value.accesses[k + 1], fast_, -1);
      fast_[a] = now;
      Occupy(access, fast_, 1);
      if (has_next) Occupy(value.accesses[k + 1], fast_, 1);
    }
  }
  game_key_ = incumbent.GameKey();
}

void MoveScorer::Describe(const Incumbent& incumbent, Move& move, bool is_kick,
                          double idle_share) {
  MoveFeatures& x = move.features;
  x.fill(0);
  move.key = game_key_;
  float in = 0, out = 0, in_bytes = 0, out_bytes = 0, rent_in = 0, rent_out = 0, copies = 0;
  int effective = 0, other = 0;
  AccessIndex first = move.anchor, last = move.anchor;
  for (const PlanChange& change : move.changes) {
    const bool takes = incumbent.TakesEffect(change);
    if (!takes) continue;
    if (effective++ == 0) first = change.access;
    last = change.access;
    move.key ^= SplitMix(static_cast<uint64_t>(change.access.number()) * 4 + 1 + Underlying(incumbent.Taken(change)));
    if (!needs_features_) continue;
    const Facts& f = access_[change.access.number()];
    const bool fast = incumbent.IsFast(change.access);
    const bool to_fast = change.action != Action::kDrop;
    if (to_fast && !fast) {
      in += f.saving;
      in_bytes = std::max(in_bytes, f.bytes);
      rent_in += f.rent;
      if (change.action == Action::kCopy) copies += f.copy;
    } else if (!to_fast && fast) {
      out += f.saving;
      out_bytes = std::max(out_bytes, f.bytes);
      rent_out += f.rent;
    } else {
      ++other;
    }
  }
  move.is_effective = effective > 0;
  if (!needs_features_) return;
  const Program& program = tables_.program();
  const Facts& f = access_[move.anchor.number()];
  const Access& access = program.accesses()[move.anchor];
  const ValueIndex value = facts_.ValueOf(move.anchor);
  x[Underlying(move.kind)] = 1;  // 0 to 5
  x[6] = move.costly;
  x[7] = Log(move.changes.size());
  x[8] = move.changes.empty() ? 0 : static_cast<float>(effective) / move.changes.size();
  x[9] = Log(effective);
  x[10] = Slog(in);
  x[11] = Slog(out);
  x[12] = Slog(in - out);
  x[13] = in_bytes;
  x[14] = out_bytes;
  x[15] = Slog(rent_in);
  x[16] = Slog(rent_out);
  x[17] = Slog(in - rent_in);
  x[18] = Slog(out - rent_out);
  x[19] = Slog(copies);
  x[20] = occupancy_[access.instruction.number()];
  x[21] = std::clamp(1 - x[20] - in_bytes + out_bytes, -1.0F, 1.0F);
  x[22] = Slog(f.saving);
  x[23] = f.occupied;
  x[24] = access.kind == AccessKind::kRead;
  x[25] = access.kind == AccessKind::kUpdate;
  x[26] = f.log_count;
  x[27] = incumbent.IsFast(move.anchor);
  x[28] = Slog(tables_.Regret(access.instruction,
                              FastMask(program, access.instruction, incumbent.in_fast_memory())) /
               unit_);
  const int64_t p = f.position;
  x[29] = after_kick_ || is_kick ? Log(std::abs(p - static_cast<int64_t>(access_[kicked_.number()].position))) : 0;
  x[30] = after_kick_;
  x[31] = Log(is_kick ? kick_fails_[value.number()] : fails_[value.number()]);
  x[32] = is_kick ? kick_gained_[value.number()] : gained_[value.number()];
  x[33] = Seen(move.key);
  x[34] = Log(access_[last.number()].position - access_[first.number()].position);
  x[35] = static_cast<float>(access_[first.number()].position) / tables_.movable().size();
  x[36] = f.value_size;
  x[37] = Log(other);
  x[38] = std::min(1.0, idle_share);
  x[39] = 0.1F * Log(tables_.movable().size());
}

size_t MoveScorer::Pick(const std::vector<Move>& moves, size_t count, const Model& model,
                        float temperature, Random& random) const {
  float best = 0;
  size_t picked = count;
  const size_t lot = model.is_random() ? random.Below(count) : 0;
  for (size_t k = 0; k < count; ++k) {
    float score = model.Score(moves[k].features);
    if (model.is_random()) {
      score = (k == lot ? 1.0F : 0.0F) + 1e-30F * score;  // the cost of scoring without its use
    } else if (temperature > 0) {
      score -= temperature * std::log(-std::log(static_cast<float>(random.Unit()) + 1e-12F));
    }
    if (!moves[k].is_effective) score -= 1000;
    if (picked == count || score > best) {
      best = score;
      picked = k;
    }
  }
  return picked;
}

const Move& MoveScorer::ChooseStep(Neighbourhood& neighbourhood, const Incumbent& incumbent,
                                   Random& random, double idle_share) {
  Update(incumbent);
  const MoveSettings& s = TheMoveSettings();
  const auto draw = [&](Move& move) {
    const auto changes = neighbourhood.Draw(incumbent, random);
    move.changes.assign(changes.begin(), changes.end());
    move.kind = neighbourhood.last_kind();
    move.costly = neighbourhood.last_costly();
    move.anchor = neighbourhood.last_anchor();
  };
  if (!model_.scores()) {
    Move& move = moves_[0];
    step_ = 0;
    for (int attempt = 0;; ++attempt) {
      draw(move);
      if (step_log_ == nullptr && !s.dedupe) break;
      Describe(incumbent, move, false, idle_share);
      if (!s.dedupe || attempt == 7 || (move.is_effective && !Seen(move.key))) break;
    }
    return move;
  }
  for (uint32_t k = 0; k < s.draws; ++k) {
    draw(moves_[k]);
    Describe(incumbent, moves_[k], false, idle_share);
  }
  step_ = Pick(moves_, s.draws, model_, s.temperature, random);
  return moves_[step_];
}

const Move& MoveScorer::ChooseKick(Neighbourhood& neighbourhood, const Incumbent& incumbent,
                                   Random& random) {
  Update(incumbent);
  const uint32_t count = kick_model_.scores() ? TheMoveSettings().kick_draws : 1;
  for (uint32_t k = 0; k < count; ++k) {
    Move& move = kicks_[k];
    const auto changes = neighbourhood.DrawKick(incumbent, random);
    move.changes.assign(changes.begin(), changes.end());
    move.kind = neighbourhood.last_kind();
    move.costly = neighbourhood.last_costly();
    move.anchor = neighbourhood.last_anchor();
    Describe(incumbent, move, true, 0);
  }
  kick_ = kick_model_.scores()
              ? Pick(kicks_, count, kick_model_, TheMoveSettings().kick_temperature, random)
              : 0;
  return kicks_[kick_];
}

void MoveScorer::StepDone(bool played, double gain, bool accepted) {
  const Move& move = moves_[step_];
  if (step_log_ != nullptr && played && (gain > 0 || logged_++ % 16 == 0)) {
    const float labels[6] = {static_cast<float>(gain / unit_), static_cast<float>(accepted),
                             static_cast<float>(after_kick_), gain > 0 ? 1.0F : 16.0F, 0, 0};
    std::fwrite(move.features.data(), 4, kMoveFeatures, step_log_);
    std::fwrite(labels, 4, 6, step_log_);
  }
  if (!played) return;
  if (!accepted) seen_[move.key % seen_.size()] = move.key;
  if (!needs_features_) return;
  const uint32_t value = facts_.ValueOf(move.anchor).number();
  gained_[value] = gain > 0;
  fails_[value] = gain > 0 ? 0 : fails_[value] + 1;
}

void MoveScorer::KickDone(double gain, bool after_climb_equal) {
  const Move& move = kicks_[kick_];
  if (kick_log_ != nullptr && move.is_effective) {
    const float labels[6] = {static_cast<float>(gain / unit_), static_cast<float>(after_climb_equal),
                             0, 1, 0, 0};
    std::fwrite(move.features.data(), 4, kMoveFeatures, kick_log_);
    std::fwrite(labels, 4, 6, kick_log_);
  }
  if (!needs_features_) return;
  seen_[move.key % seen_.size()] = move.key;
  const uint32_t value = facts_.ValueOf(move.anchor).number();
  kick_gained_[value] = gain > 0;
  kick_fails_[value] = gain > 0 ? 0 : kick_fails_[value] + 1;
}

}  // namespace mallocmuzero
