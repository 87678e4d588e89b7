// Indices that cannot be mixed up: an index of one kind neither converts into another kind nor
// into a plain number, and sequences that only indices of their own kind can address.

#ifndef MALLOCMUZERO_BASE_INDEX_H_
#define MALLOCMUZERO_BASE_INDEX_H_

#include <cassert>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <ostream>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace mallocmuzero {
namespace index_internal {

// Subsumes std::integral, so that a constructor with it wins over one with std::integral.
template <typename T>
concept Number = std::integral<T> && sizeof(T) > 0;

// No constant expression can call it, so that such an expression does not compile.
inline void ConstantDoesNotFit() {}

}  // namespace index_internal

// An index of one kind, for example `using BufferIndex = Index<class BufferTag>`. It is a number
// of 32 bits and costs nothing more. Constants convert by themselves, so `buffer = 3` and
// `loop == kNone` are right; every other number needs an explicit `BufferIndex(number)`. An index
// may be negative: code uses -1 for an index that does not exist. A constant that does not fit
// into 32 signed bits does not compile, and any other number must fit.
template <typename Tag>
class Index {
 public:
  constexpr Index() = default;

  // From a constant of the program's text.
  template <std::integral N>
  consteval Index(N constant)  // NOLINT(google-explicit-constructor)
      : number_(static_cast<int32_t>(constant)) {
    if (!std::in_range<int32_t>(constant)) index_internal::ConstantDoesNotFit();
  }

  // From a number that comes from elsewhere, for example from a message.
  template <index_internal::Number N>
  explicit constexpr Index(N number) : number_(static_cast<int32_t>(number)) {
    assert(std::in_range<int32_t>(number));
  }

  // For interfaces that know no indices, for example messages.
  constexpr int32_t number() const { return number_; }

  // Lets absl::StrCat print the number.
  operator absl::AlphaNum() const {  // NOLINT(google-explicit-constructor)
    return absl::AlphaNum(number_);
  }
  friend std::ostream& operator<<(std::ostream& out, Index index) { return out << index.number_; }
  template <typename H>
  friend H AbslHashValue(H hash, Index index) {
    return H::combine(std::move(hash), index.number_);
  }

  friend constexpr bool operator==(Index, Index) = default;
  friend constexpr auto operator<=>(Index, Index) = default;

  constexpr Index& operator++() { return *this += 1; }
  constexpr Index& operator--() { return *this -= 1; }
  constexpr Index operator++(int) { return std::exchange(*this, *this + 1); }
  constexpr Index operator--(int) { return std::exchange(*this, *this - 1); }

  // An index further on or back, and the distance from one index to another.
  template <std::integral N>
  constexpr Index& operator+=(N distance) {
    number_ += static_cast<int32_t>(distance);
    return *this;
  }
  template <std::integral N>
  constexpr Index& operator-=(N distance) {
    number_ -= static_cast<int32_t>(distance);
    return *this;
  }
  template <std::integral N>
  friend constexpr Index operator+(Index index, N distance) {
    return index += distance;
  }
  template <std::integral N>
  friend constexpr Index operator-(Index index, N distance) {
    return index -= distance;
  }
  friend constexpr int32_t operator-(Index a, Index b) { return a.number_ - b.number_; }

 private:
  int32_t number_ = 0;
};

namespace index_internal {

// The place of an index's element in a sequence. The index must not be negative.
template <typename Tag>
constexpr size_t PlaceOf(Index<Tag> index) {
  return static_cast<uint32_t>(index.number());
}

}  // namespace index_internal

// The indices from `begin` up to, and without, `end`, for range-based loops.
template <typename I>
class IndexRange {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = I;
    using difference_type = std::ptrdiff_t;
    using pointer = const I*;
    using reference = I;

    constexpr Iterator() = default;
    explicit constexpr Iterator(I index) : index_(index) {}
    constexpr I operator*() const { return index_; }
    constexpr Iterator& operator++() {
      ++index_;
      return *this;
    }
    constexpr Iterator operator++(int) { return Iterator(index_++); }
    friend constexpr bool operator==(const Iterator&, const Iterator&) = default;

   private:
    I index_;
  };

  constexpr IndexRange(I begin, I end) : begin_(begin), end_(end < begin ? begin : end) {}

  constexpr Iterator begin() const { return Iterator(begin_); }
  constexpr Iterator end() const { return Iterator(end_); }

 private:
  I begin_;
  I end_;
};

template <typename I, typename T>
class IndexVector;

// A view of consecutive elements that indices of the kind I address, from 0 on.
template <typename I, typename T>
class IndexSpan {
 public:
  using value_type = std::remove_cv_t<T>;

  constexpr IndexSpan() = default;
  explicit constexpr IndexSpan(absl::Span<T> elements) : elements_(elements) {}
  constexpr IndexSpan(T* elements, size_t size) : elements_(elements, size) {}

  // Of all elements of a vector; the vector must outlive the view.
  IndexSpan(const IndexVector<I, value_type>& vector)  // NOLINT(google-explicit-constructor)
      requires std::is_const_v<T> : elements_(vector.elements()) {}
  explicit IndexSpan(IndexVector<I, value_type>& vector) requires(!std::is_const_v<T>)
      : elements_(vector.data(), vector.size()) {}

  constexpr T& operator[](I index) const {
    return elements_.data()[index_internal::PlaceOf(index)];
  }

  constexpr size_t size() const { return elements_.size(); }
  constexpr bool empty() const { return elements_.empty(); }
  constexpr T* data() const { return elements_.data(); }
  constexpr T* begin() const { return elements_.data(); }
  constexpr T* end() const { return elements_.data() + elements_.size(); }
  constexpr T& front() const { return elements_.front(); }
  constexpr T& back() const { return elements_.back(); }

  // The index after the last one, all indices, and whether an index is one of them.
  constexpr I end_index() const { return I(elements_.size()); }
  constexpr IndexRange<I> indices() const { return {I(0), end_index()}; }
  constexpr bool contains(I index) const { return index >= I(0) && index < end_index(); }

  // The elements without their indices, `count` of them from `first` on, and the iterator of one.
  constexpr absl::Span<T> elements() const { return elements_; }
  constexpr absl::Span<T> Part(I first, size_t count) const {
    return elements_.subspan(index_internal::PlaceOf(first), count);
  }
  constexpr T* IteratorAt(I index) const { return begin() + (index - I(0)); }

 private:
  absl::Span<T> elements_;
};

// A std::vector that indices of the kind I address.
template <typename I, typename T>
class IndexVector {
 public:
  using value_type = T;
  using iterator = typename std::vector<T>::iterator;
  using const_iterator = typename std::vector<T>::const_iterator;

  IndexVector() = default;
  explicit IndexVector(size_t size) : elements_(size) {}
  IndexVector(size_t size, const T& value) : elements_(size, value) {}

  // With one element for each index below `end`.
  explicit IndexVector(I end) : elements_(index_internal::PlaceOf(end)) {}
  IndexVector(I end, const T& value) : elements_(index_internal::PlaceOf(end), value) {}

  IndexVector(std::initializer_list<T> elements) : elements_(elements) {}
  template <std::input_iterator It>
  IndexVector(It begin, It end) : elements_(begin, end) {}
  explicit IndexVector(std::vector<T> elements) : elements_(std::move(elements)) {}

  T& operator[](I index) { return elements_.data()[index_internal::PlaceOf(index)]; }
  const T& operator[](I index) const { return elements_.data()[index_internal::PlaceOf(index)]; }

  size_t size() const { return elements_.size(); }
  bool empty() const { return elements_.empty(); }
  size_t capacity() const { return elements_.capacity(); }
  T* data() { return elements_.data(); }
  const T* data() const { return elements_.data(); }
  iterator begin() { return elements_.begin(); }
  iterator end() { return elements_.end(); }
  const_iterator begin() const { return elements_.begin(); }
  const_iterator end() const { return elements_.end(); }
  T& front() { return elements_.front(); }
  const T& front() const { return elements_.front(); }
  T& back() { return elements_.back(); }
  const T& back() const { return elements_.back(); }

  // As in IndexSpan.
  I end_index() const { return I(elements_.size()); }
  IndexRange<I> indices() const { return {I(0), end_index()}; }
  bool contains(I index) const { return index >= I(0) && index < end_index(); }
  absl::Span<const T> elements() const { return elements_; }
  absl::Span<const T> Part(I first, size_t count) const {
    return elements().subspan(index_internal::PlaceOf(first), count);
  }
  iterator IteratorAt(I index) { return begin() + (index - I(0)); }
  const_iterator IteratorAt(I index) const { return begin() + (index - I(0)); }

  void reserve(size_t size) { elements_.reserve(size); }
  void resize(size_t size) { elements_.resize(size); }
  void resize(size_t size, const T& value) { elements_.resize(size, value); }
  void resize(I end) { elements_.resize(index_internal::PlaceOf(end)); }
  void resize(I end, const T& value) { elements_.resize(index_internal::PlaceOf(end), value); }
  void assign(size_t size, const T& value) { elements_.assign(size, value); }
  void assign(I end, const T& value) { elements_.assign(index_internal::PlaceOf(end), value); }
  template <std::input_iterator It>
  void assign(It begin, It end) {
    elements_.assign(begin, end);
  }
  void clear() { elements_.clear(); }
  void push_back(T element) { elements_.push_back(std::move(element)); }
  void pop_back() { elements_.pop_back(); }
  template <typename... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    return elements_.emplace_back(std::forward<Arguments>(arguments)...);
  }
  iterator insert(const_iterator place, T element) {
    return elements_.insert(place, std::move(element));
  }
  template <std::input_iterator It>
  iterator insert(const_iterator place, It begin, It end) {
    return elements_.insert(place, begin, end);
  }
  iterator erase(const_iterator place) { return elements_.erase(place); }
  iterator erase(const_iterator begin, const_iterator end) { return elements_.erase(begin, end); }

  friend bool operator==(const IndexVector&, const IndexVector&) = default;

 private:
  std::vector<T> elements_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_INDEX_H_
