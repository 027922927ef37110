// What all networks have in common.
#include "model/network.h"

#include <gmock/gmock.h>

#include "model/gpt2.h"
#include "model/mlp.h"
#include "model/resnet.h"

namespace lehi::model {
namespace {

TEST(OptionsFor, ALastLayerStaysDiagonalWhateverItsName) {
  const auto added = [](const Network& network) {
    return options_for(network, preset(Preset::muon)).shapes.diagonal_names.back();
  };
  EXPECT_EQ(added(Mlp({4, 3, 2}, 0)), "layers.1.weight");
  EXPECT_EQ(added(*make_resnet({.width = 2}, 0)), "fc.weight");
  EXPECT_EQ(added(*make_gpt2({.vocabulary = 8, .context = 4, .width = 4, .layers = 1, .heads = 1}, 0)), "wte.weight");
}

}  // namespace
}  // namespace lehi::model
