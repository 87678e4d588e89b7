#include "simulator/layers/testing/training_step.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero::testing {
namespace {

class StepBuilder {
 public:
  explicit StepBuilder(uint32_t layers) : layers_(layers) {}

  v1::Program Build(bool adds_gradients) && {
    mask_ = builder_.AddBuffer(48, {.live_in = true});
    for (uint32_t k = 0; k < layers_; ++k) {
      masters_.push_back(builder_.AddBuffer(400, {.live_in = true, .live_out = true}));
      weights_.push_back(builder_.AddBuffer(200));
      Add("convert", k, 30, {Read(masters_[k], 20), Write(weights_[k], 5)});
    }
    AddForward();
    AddBackward();
    if (adds_gradients) AddSumOfGradients();
    for (uint32_t k = 0; k < layers_; ++k) {
      Add("update", k, 60, {Update(masters_[k], 20), Read(gradients_[k], 10)});
    }
    return Shared();
  }

 private:
  void AddForward() {
    const BufferIndex tokens = builder_.AddBuffer(16, {.live_in = true});
    stream_ = builder_.AddBuffer(100);
    Add("embed", 0, 25, {Read(tokens), Write(stream_, 9)});
    for (uint32_t k = 0; k < layers_; ++k) {
      kept_.push_back(builder_.AddBuffer(160));
      const BufferIndex next = builder_.AddBuffer(100);
      Add(k == 0 ? "first product" : "product", k, 80,
          {Read(stream_, 8), Read(weights_[k], 30), Read(mask_, 2), Write(kept_[k], 11)});
      Add("add", k, 20, {Read(kept_[k], 12), Read(stream_, 7), Write(next, 6)});
      stream_ = next;
    }
  }

  void AddBackward() {
    gradients_.resize(layers_);
    BufferIndex error = builder_.AddBuffer(100);
    Add("loss", 0, 35, {Read(stream_, 9), Write(error, 5)});
    for (uint32_t k = layers_; k-- > 0;) {
      gradients_[k] = builder_.AddBuffer(200);
      const BufferIndex next = builder_.AddBuffer(100);
      Add("gradient", k, 90, {Read(error, 9), Read(kept_[k], 25), Write(gradients_[k], 13)});
      Add(k == 0 ? "last error" : "error", k, 70,
          {Read(error, 9), Read(weights_[k], 28), Read(mask_, 2), Write(next, 4)});
      error = next;
    }
  }

  void AddSumOfGradients() {
    std::vector<AccessSpec> accesses;
    for (const BufferIndex gradient : gradients_) accesses.push_back(Read(gradient, 3));
    accesses.push_back(Write(builder_.AddBuffer(16, {.live_out = true}), 1));
    Add("sum", 0, 40, accesses);
  }

  // Instructions of one kind are of one latency class.
  void Add(const std::string& kind, uint32_t layer, double cycles,
           const std::vector<AccessSpec>& accesses) {
    const InstructionIndex i = builder_.AddInstruction(cycles, accesses);
    builder_.SetName(i, absl::StrCat(kind, ".", layer));
    classes_.push_back(class_of_.try_emplace(kind, i.number()).first->second);
  }

  // The program in which the instructions share classes.
  v1::Program Shared() const {
    v1::Program program = builder_.BuildProto();
    for (int i = 0; i < program.instructions_size(); ++i) {
      program.mutable_latency()->mutable_instructions(i)->set_latency_class(classes_[i]);
    }
    SealProgram(program);
    return program;
  }

  const uint32_t layers_;
  ProgramBuilder builder_;
  BufferIndex mask_;
  BufferIndex stream_;  // what the layers hand on
  std::vector<BufferIndex> masters_;
  std::vector<BufferIndex> weights_;
  std::vector<BufferIndex> kept_;  // activations of the forward pass
  std::vector<BufferIndex> gradients_;
  std::map<std::string, int> class_of_;
  std::vector<int> classes_;  // of the instructions
};

}  // namespace

v1::Program TrainingStep(uint32_t layers) { return StepBuilder(layers).Build(false); }

v1::Program TrainingStepWithSumOfGradients(uint32_t layers) {
  return StepBuilder(layers).Build(true);
}

}  // namespace mallocmuzero::testing
