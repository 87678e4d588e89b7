// Finds round numbers for axes.

#ifndef MALLOCMUZERO_VIEW_TICKS_H_
#define MALLOCMUZERO_VIEW_TICKS_H_

#include <string>

namespace mallocmuzero::view {

// The smallest of 1, 2 or 5 times a power of ten that divides `range` into at most `parts` steps. 1
// if the range is not a positive number.
double NiceStep(double range, int parts);

// An axis with a tick at each multiple of `step` from low to high.
struct Scale {
  double low = 0;
  double high = 1;
  double step = 1;
};

// A scale from tick to tick around [low, high], which must be finite, with about `parts` steps. If
// low equals high, the scale extends a tenth of the number to each side; around zero it is from -1
// to 1.
Scale NiceScale(double low, double high, int parts);

// The text of a tick, with as many decimals as the step (a NiceStep): "0.5", "-3", "120,000",
// "2e+07".
std::string TickText(double value, double step);

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_TICKS_H_
