#include "model/graph.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;

TEST(Graph, KnowsTheShapeOfEveryResult) {
  Graph graph("net.");
  const Graph::Value x = graph.Input("x", 10);
  const Graph::Value rows = graph.Reshape(graph.Columns(x, 4, 6), {2, 3});
  EXPECT_THAT(graph.ShapeOf(rows), ElementsAre(2, 3));
  EXPECT_THAT(graph.ShapeOf(graph.Select(rows, 1, 0)), ElementsAre(3));
  EXPECT_THAT(graph.ShapeOf(graph.Select(rows, 2, 0)), ElementsAre(2));
  EXPECT_THAT(graph.ShapeOf(graph.InsertAxis(rows, 2)), ElementsAre(2, 1, 3));
  EXPECT_THAT(graph.ShapeOf(graph.Concat({rows, rows, rows}, 1)), ElementsAre(6, 3));
  EXPECT_THAT(graph.ShapeOf(graph.Concat({rows, rows}, 2)), ElementsAre(2, 6));
  EXPECT_THAT(graph.ShapeOf(graph.Linear(rows, "layer", 5)), ElementsAre(2, 5));
  EXPECT_THAT(graph.ShapeOf(graph.Flatten(rows)), ElementsAre(6));
  EXPECT_THAT(graph.ShapeOf(graph.OneHot(graph.ActionInput("action"), 4)), ElementsAre(4));
}

TEST(Graph, CountsTheMultiplicationsOfLayersAndOfProducts) {
  Graph graph("net.");
  const Graph::Value x = graph.Reshape(graph.Input("x", 12), {3, 4});
  const Graph::Value y = graph.Linear(x, "layer", 5);  // 3 rows of 4 x 5
  ASSERT_EQ(graph.layers().size(), 1);
  EXPECT_EQ(graph.layers()[0].name, "net.layer");
  EXPECT_EQ(graph.Multiplications(), 60);
  const Graph::Value bias = graph.Reshape(graph.Input("bias", 3), {1, 3});
  const Graph::Value scores = graph.Scores(bias, y, y);  // 3 x 3 sums of 5
  EXPECT_EQ(graph.Multiplications(), 60 + 45);
  graph.Product(scores, y);  // 3 x 5 sums of 3
  EXPECT_EQ(graph.Multiplications(), 60 + 45 + 45);
}

}  // namespace
}  // namespace mallocmuzero
