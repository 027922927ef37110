#include "plot/colours.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <stdexcept>

#include "plot/smooth.h"

namespace lehi::plot {
namespace {

TEST(Colours, AreFixedAndDiffer) {
  EXPECT_EQ(colour_of("lehi"), "#1a9641");
  EXPECT_EQ(colour_of("adam"), "#d7191c");
  std::set<std::string> seen;
  for (const auto* name : {"lehi", "lehibrid", "lehi-gn", "adam-simplified", "adam", "adamw", "amsgrad", "nadam",
                           "radam", "adagrad", "rmsprop", "sgd", "sophia-g"}) {
    EXPECT_TRUE(seen.insert(colour_of(name)).second) << name;
  }
  EXPECT_EQ(colour_of("my-own"), colour_of("my-own"));
}

TEST(Colours, OfAFigureDiffer) {
  const auto colours = colours_of({"lehi[lr=0.1]", "lehi", "adam", "lehi[lr=0.2]", "unknown"});
  EXPECT_EQ(colours[0], colour_of("lehi"));
  EXPECT_EQ(colours[2], colour_of("adam"));
  EXPECT_EQ(std::set<std::string>(colours.begin(), colours.end()).size(), colours.size());
  EXPECT_EQ(colours_of(std::vector<std::string>(40, "x")).size(), 40U);  // more than the palette has
}

TEST(DisplayName, IsThePapersSpelling) {
  EXPECT_EQ(display_name("lehibrid"), "LEHIBRID");
  EXPECT_EQ(display_name("sophia-g"), "Sophia-G");
  EXPECT_EQ(display_name("adam[lr=0.1]"), "Adam[lr=0.1]");
  EXPECT_EQ(display_name("lehi-gn[mix=max]"), "lehi-gn[mix=max]");
  EXPECT_EQ(display_name("momentum-control"), "momentum-control");
}

TEST(Ema, MatchesHandComputation) {
  // 8; 0.25*4 + 0.75*8 = 7; 0.25*3 + 0.75*7 = 6: exact in binary.
  EXPECT_EQ(ema({8, 4, 3}, 0.25), (std::vector<double>{8, 7, 6}));
  EXPECT_EQ(ema({8, 4, 3}, 1.0), (std::vector<double>{8, 4, 3}));
  EXPECT_TRUE(ema({}, 0.5).empty());
}

TEST(Ema, ValuesThatAreNotFiniteDoNotAffectOthers) {
  const auto smoothed = ema({std::nan(""), 8, INFINITY, 4, 3}, 0.25);
  EXPECT_TRUE(std::isnan(smoothed[0]));
  EXPECT_EQ(smoothed[1], 8);
  EXPECT_EQ(smoothed[2], INFINITY);
  EXPECT_EQ(smoothed[3], 7);
  EXPECT_EQ(smoothed[4], 6);
}

TEST(Ema, RejectsWeightsOutsideZeroToOne) {
  for (const double weight : {0.0, -0.1, 1.1, std::nan("")}) EXPECT_THROW(ema({1}, weight), std::invalid_argument);
}

}  // namespace
}  // namespace lehi::plot
