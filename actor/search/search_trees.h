// The interface of a search's trees, which does not depend on the number of actions and the rule of
// descent.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_SEARCH_TREES_H_
#define MALLOCMUZERO_ACTOR_SEARCH_SEARCH_TREES_H_

#include <cstdint>

#include "absl/types/span.h"
#include "actor/search/search.h"
#include "model/latent_model.h"

namespace mallocmuzero {

// The part of Search that depends on the number of actions and on the rule of selection. Select and
// Backup take many games at once, so that the cost of a virtual call does not count.
class SearchTrees {
 public:
  SearchTrees() = default;
  SearchTrees(const SearchTrees&) = delete;
  SearchTrees& operator=(const SearchTrees&) = delete;
  virtual ~SearchTrees() = default;

  // `gumbel` is scaled; spans have one entry an action.
  virtual void Start(uint32_t game, float value, absl::Span<const float> logits,
                     absl::Span<const float> gumbel, const RootOptions& options) = 0;
  virtual void Select(absl::Span<const uint32_t> games, absl::Span<LatentStep> steps) = 0;
  virtual void Backup(absl::Span<const uint32_t> games, const Evaluations& evaluations) = 0;
  virtual uint32_t SimulationsDone(uint32_t game) const = 0;
  virtual SearchResult Result(uint32_t game) = 0;
  virtual SearchNode NodeAt(uint32_t game, uint32_t node) const = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SEARCH_SEARCH_TREES_H_
