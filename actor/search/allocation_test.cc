// Counts allocations, so it is a binary of its own: a search must make none.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <numeric>
#include <vector>

#include "actor/search/batched_search.h"
#include "actor/search/search.h"
#include "actor/search/testing/hash_model.h"
#include "gtest/gtest.h"

namespace {
std::atomic<uint64_t> allocations{0};
}  // namespace

// The other forms of new end in these two.
void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  std::abort();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  ++allocations;
  const auto align = static_cast<std::size_t>(alignment);
  if (void* const memory = std::aligned_alloc(align, (size + align - 1) / align * align)) {
    return memory;
  }
  std::abort();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace mallocmuzero {
namespace {

using testing::HashModel;

TEST(Allocation, IsCounted) {
  const uint64_t before = allocations;
  const std::vector<int> numbers(100);
  const Search search({}, 2, 3);
  EXPECT_GE(allocations - before, 2);
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
      const uint64_t before = allocations;
      batched.Run(games, roots, options);
      for (const uint32_t game : games) {
        const SearchResult result = search.Result(game);
        EXPECT_EQ(std::accumulate(result.visits.begin(), result.visits.end(), 0U), 32);
      }
      EXPECT_EQ(allocations, before);
    }
  }
}

}  // namespace
}  // namespace mallocmuzero
