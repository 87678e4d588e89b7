#include "model/testing/failing_memory.h"

#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "model/torch_version.h"

namespace mallocmuzero::testing {
namespace {

// SetAllocator ignores an allocator with a lower priority than the present one.
constexpr uint8_t kPriority = 1;

constexpr int64_t kEnough = std::numeric_limits<int64_t>::max();

// LibTorch's own allocator, which can be told to fail.
class Switched final : public c10::Allocator {
 public:
  // Never destroyed: tensors may outlive all objects of the program.
  static Switched& Installed() {
    static Switched* const installed = [] {
      auto* allocator = new Switched(*c10::GetAllocator(c10::kCPU));
      c10::SetAllocator(c10::kCPU, allocator, kPriority);
      return allocator;
    }();
    return *installed;
  }

  void set_fails(bool fails) { fails_ = fails; }
  void set_left(int64_t tensors) { left_ = tensors; }
  int64_t left() const { return left_; }

#if MALLOCMUZERO_TORCH_AT_LEAST(2, 4)
  c10::DataPtr allocate(size_t bytes) override { return Allocate(bytes); }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    own_.copy_data(to, from, bytes);
  }
#else
  c10::DataPtr allocate(size_t bytes) const override { return Allocate(bytes); }
#endif
  c10::DeleterFnPtr raw_deleter() const override { return own_.raw_deleter(); }

 private:
  explicit Switched(c10::Allocator& own) : own_(own) {}

  c10::DataPtr Allocate(size_t bytes) const {
    TORCH_CHECK(!fails_, "no memory for ", bytes, " bytes, because a test wants none");
    TORCH_CHECK_WITH(OutOfMemoryError, left_-- > 0, "no memory for ", bytes,
                     " bytes, because a test has given too little");
    return own_.allocate(bytes);
  }

  c10::Allocator& own_;
  std::atomic<bool> fails_ = false;
  mutable std::atomic<int64_t> left_ = kEnough;
};

}  // namespace

FailingMemory::FailingMemory() { Switched::Installed().set_fails(true); }
FailingMemory::~FailingMemory() { Switched::Installed().set_fails(false); }

ShortMemory::ShortMemory(int64_t tensors) { Switched::Installed().set_left(tensors); }
ShortMemory::~ShortMemory() { Switched::Installed().set_left(kEnough); }
int64_t ShortMemory::left() const { return Switched::Installed().left(); }

}  // namespace mallocmuzero::testing
