#include "study/paper.h"

#include <gtest/gtest.h>

namespace lehi::study {
namespace {

TEST(PaperTables, HaveThePublishedCells) {
  const auto* cell = paper_cell("protein", "lehi", 0.1);
  ASSERT_NE(cell, nullptr);
  EXPECT_EQ(cell->mean, 0.2426);
  EXPECT_EQ(cell->two_std, 0.0089);
  EXPECT_EQ(paper_cell("mnist", "sophia-g", 0.1), nullptr);
  EXPECT_EQ(paper_cell("fashion-mnist", "lehi", 0.1), nullptr);
  EXPECT_EQ(paper_cell("protein", "lehi", 0.2), nullptr);
  for (const auto* task : {"protein", "mnist"}) {
    std::size_t cells = 0;
    for (const auto& [optimizer, row] : paper_tables().at(task).search) cells += row.size();
    EXPECT_EQ(cells, 28U) << task;
  }
  EXPECT_EQ(paper_tables().at("mnist").metric, "test_accuracy");
}

TEST(PaperTables, HaveThePublishedSummaries) {
  const auto* cell = paper_summary_cell("protein", "lehi", 0.1);
  ASSERT_NE(cell, nullptr);
  EXPECT_EQ(cell->mean, 0.2446);
  EXPECT_EQ(cell->two_std, 0.0061);
  EXPECT_EQ(paper_summary_cell("protein", "lehi", 1e-4), nullptr) << "one seed only";
}

TEST(PaperTables, TolerancesAreThoseOfTheTask) {
  EXPECT_NEAR(paper_tolerance("test_loss", {.lr = 0.1, .mean = 0.2426, .two_std = 0.0089}), 0.0178, 1e-12);
  EXPECT_NEAR(paper_tolerance("test_loss", {.lr = 1e-4, .mean = 0.35, .two_std = 0.0009}), 0.00875, 1e-12);
  EXPECT_NEAR(paper_tolerance("test_accuracy", {.lr = 1e-4, .mean = 91.0, .two_std = 0.1}), 0.5, 1e-12);
  EXPECT_NEAR(paper_tolerance("test_accuracy", {.lr = 1e-1, .mean = 91.0, .two_std = 0.9}), 1.8, 1e-12);
}

}  // namespace
}  // namespace lehi::study
