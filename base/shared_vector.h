// A vector that is cheap to copy: copies share their elements until one of them changes.

#ifndef MALLOCMUZERO_BASE_SHARED_VECTOR_H_
#define MALLOCMUZERO_BASE_SHARED_VECTOR_H_

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/index.h"

namespace mallocmuzero {

// Elements that indices of the kind I address. A short vector is a std::vector. A long one has its
// elements in chunks of up to a KiB. A copy of it takes the time of a counter for each chunk, and
// none for a chunk that both vectors share already. A change copies the chunk that it is in, if
// other vectors share it. A short vector shares nothing, because copying its elements takes less
// time than changing shared chunks.
//
// Thread-compatible, as a std::vector is: vectors that share chunks may be used in different
// threads. A reference to an element is valid until the vector, or this element, changes.
template <typename I, typename T>
requires std::is_trivially_copyable_v<T>
class SharedVector {
 public:
  using value_type = T;

  SharedVector() = default;
  SharedVector(size_t size, const T& value) {
    while (size_ < size) push_back(value);
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // As in IndexVector.
  I end_index() const { return I(size_); }
  IndexRange<I> indices() const { return {I(0), end_index()}; }

  const T& operator[](I index) const { return At(index_internal::PlaceOf(index)); }
  const T& back() const { return At(size_ - 1); }

  // To change an element.
  T& Mutable(I index) {
    const size_t place = index_internal::PlaceOf(index);
    assert(place < size_);
    return chunks_.empty() ? short_[place] : Own(place / kChunkSize)[place % kChunkSize];
  }

  void push_back(const T& element) {
    if (chunks_.empty() && size_ < kMostShort) {
      short_.push_back(element);
    } else {
      PushBackToChunks(element);
    }
    ++size_;
  }

  // Moves the elements from `index` on one further, which takes time in their number.
  void insert(I index, const T& element) {
    push_back(element);
    for (size_t k = size_ - 1; k > index_internal::PlaceOf(index); --k) {
      const T previous = At(k - 1);
      Mutable(I(k)) = previous;
    }
    Mutable(index) = element;
  }

  // Shared chunks count in full.
  size_t HeapBytes() const {
    return short_.capacity() * sizeof(T) + chunks_.capacity() * sizeof(Ref) +
           chunks_.size() * sizeof(Chunk);
  }

  // The bytes that a copy of the vector has for itself.
  size_t CopyBytes() const { return short_.size() * sizeof(T) + chunks_.size() * sizeof(Ref); }

  friend bool operator==(const SharedVector& a, const SharedVector& b) {
    if (a.size_ != b.size_ || a.short_ != b.short_) return false;
    for (size_t k = 0; k < a.chunks_.size(); ++k) {
      if (a.chunks_[k].get() == b.chunks_[k].get()) continue;
      const size_t count = std::min(kChunkSize, a.size_ - k * kChunkSize);
      const T* elements = a.chunks_[k].get()->elements();
      if (!std::equal(elements, elements + count, b.chunks_[k].get()->elements())) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kChunkBytes = 1024;
  static constexpr size_t kChunkSize = std::bit_floor(kChunkBytes / sizeof(T));
  static_assert(kChunkSize >= 8);

  // A short vector has no more elements.
  static constexpr size_t kMostShort = (size_t{1} << 16) / sizeof(T);

  // Elements begin to exist when they are written: AddToChunks writes them in their order.
  struct Chunk {
    T* elements() { return reinterpret_cast<T*>(bytes); }

    std::atomic<uint32_t> owners = 1;
    alignas(T) std::byte bytes[kChunkSize * sizeof(T)];
  };

  // Holds a share of a chunk.
  class Ref {
   public:
    Ref() = default;
    explicit Ref(Chunk* chunk) : chunk_(chunk) {}
    Ref(const Ref& other) : chunk_(other.chunk_) {
      if (chunk_ != nullptr) chunk_->owners.fetch_add(1, std::memory_order_relaxed);
    }
    Ref(Ref&& other) noexcept : chunk_(std::exchange(other.chunk_, nullptr)) {}
    ~Ref() {
      if (chunk_ == nullptr) return;
      // The last owner deletes what all others have finished reading.
      if (chunk_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete chunk_;
    }
    Ref& operator=(const Ref& other) {
      if (chunk_ != other.chunk_) *this = Ref(other);
      return *this;
    }
    Ref& operator=(Ref&& other) noexcept {
      std::swap(chunk_, other.chunk_);
      return *this;
    }

    Chunk* get() const { return chunk_; }
    bool is_shared() const { return chunk_->owners.load(std::memory_order_acquire) > 1; }

   private:
    Chunk* chunk_ = nullptr;
  };

  const T& At(size_t place) const {
    assert(place < size_);
    return chunks_.empty() ? short_[place]
                           : chunks_[place / kChunkSize].get()->elements()[place % kChunkSize];
  }

  void PushBackToChunks(T element) {
    if (chunks_.empty()) {
      for (size_t k = 0; k < size_; ++k) AddToChunks(k, short_[k]);
      short_ = {};
    }
    AddToChunks(size_, element);
  }

  // Adds the element at `place`, which is the number of elements in chunks.
  void AddToChunks(size_t place, T element) {
    if (place % kChunkSize == 0) chunks_.push_back(Ref(new Chunk));
    Own(place / kChunkSize)[place % kChunkSize] = element;
  }

  // The elements of a chunk that no other vector shares.
  T* Own(size_t chunk) {
    Ref& ref = chunks_[chunk];
    if (ref.is_shared()) {
      auto* copy = new Chunk;
      std::memcpy(copy->bytes, ref.get()->bytes, sizeof(copy->bytes));
      ref = Ref(copy);
    }
    return ref.get()->elements();
  }

  std::vector<T> short_;     // all elements, or none if there are chunks
  std::vector<Ref> chunks_;  // none if the vector is short
  size_t size_ = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_SHARED_VECTOR_H_
