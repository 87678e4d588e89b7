#include "view/svg.h"

#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "view/testing/xml.h"

namespace mallocmuzero::view {
namespace {

TEST(EscapeXml, ReplacesWhatXmlGivesAMeaning) {
  EXPECT_EQ(EscapeXml("a<b>&\"c'"), "a&lt;b&gt;&amp;&quot;c&apos;");
  EXPECT_EQ(EscapeXml("&amp;"), "&amp;amp;");
}

TEST(EscapeXml, ReplacesCharactersThatXmlForbids) {
  EXPECT_EQ(EscapeXml(std::string("a\0b\x1b"
                                  "c",
                                  5)),
            "a?b?c");
  EXPECT_EQ(EscapeXml("\xef\xbf\xbe"), "???");  // U+FFFE
  EXPECT_EQ(EscapeXml("line\n\tend"), "line\n\tend");
}

TEST(EscapeXml, KeepsUtf8AndReplacesWhatIsNone) {
  EXPECT_EQ(EscapeXml("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
            "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(EscapeXml("\xc3"), "?");            // cut short
  EXPECT_EQ(EscapeXml("\xc0\xaf"), "??");       // overlong '/'
  EXPECT_EQ(EscapeXml("\xed\xa0\x80"), "???");  // half of a surrogate pair
  EXPECT_EQ(EscapeXml("\xf5\x80\x80\x80"), "????");
  EXPECT_EQ(EscapeXml("\x80z"), "?z");
}

TEST(Coordinate, HasAtMostTwoDecimalsAndNoTrailingZeros) {
  EXPECT_EQ(Coordinate(3), "3");
  EXPECT_EQ(Coordinate(12.5), "12.5");
  EXPECT_EQ(Coordinate(1.0 / 3), "0.33");
  EXPECT_EQ(Coordinate(-0.001), "0");
  EXPECT_EQ(Coordinate(100), "100");
}

TEST(Coordinate, IsANumberWhateverTheValue) {
  EXPECT_EQ(Coordinate(std::numeric_limits<double>::quiet_NaN()), "0");
  EXPECT_EQ(Coordinate(std::numeric_limits<double>::infinity()), "0");
}

TEST(Svg, NestsElementsAndEscapesTexts) {
  Svg svg(100, 50, "a & b", ".k{fill:#fff}", "");
  svg.Open("g", {{"class", "<\"group\">"}});
  svg.Rect({1, 2, 3.5, 4}, "k", "1 < 2");
  svg.Text(5, 6, "</text>", "k", Anchor::kEnd);
  svg.Close();
  const testing::Element root = testing::Parsed(svg.Finish());
  ASSERT_EQ(root.Find("g").size(), 1);
  EXPECT_EQ(root.attributes.at("viewBox"), "0 0 100 50");
  EXPECT_EQ(root.children.front().text, "a & b");
  const testing::Element& group = *root.Find("g").front();
  EXPECT_EQ(group.attributes.at("class"), "<\"group\">");
  ASSERT_EQ(group.children.size(), 2);
  EXPECT_EQ(group.children[0].Number("width"), 3.5);
  EXPECT_EQ(group.children[0].children.front().text, "1 < 2");
  EXPECT_EQ(group.children[1].text, "</text>");
  EXPECT_EQ(group.children[1].attributes.at("text-anchor"), "end");
}

TEST(Svg, JoinsRectanglesIntoOnePath) {
  Svg svg(9, 9, "", "", "");
  svg.Rects({Box{1, 2, 3, 4}, Box{5, 6, 7, 8}}, "k");
  svg.Rects({}, "none");
  const testing::Element root = testing::Parsed(svg.Finish());
  ASSERT_EQ(root.Find("path").size(), 1);
  EXPECT_EQ(root.Find("path").front()->attributes.at("d"), "M1 2h3v4h-3zM5 6h7v8h-7z");
}

// The tests rely on this checker, so it must be able to fail.
TEST(ParseXml, RefusesWhatIsNotWellFormed) {
  for (const char* document : {"", "text", "<a>", "<a></b>", "<a><b></a></b>", "<a x=1/>",
                               "<a x=\"1\" x=\"2\"/>", "<a>&nbsp;</a>", "<a>&</a>", "<a x=\"<\"/>",
                               "<a/><b/>", "<a>\x01</a>", "<a x=\"1\"y=\"2\"/>"}) {
    EXPECT_FALSE(testing::ParseXml(document).ok()) << document;
  }
  EXPECT_TRUE(testing::ParseXml("<a x=\"1\"><b/>&lt;</a>\n").ok());
}

}  // namespace
}  // namespace mallocmuzero::view
