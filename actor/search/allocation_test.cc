// Tests that a search allocates no memory. A binary of its own, because it replaces operator new to
// count allocations.

#include <cstdint>
#include <numeric>
#include <vector>

#include "actor/search/batched_search.h"
#include "actor/search/search.h"
#include "actor/search/testing/hash_model.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/counted_new.h"

namespace mallocmuzero {
namespace {

using testing::Allocations;
using testing::HashModel;

TEST(Allocation, IsCounted) {
  const uint64_t before = Allocations();
  const std::vector<int> numbers(100);
  const Search search({}, 2, 3);
  EXPECT_GE(Allocations() - before, 2);
}

TEST(Allocation, SearchingMakesNone) {
  for (const SearchConfig::Kind kind : {SearchConfig::Kind::kGumbel, SearchConfig::Kind::kPuct}) {
    for (const uint32_t actions : {3U, 8U}) {
      Search search({.kind = kind, .simulations = 32}, 4, actions);
      HashModel model({}, search.slots(), actions);
      BatchedSearch batched(search, model);
      const std::vector<uint32_t> games = {0, 1, 2, 3};
      const std::vector<float> roots = {5, 6, 7, 8};
      const std::vector<RootOptions> options(4);
      const uint64_t before = Allocations();
      batched.Run(games, roots, options);
      for (const uint32_t game : games) {
        const SearchResult result = search.Result(game);
        EXPECT_EQ(std::accumulate(result.visits.begin(), result.visits.end(), 0U), 32);
      }
      EXPECT_EQ(Allocations(), before);
    }
  }
}

}  // namespace
}  // namespace mallocmuzero
