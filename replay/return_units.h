// The two units of returns, rewards and values, as types that do not mix.

#ifndef MALLOCMUZERO_REPLAY_RETURN_UNITS_H_
#define MALLOCMUZERO_REPLAY_RETURN_UNITS_H_

#include <compare>

namespace mallocmuzero {

// A share of the cycles that a program takes with everything in HBM: returns, rewards, and returns
// to go (what is saved from a position on). A share means the same in every process and at any
// time.
class HbmShare {
 public:
  constexpr HbmShare() = default;
  explicit constexpr HbmShare(double share) : share_(share) {}

  constexpr double share() const { return share_; }

  constexpr HbmShare& operator+=(HbmShare other) {
    share_ += other.share_;
    return *this;
  }
  constexpr HbmShare& operator-=(HbmShare other) {
    share_ -= other.share_;
    return *this;
  }
  friend constexpr HbmShare operator+(HbmShare a, HbmShare b) { return a += b; }
  friend constexpr HbmShare operator-(HbmShare a, HbmShare b) { return a -= b; }
  friend constexpr double operator/(HbmShare a, HbmShare b) { return a.share_ / b.share_; }
  friend constexpr HbmShare operator*(double factor, HbmShare a) {
    return HbmShare(factor * a.share_);
  }
  friend constexpr auto operator<=>(HbmShare, HbmShare) = default;

 private:
  double share_ = 0;
};

// A value or a reward as networks give it and learn it. What it means depends on the program and on
// its ReturnBaseline at the time, which alone converts it: for relative values 0 is the mean return
// to go of recent games and 1 their deviation; for ranked values 1 is a game won and -1 one lost.
class NetworkValue {
 public:
  constexpr NetworkValue() = default;
  explicit constexpr NetworkValue(double value) : value_(value) {}

  constexpr double value() const { return value_; }

  friend constexpr auto operator<=>(NetworkValue, NetworkValue) = default;

 private:
  double value_ = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_RETURN_UNITS_H_
