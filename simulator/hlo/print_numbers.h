// Prints windows and dimension numbers of XLA's messages as they appear in HLO text.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_PRINT_NUMBERS_H_
#define MALLOCMUZERO_SIMULATOR_HLO_PRINT_NUMBERS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero::hlo {

// A repeated field of integers.
using Numbers = google::protobuf::RepeatedField<int64_t>;

// Each function appends ", name=value" to `out`, with the parts of the value in the order in which
// XLA prints them. Any numbers are allowed. Invalid numbers give invalid values, but the parser can
// still read the text.

// ", name={0,1}"
void AppendNumbers(absl::string_view name, const Numbers& numbers, std::string& out);
// The same, but appends nothing if there are no numbers.
void AppendAnyNumbers(absl::string_view name, const Numbers& numbers, std::string& out);

// Appends ", window={size=3x3 pad=1_1x1_1}" (xla/window_util.cc), or nothing if the window has no
// dimensions.
void AppendWindow(const xla::Window& window, std::string& out);
// ", dim_labels=b01f_01io->b01f" (ConvolutionDimensionNumbersToString).
void AppendDimLabels(const xla::ConvolutionDimensionNumbers& numbers, std::string& out);
// ", padding=0_1x2_3". A dimension has a third number if there is padding between its elements.
void AppendPadding(const xla::PaddingConfig& padding, std::string& out);
// ", slice={[0:8], [4:8]}". Strides are printed if one of them is not 1.
void AppendSlice(const xla::HloInstructionProto& slice, std::string& out);
void AppendDot(const xla::DotDimensionNumbers& numbers, std::string& out);
void AppendGather(const xla::GatherDimensionNumbers& numbers, std::string& out);
void AppendScatter(const xla::ScatterDimensionNumbers& numbers, std::string& out);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_PRINT_NUMBERS_H_
