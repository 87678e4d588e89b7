// Bounds the work of an analysis.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_MAX_LOOKS_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_MAX_LOOKS_H_

namespace mallocmuzero {

// Most instructions that an analysis visits for one instruction or one of its operands. Without a
// bound, nested fusions that call others several times would take practically forever.
inline constexpr int kMaxLooks = 1 << 20;

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_MAX_LOOKS_H_
