#include "train/player_pool.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/status_macros.h"

namespace mallocmuzero {

absl::StatusOr<PlayedGames> PlayOnThreads(absl::Span<const GameTask> tasks,
                                          const SearchConfig& search, uint32_t threads,
                                          uint32_t max_in_flight,
                                          const std::shared_ptr<const NetworkSnapshot>& network,
                                          uint64_t network_step,
                                          const std::function<bool()>& stop) {
  // Tasks are dealt in turn, so that every thread gets long and short games.
  threads = std::min<size_t>(threads, tasks.size());
  std::vector<std::vector<GameTask>> shares(threads);
  for (size_t i = 0; i < tasks.size(); ++i) shares[i % threads].push_back(tasks[i]);
  std::vector<std::unique_ptr<SelfPlay>> players;
  for (const std::vector<GameTask>& share : shares) {
    const uint32_t in_flight = std::min<size_t>(share.size(), max_in_flight);
    absl::StatusOr<std::unique_ptr<SelfPlay>> player = SelfPlay::Create(
        search, in_flight,
        [&network](uint32_t slots) { return NetworkSnapshot::MakeLatentModel(network, slots); });
    if (!player.ok()) return player.status();
    players.push_back(*std::move(player));
  }
  std::vector<absl::StatusOr<std::vector<v1::Trajectory>>> played(threads);
  const auto play = [&](size_t t) {
    SetComputeThreads(1);
    played[t] = players[t]->Play(shares[t], network_step, stop);
  };
  std::vector<std::thread> others;
  for (size_t t = 1; t < threads; ++t) others.emplace_back(play, t);
  if (threads > 0) play(0);
  for (std::thread& other : others) other.join();

  for (const auto& games : played) MMZ_RETURN_IF_ERROR(games.status());

  PlayedGames result;
  for (const std::unique_ptr<SelfPlay>& player : players) result.stats.Add(player->TakeStats());
  std::vector<size_t> next(threads, 0);
  for (size_t i = 0; i < tasks.size(); ++i) {
    std::vector<v1::Trajectory>& own = *played[i % threads];
    size_t& n = next[i % threads];
    if (n < own.size() && own[n].id() == tasks[i].id) result.games.push_back(std::move(own[n++]));
  }
  return result;
}

}  // namespace mallocmuzero
