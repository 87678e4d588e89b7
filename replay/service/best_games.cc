#include "replay/service/best_games.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "replay/service/selector.h"
#include "replay/service/slot.h"

namespace mallocmuzero {

BestGames::Added BestGames::Add(Slot slot, absl::string_view program_sha256, double total_return,
                                uint32_t positions) {
  if (capacity_ == 0) return {};
  const auto [found, is_new] = index_.try_emplace(program_sha256, programs_.size());
  if (is_new) programs_.push_back({.sha256 = std::string(program_sha256)});
  std::vector<Game>& games = programs_[found->second].games;
  size_t place = 0;
  while (place < games.size() && games[place].total_return > total_return) ++place;
  for (size_t i = place; i < games.size() && games[i].total_return == total_return; ++i) {
    if (games[i].positions == positions) return {};
  }
  if (place == capacity_) return {};
  games.insert(games.begin() + place, {total_return, positions, slot});
  positions_ += positions;
  if (games.size() <= capacity_) return {.is_best = true};
  const Game displaced = games.back();
  games.pop_back();
  positions_ -= displaced.positions;
  return {.is_best = true, .displaced = displaced.slot};
}

void BestGames::Remove(Slot slot, absl::string_view program_sha256) {
  const auto found = index_.find(program_sha256);
  assert(found != index_.end());
  const size_t index = found->second;
  std::vector<Game>& games = programs_[index].games;
  const auto game =
      std::find_if(games.begin(), games.end(), [&](const Game& g) { return g.slot == slot; });
  assert(game != games.end());
  positions_ -= game->positions;
  games.erase(game);
  if (games.empty()) RemoveProgram(index);
}

void BestGames::RemoveProgram(size_t index) {
  index_.erase(programs_[index].sha256);
  if (index + 1 < programs_.size()) {
    programs_[index] = std::move(programs_.back());
    index_[programs_[index].sha256] = index;
  }
  programs_.pop_back();
}

SlotDraw BestGames::Draw(std::mt19937_64& random) const {
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  const std::vector<Game>& games = programs_[below(programs_.size())].games;
  const Game& game = games[below(games.size())];
  const auto choices = static_cast<double>(programs_.size() * games.size());
  const uint32_t position = below(game.positions);
  return {.slot = game.slot, .position = position, .probability = 1 / (choices * game.positions)};
}

}  // namespace mallocmuzero
