// Round numbers for axes.

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

// From tick to tick around [low, high], finite, in about `parts` steps. Around a single number the
// scale is a tenth of it to each side, around zero it goes from -1 to 1.
Scale NiceScale(double low, double high, int parts);

// A tick with as many decimals as the step (a NiceStep) has: "0.5", "-3", "120,000", "2e+07".
std::string TickText(double value, double step);

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_TICKS_H_
