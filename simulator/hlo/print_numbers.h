// Windows and dimension numbers of XLA's messages as they stand in HLO text.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_PRINT_NUMBERS_H_
#define MALLOCMUZERO_SIMULATOR_HLO_PRINT_NUMBERS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero::hlo {

// Repeated numbers of a message.
using Numbers = google::protobuf::RepeatedField<int64_t>;

// Each function appends ", name=value" to `out`, with its parts in the order in which XLA prints
// them. Any numbers are allowed. Invalid numbers give invalid values, but the parser can still read
// the text.

// ", name={0,1}"
void AppendNumbers(absl::string_view name, const Numbers& numbers, std::string& out);
// The same, or nothing if there are none.
void AppendAnyNumbers(absl::string_view name, const Numbers& numbers, std::string& out);

// ", window={size=3x3 pad=1_1x1_1}" (xla/window_util.cc), or nothing for no dimensions.
void AppendWindow(const xla::Window& window, std::string& out);
// ", dim_labels=b01f_01io->b01f" (ConvolutionDimensionNumbersToString).
void AppendDimLabels(const xla::ConvolutionDimensionNumbers& numbers, std::string& out);
// ", padding=0_1x2_3", with a third number each if there is padding between elements.
void AppendPadding(const xla::PaddingConfig& padding, std::string& out);
// ", slice={[0:8], [4:8]}", with strides if one is not 1.
void AppendSlice(const xla::HloInstructionProto& slice, std::string& out);
void AppendDot(const xla::DotDimensionNumbers& numbers, std::string& out);
void AppendGather(const xla::GatherDimensionNumbers& numbers, std::string& out);
void AppendScatter(const xla::ScatterDimensionNumbers& numbers, std::string& out);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_PRINT_NUMBERS_H_
