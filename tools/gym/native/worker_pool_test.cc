#include "tools/gym/native/worker_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero::gym {
namespace {

using ::testing::Each;

TEST(WorkerPool, VisitsEveryElementOnceInEveryRound) {
  for (const uint32_t threads : {1U, 2U, 5U}) {
    WorkerPool pool(threads);
    for (const size_t count : {size_t{0}, size_t{1}, size_t{3}, size_t{1000}}) {
      std::vector<int> visits(count);
      for (int round = 0; round < 20; ++round) {
        pool.Run(count, [&visits](uint32_t, size_t begin, size_t end) {
          for (size_t k = begin; k < end; ++k) ++visits[k];
        });
      }
      EXPECT_THAT(visits, Each(20)) << threads << " threads, " << count << " elements";
    }
  }
}

TEST(WorkerPool, GivesEachThreadItsNumber) {
  WorkerPool pool(3);
  std::vector<uint32_t> threads(6);
  pool.Run(threads.size(), [&threads](uint32_t thread, size_t begin, size_t end) {
    for (size_t k = begin; k < end; ++k) threads[k] = thread;
  });
  EXPECT_THAT(threads, ::testing::ElementsAre(0, 0, 1, 1, 2, 2));
}

TEST(WorkerPool, KnowsThatAForkHasNoneOfItsThreads) {
  std::optional<WorkerPool> one(1);
  std::optional<WorkerPool> pool(2);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);  // ends a child that hangs
    const bool right = one->HasItsThreads() && !pool->HasItsThreads();
    one.reset();
    pool.reset();
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(pool->HasItsThreads());
}

TEST(WorkerPool, IsDestroyedInAForkThatIsMadeWhileAnotherThreadUsesMutexes) {
  AllowForks();
  std::atomic<bool> ended = false;
  std::thread other([&ended] {
    while (!ended) absl::Mutex();
  });
  int failures = 0;
  for (int fork_number = 0; fork_number < 50; ++fork_number) {
    std::optional<WorkerPool> pool(2);
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);  // ends a child that hangs
      pool.reset();
      _exit(0);
    }
    int status = -1;
    if (waitpid(child, &status, 0) != child || status != 0) ++failures;
    if (failures > 0) break;
  }
  ended = true;
  other.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace mallocmuzero::gym
