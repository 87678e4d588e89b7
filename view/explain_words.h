// Sentences about how two mappings differ. Every one states facts of the mappings, the latency
// table or the walk of the simulator.

#ifndef MALLOCMUZERO_VIEW_EXPLAIN_WORDS_H_
#define MALLOCMUZERO_VIEW_EXPLAIN_WORDS_H_

#include <cstdint>
#include <string>

#include "view/comparison.h"
#include "view/names.h"

namespace mallocmuzero::view {

// Where ours has the buffer instead, how it gets there, and which instruction suffers if one does.
// `gain`: of the buffer, cycles.
std::string BufferWords(const Comparison& comparison, const Names& names, uint32_t buffer,
                        double gain);

// How long the program waits under both, and for which copies longest.
std::string StallWords(const Comparison& comparison, const Names& names);

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_EXPLAIN_WORDS_H_
