#include "simulator/hlo/print_numbers.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mallocmuzero::hlo {
namespace {

using xla::WindowDimension;
using PaddingDimension = xla::PaddingConfig::PaddingConfigDimension;

// Appends " heading=1x2x3", unless `is_usual` holds for every dimension.
template <typename IsUsual, typename Print>
void AppendWindowField(const xla::Window& window, absl::string_view heading, IsUsual is_usual,
                       Print print, std::string& out) {
  const auto& dimensions = window.dimensions();
  if (std::all_of(dimensions.begin(), dimensions.end(), is_usual)) return;
  absl::StrAppend(&out, " ", heading, "=", absl::StrJoin(dimensions, "x", print));
}

// One side of dim_labels: two dimensions are printed as letters, the others as numbers.
struct LabelledSide {
  int64_t first;
  char first_label;
  int64_t second;
  char second_label;
  const Numbers& spatial;
};

std::string Labels(const LabelledSide& side) {
  std::vector<std::string> labels(side.spatial.size() + 2, "?");
  const auto set = [&labels](int64_t dimension, std::string label) {
    if (dimension >= 0 && dimension < labels.size()) labels[dimension] = std::move(label);
  };
  set(side.first, std::string(1, side.first_label));
  set(side.second, std::string(1, side.second_label));
  for (int i = 0; i < side.spatial.size(); ++i) set(side.spatial[i], absl::StrCat(i));
  return absl::StrJoin(labels, "");
}

}  // namespace

void AppendNumbers(absl::string_view name, const Numbers& numbers, std::string& out) {
  absl::StrAppend(&out, ", ", name, "={", absl::StrJoin(numbers, ","), "}");
}

void AppendAnyNumbers(absl::string_view name, const Numbers& numbers, std::string& out) {
  if (!numbers.empty()) AppendNumbers(name, numbers, out);
}

void AppendWindow(const xla::Window& window, std::string& out) {
  if (window.dimensions().empty()) return;
  absl::StrAppend(&out, ", window={size=",
                  absl::StrJoin(window.dimensions(), "x",
                                [](std::string* text, const WindowDimension& dimension) {
                                  absl::StrAppend(text, dimension.size());
                                }));
  AppendWindowField(
      window, "stride", [](const WindowDimension& d) { return d.stride() == 1; },
      [](std::string* text, const WindowDimension& d) { absl::StrAppend(text, d.stride()); }, out);
  AppendWindowField(
      window, "pad",
      [](const WindowDimension& d) { return d.padding_low() == 0 && d.padding_high() == 0; },
      [](std::string* text, const WindowDimension& d) {
        absl::StrAppend(text, d.padding_low(), "_", d.padding_high());
      },
      out);
  AppendWindowField(
      window, "lhs_dilate", [](const WindowDimension& d) { return d.base_dilation() == 1; },
      [](std::string* text, const WindowDimension& d) { absl::StrAppend(text, d.base_dilation()); },
      out);
  AppendWindowField(
      window, "rhs_dilate", [](const WindowDimension& d) { return d.window_dilation() == 1; },
      [](std::string* text, const WindowDimension& d) {
        absl::StrAppend(text, d.window_dilation());
      },
      out);
  AppendWindowField(
      window, "rhs_reversal", [](const WindowDimension& d) { return !d.window_reversal(); },
      [](std::string* text, const WindowDimension& d) {
        absl::StrAppend(text, d.window_reversal() ? 1 : 0);
      },
      out);
  out.push_back('}');
}

void AppendDimLabels(const xla::ConvolutionDimensionNumbers& numbers, std::string& out) {
  absl::StrAppend(
      &out, ", dim_labels=",
      Labels({numbers.input_batch_dimension(), 'b', numbers.input_feature_dimension(), 'f',
              numbers.input_spatial_dimensions()}),
      "_",
      Labels({numbers.kernel_input_feature_dimension(), 'i',
              numbers.kernel_output_feature_dimension(), 'o', numbers.kernel_spatial_dimensions()}),
      "->",
      Labels({numbers.output_batch_dimension(), 'b', numbers.output_feature_dimension(), 'f',
              numbers.output_spatial_dimensions()}));
}

void AppendPadding(const xla::PaddingConfig& padding, std::string& out) {
  const auto& dimensions = padding.dimensions();
  const bool interior =
      std::any_of(dimensions.begin(), dimensions.end(),
                  [](const PaddingDimension& d) { return d.interior_padding() != 0; });
  absl::StrAppend(
      &out, ", padding=",
      absl::StrJoin(dimensions, "x", [interior](std::string* text, const PaddingDimension& d) {
        absl::StrAppend(text, d.edge_padding_low(), "_", d.edge_padding_high());
        if (interior) absl::StrAppend(text, "_", d.interior_padding());
      }));
}

void AppendSlice(const xla::HloInstructionProto& slice, std::string& out) {
  const auto& dimensions = slice.slice_dimensions();
  const bool strides = std::any_of(dimensions.begin(), dimensions.end(),
                                   [](const xla::SliceDimensions& d) { return d.stride() != 1; });
  absl::StrAppend(&out, ", slice={",
                  absl::StrJoin(dimensions, ", ",
                                [strides](std::string* text, const xla::SliceDimensions& d) {
                                  absl::StrAppend(text, "[", d.start(), ":", d.limit());
                                  if (strides) absl::StrAppend(text, ":", d.stride());
                                  text->push_back(']');
                                }),
                  "}");
}

void AppendDot(const xla::DotDimensionNumbers& numbers, std::string& out) {
  AppendAnyNumbers("lhs_batch_dims", numbers.lhs_batch_dimensions(), out);
  AppendNumbers("lhs_contracting_dims", numbers.lhs_contracting_dimensions(), out);
  AppendAnyNumbers("rhs_batch_dims", numbers.rhs_batch_dimensions(), out);
  AppendNumbers("rhs_contracting_dims", numbers.rhs_contracting_dimensions(), out);
}

void AppendGather(const xla::GatherDimensionNumbers& numbers, std::string& out) {
  AppendNumbers("offset_dims", numbers.offset_dims(), out);
  AppendNumbers("collapsed_slice_dims", numbers.collapsed_slice_dims(), out);
  AppendNumbers("start_index_map", numbers.start_index_map(), out);
  AppendAnyNumbers("operand_batching_dims", numbers.operand_batching_dims(), out);
  AppendAnyNumbers("start_indices_batching_dims", numbers.start_indices_batching_dims(), out);
  absl::StrAppend(&out, ", index_vector_dim=", numbers.index_vector_dim());
}

void AppendScatter(const xla::ScatterDimensionNumbers& numbers, std::string& out) {
  AppendNumbers("update_window_dims", numbers.update_window_dims(), out);
  AppendNumbers("inserted_window_dims", numbers.inserted_window_dims(), out);
  AppendNumbers("scatter_dims_to_operand_dims", numbers.scatter_dims_to_operand_dims(), out);
  AppendAnyNumbers("input_batching_dims", numbers.input_batching_dims(), out);
  AppendAnyNumbers("scatter_indices_batching_dims", numbers.scatter_indices_batching_dims(), out);
  absl::StrAppend(&out, ", index_vector_dim=", numbers.index_vector_dim());
}

}  // namespace mallocmuzero::hlo
