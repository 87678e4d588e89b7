// Counts items that could not be read from the disk, and tells an operator of them.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_UNREADABLE_ITEMS_H_
#define MALLOCMUZERO_REPLAY_SERVICE_UNREADABLE_ITEMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "replay/wire/item.h"

namespace mallocmuzero {

// `why` is the message of the read's error, which names the file. Not thread-safe.
class UnreadableItems {
 public:
  // Counts an item whose bytes are damaged.
  void AddDamaged(const ItemId& id, absl::string_view why) {
    damaged_.Add(absl::StrCat(absl::BytesToHexString(ViewOf(id)), ": ", why));
  }

  // Counts a read that failed. The bytes may be whole.
  void AddFailedRead(absl::string_view why) { failed_reads_.Add(why); }

  uint64_t count() const { return damaged_.count + failed_reads_.count; }

  // Lines for the log about what was counted since the last call: one for each of both kinds.
  std::vector<std::string> TakeWarnings() {
    std::vector<std::string> lines;
    damaged_.Tell("trajectories leave, because their bytes on the disk are damaged", lines);
    failed_reads_.Tell("reads of trajectories have failed", lines);
    return lines;
  }

 private:
  struct Kind {
    uint64_t count = 0;
    uint64_t untold = 0;
    std::string first;  // of those untold

    void Add(absl::string_view which) {
      ++count;
      if (untold++ == 0) first = std::string(which);
    }
    void Tell(absl::string_view what, std::vector<std::string>& lines) {
      if (untold > 0) lines.push_back(absl::StrCat(untold, " ", what, "; the first: ", first));
      untold = 0;
    }
  };

  Kind damaged_;
  Kind failed_reads_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_UNREADABLE_ITEMS_H_
