// Sentences about how two mappings differ. Each sentence states facts of the mappings, of the
// latency table or of the simulator's walk.

#ifndef MALLOCMUZERO_VIEW_EXPLAIN_WORDS_H_
#define MALLOCMUZERO_VIEW_EXPLAIN_WORDS_H_

#include <cstdint>
#include <string>

#include "view/comparison.h"
#include "view/names.h"

namespace mallocmuzero::view {

// Describes where ours has the buffer, how the buffer gets there, and which instruction becomes
// slower if one does. `gain` is the gain of the buffer in cycles.
std::string BufferWords(const Comparison& comparison, const Names& names, BufferIndex buffer,
                        double gain);

// Describes how long the program waits under both mappings, and the longest waits for single
// copies.
std::string StallWords(const Comparison& comparison, const Names& names);

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_EXPLAIN_WORDS_H_
