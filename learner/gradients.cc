#include "learner/gradients.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "model/torch_errors.h"

namespace mallocmuzero {
namespace {

// The first updates make what LibTorch and its libraries keep, such as handles and plans.
constexpr int kUpdatesBeforeRecording = 2;
constexpr int kNeverRecord = -1;

}  // namespace

Gradients::Gradients(Network& network, const v1::LearnerOptions& options, torch::Device device)
    : loss_(network, options, device),
      device_(device),
      parameters_(network.module()->parameters()),
      updates_before_recording_(RecordedKernels::AreOf(device) ? kUpdatesBeforeRecording
                                                               : kNeverRecord) {}

torch::Tensor Gradients::Set(const UnrollBatch& batch, size_t first, size_t rows) {
  const BatchTensors given = BatchTensors::Over(batch, first, rows, loss_.is_consistent());
  if (updates_before_recording_ == 0) {
    const bool is_recorded = recording_ != nullptr && recording_->inputs.HasShapesOf(given);
    if (is_recorded || Record(given)) return Replay(given);
  }
  if (updates_before_recording_ > 0) --updates_before_recording_;
  return SetOneByOne(given);
}

// Removes all gradients. The next ones get memory of their own.
void Gradients::Forget() {
  for (torch::Tensor& parameter : parameters_) parameter.mutable_grad() = torch::Tensor();
}

torch::Tensor Gradients::SetOneByOne(const BatchTensors& rows) {
  Forget();
  return loss_.AddGradients(rows.To(device_)).to(torch::kCPU);
}

// Returns whether the kernels for batches of these shapes are recorded.
bool Gradients::Record(const BatchTensors& rows) {
  recording_ = nullptr;
  Forget();
  try {
    auto recording = std::make_unique<Recording>();
    recording->inputs = rows.To(device_);
    recording->kernels.Record([&] { recording->report = loss_.AddGradients(recording->inputs); });
    for (const torch::Tensor& parameter : parameters_) {
      recording->gradients.push_back(parameter.grad());
    }
    recording_ = std::move(recording);
    return true;
  } catch (const std::exception& error) {
    updates_before_recording_ = kNeverRecord;
    Log(LogLevel::kWarning, "learner",
        absl::StrCat("updates are slower than they could be, because their kernels cannot be "
                     "launched together: ",
                     FirstLine(error)));
    return false;
  }
}

torch::Tensor Gradients::Replay(const BatchTensors& rows) {
  recording_->inputs.CopyFrom(rows);
  for (size_t k = 0; k < parameters_.size(); ++k) {
    parameters_[k].mutable_grad() = recording_->gradients[k];
  }
  recording_->kernels.Launch();
  return recording_->report.to(torch::kCPU);
}

}  // namespace mallocmuzero
