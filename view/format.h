// Formats numbers with separators and units for people.

#ifndef MALLOCMUZERO_VIEW_FORMAT_H_
#define MALLOCMUZERO_VIEW_FORMAT_H_

#include <string>

namespace mallocmuzero::view {

// Text such as "1,234,567".
std::string FormatCount(double count);

// `count` and `noun`, in the plural unless the count is 1: "1 read", "12 copies". If `plural` is
// empty, the plural is `noun` with an s.
std::string FormatCounted(double count, const std::string& noun, const std::string& plural = "");

// Cycles as "1,234.568 Mcycles"; fewer than 100,000 cycles as "12,345 cycles".
std::string FormatCycles(double cycles);

// Cycles in millions with three decimals, without a unit. For a column whose header names the unit.
std::string FormatMegacycles(double cycles);

// Bytes as "12 B", "1.5 KiB", "25.0 MiB" or "1.2 GiB".
std::string FormatBytes(double bytes);

// Bytes in MiB with one decimal, without a unit. For a column whose header names the unit.
std::string FormatMebibytes(double bytes);

// Compares `value` with a positive `reference`: "12.30 % below", "0.40 % above" or "equal to".
std::string FormatChange(double value, double reference);

// A time as "12.3 seconds", "12.3 minutes" from a minute on, or "12.3 hours" from two hours on.
std::string FormatTime(double seconds);

// A share (1 is all) as "12.3 %".
std::string FormatPercent(double share, int decimals = 1);

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_FORMAT_H_
