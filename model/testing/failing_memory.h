// LibTorch without memory, for tests.

#ifndef MALLOCMUZERO_MODEL_TESTING_FAILING_MEMORY_H_
#define MALLOCMUZERO_MODEL_TESTING_FAILING_MEMORY_H_

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

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_MODEL_TESTING_FAILING_MEMORY_H_
