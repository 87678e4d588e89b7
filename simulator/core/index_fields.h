// Indices in messages, whose fields have them as plain numbers.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_INDEX_FIELDS_H_
#define MALLOCMUZERO_SIMULATOR_CORE_INDEX_FIELDS_H_

#include <cstdint>

#include "base/index.h"
#include "google/protobuf/repeated_field.h"

namespace mallocmuzero {

// The message of one element in a field with one message for each index.
template <typename Message, typename Tag>
const Message& ElementOf(const google::protobuf::RepeatedPtrField<Message>& messages,
                         Index<Tag> index) {
  return messages.Get(index.number());
}

// Appends an index, which must not be negative, to a field of indices.
template <typename Tag>
void Append(google::protobuf::RepeatedField<uint32_t>& field, Index<Tag> index) {
  field.Add(index.number());
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_INDEX_FIELDS_H_
