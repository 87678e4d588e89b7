#include "simulator/core/testing/counted_new.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace mallocmuzero::testing {
namespace {
std::atomic<uint64_t> allocations{0};
}  // namespace

uint64_t Allocations() { return allocations; }

}  // namespace mallocmuzero::testing

using mallocmuzero::testing::allocations;

// All other forms of operator new and delete call these. The form that does not throw stands here
// because AddressSanitizer has its own. They are in a file of their own, because a compiler that
// sees one of a pair without the other reports a mismatch.
void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  std::abort();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return operator new(size); }
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
