// Items for tests, and short forms for calls of a table.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_TESTING_ITEMS_H_
#define MALLOCMUZERO_REPLAY_SERVICE_TESTING_ITEMS_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/replay_table.h"
#include "replay/wire/item.h"

namespace mallocmuzero {

// An id of 16 bytes whose first 8 hold `index`.
std::string IdString(uint64_t index);

// The ids of the indices in [begin, end).
std::set<std::string> IdsOf(uint64_t begin, uint64_t end);

// The index in the id of a serialized ReplayItem.
uint64_t IndexOf(absl::string_view wire);

// A valid item with the id of `index`.
v1::ReplayItem MakeReplayItem(uint64_t index, uint32_t positions, double total_return = 0,
                              size_t payload_bytes = 10);
Item MakeItem(uint64_t index, uint32_t positions, double total_return = 0,
              size_t payload_bytes = 10);

// Inserts the items as one request. If `response` is given, it gets the answer for the client.
absl::Status Insert(ReplayTable& table, std::vector<Item> items, bool replace = false,
                    v1::InsertResponse* response = nullptr);

// The ids that the table stores, and the evicted ones that it remembers.
std::set<std::string> StoredIds(const ReplayTable& table);
std::set<std::string> EvictedIds(const ReplayTable& table);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_TESTING_ITEMS_H_
