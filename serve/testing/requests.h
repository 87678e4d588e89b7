// Programs and requests for tests of the server.

#ifndef MALLOCMUZERO_SERVE_TESTING_REQUESTS_H_
#define MALLOCMUZERO_SERVE_TESTING_REQUESTS_H_

#include <cstdint>
#include <string>

#include "base/message_file.h"
#include "env/testing/random_game_program.h"
#include "mallocmuzero/v1/serve.pb.h"
#include "simulator/core/program.h"

namespace mallocmuzero::testing {

// The content of the program's file, plain.
inline std::string BytesOf(const Program& program) {
  v1::Program proto = program.proto();
  FillHeader(proto);
  return SerializeDeterministically(proto);
}

// A search for a chain of layers.
inline v1::FindMappingRequest LayersRequest(uint32_t layers, double budget_seconds) {
  v1::FindMappingRequest request;
  request.set_program(BytesOf(LayeredProgram(layers)));
  request.set_budget_seconds(budget_seconds);
  return request;
}

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_SERVE_TESTING_REQUESTS_H_
