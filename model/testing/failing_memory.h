// LibTorch without memory, for tests.

#ifndef MALLOCMUZERO_MODEL_TESTING_FAILING_MEMORY_H_
#define MALLOCMUZERO_MODEL_TESTING_FAILING_MEMORY_H_

#include <cstdint>

namespace mallocmuzero::testing {

// While an object of this class lives, LibTorch gets no memory for new tensors on the CPU, in any
// thread. It throws then, as it does when a GPU fails. Only one object may live at a time.
class FailingMemory {
 public:
  FailingMemory();
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;
};

// While an object of this class lives, LibTorch gets memory for `tensors` more tensors on the CPU,
// counted over all threads. Then it throws as it does when a GPU has too little memory. Only one
// object may live at a time, and none of FailingMemory beside it.
class ShortMemory {
 public:
  explicit ShortMemory(int64_t tensors);
  ~ShortMemory();
  ShortMemory(const ShortMemory&) = delete;
  ShortMemory& operator=(const ShortMemory&) = delete;

  // The number of tensors for which there is memory still.
  int64_t left() const;
};

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_MODEL_TESTING_FAILING_MEMORY_H_
