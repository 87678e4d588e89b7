#include "view/rect_layer.h"

#include <algorithm>
#include <string>

#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "view/testing/xml.h"

namespace mallocmuzero::view {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr size_t kPlenty = 100'000;

testing::Element Drawn(const RectLayer& layer, size_t tooltip_bytes) {
  Svg svg(100, 100, "", "", "");
  svg.Open("g", {{"class", "layer"}});
  layer.Draw(
      tooltip_bytes, [](size_t id) { return "number " + std::to_string(id); }, svg);
  svg.Close();
  return *testing::Parsed(svg.Finish()).Find("g").front();
}

TEST(RectLayer, DrawsRectanglesWithTheirTooltips) {
  RectLayer layer;
  layer.Add({1, 2, 10, 20}, "k0", 7, {Box{1, 2, 5, 20}});
  const testing::Element group = Drawn(layer, kPlenty);
  ASSERT_THAT(group.Find("rect"), SizeIs(1));
  EXPECT_EQ(group.Find("rect").front()->Number("height"), 20);
  EXPECT_EQ(group.Find("title").front()->text, "number 7");
  ASSERT_THAT(group.Find("path", "fly"), SizeIs(1));
  EXPECT_EQ(group.Find("path", "fly").front()->attributes.at("d"), "M1 2h5v20h-5z");
}

TEST(RectLayer, WidensWhatIsTooNarrowToSee) {
  RectLayer layer;
  layer.Add({10, 0, 0.1, 20}, "k0", 0);
  const testing::Element group = Drawn(layer, kPlenty);
  EXPECT_NEAR(group.Find("rect").front()->Number("x"), 9.8, 1e-9);
  EXPECT_EQ(group.Find("rect").front()->Number("width"), 0.5);
}

TEST(RectLayer, MergesFlatOnesOfOneStyleThatTouch) {
  RectLayer layer;
  layer.Add({0, 10.1, 5, 0.01}, "k0", 0);
  layer.Add({4, 10.2, 6, 0.01}, "k0", 1);
  layer.Add({20, 10.1, 5, 0.01}, "k0", 2);  // not touching
  layer.Add({5, 10.1, 5, 0.01}, "k1", 3);   // another style
  layer.Add({5, 50.1, 5, 0.01}, "k0", 4);   // another row
  const testing::Element group = Drawn(layer, kPlenty);
  EXPECT_THAT(group.Find("rect"), IsEmpty());
  ASSERT_THAT(group.Find("path", "k0"), SizeIs(1));
  EXPECT_EQ(group.Find("path", "k0").front()->attributes.at("d"),
            "M0 9.5h10v0.5h-10zM20 9.5h5v0.5h-5zM5 49.5h5v0.5h-5z");
  EXPECT_THAT(group.Find("path", "k1"), SizeIs(1));
}

TEST(RectLayer, MergesNeighboursWithoutTooltips) {
  RectLayer layer;
  layer.Add({3, 10, 2, 5}, "k0", 0);
  layer.Add({1, 10, 2, 5}, "k0", 1);
  layer.Add({5, 10, 2, 6}, "k0", 2);  // higher
  const testing::Element group = Drawn(layer, 0);
  EXPECT_EQ(group.Find("path", "k0").front()->attributes.at("d"), "M1 10h4v5h-4zM5 10h2v6h-2z");
}

TEST(RectLayer, GivesTooltipsToTheLargestAndDrawsTheOthersTogether) {
  RectLayer layer;
  for (size_t k = 0; k < 100; ++k) {
    layer.Add({0, 2 * static_cast<double>(k), 1 + static_cast<double>(k), 1}, "k0", k);
  }
  // One element takes some 90 bytes, so that 200 bytes are used up after the third.
  const testing::Element group = Drawn(layer, 200);
  ASSERT_THAT(group.Find("rect"), SizeIs(3));
  EXPECT_EQ(group.Find("rect")[0]->Number("width"), 100);
  EXPECT_EQ(group.Find("rect")[1]->Number("width"), 99);
  ASSERT_THAT(group.Find("path", "k0"), SizeIs(1));
  const std::string& path = group.Find("path", "k0").front()->attributes.at("d");
  EXPECT_EQ(std::count(path.begin(), path.end(), 'z'), 97);
}

}  // namespace
}  // namespace mallocmuzero::view
