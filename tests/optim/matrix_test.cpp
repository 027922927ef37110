// What surrounds the update of matrices: which parameters are matrices, convolutions, clipping, numbers that are not
// finite, parameters that join late, states saved at any step, several ranks, threads, the random control.
#include <ATen/Parallel.h>

#include <algorithm>
#include <limits>

#include "lehi/error.h"
#include "optim/fixtures.h"
#include "support/thread_ranks.h"

namespace lehi::testing {
namespace {

using torch::Tensor;
using NamedTensors = torch::OrderedDict<std::string, Tensor>;

// Parameters with a script of g and s; one row, so that both arrive as they are. `rows`: as many predictions, with
// MeanSquaredError and Scale::mean both are divided by their number.
struct Scripted {
  Tensor predictions = torch::zeros({1}, torch::kFloat64);

  void step(Optimizer& optimizer, const Weights& parameters, const Weights& g, const Weights& s) const {
    Differentiable network;
    network.predictions = predictions;
    network.pull_back = [&](const Weights& cotangents, const Differentiable::Deliver& deliver) {
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (!g[i].defined()) continue;
        deliver(parameters[i], cotangents.size() == 1 ? Weights{g[i]} : Weights{g[i], s[i]});
      }
    };
    optimizer.step(network, MeanSquaredError(), torch::zeros_like(predictions));
  }
};

Tensor normal(at::IntArrayRef sizes, torch::Dtype dtype = torch::kFloat64) { return torch::randn(sizes, dtype); }

Weights normal_like(const Weights& weights) {
  Weights drawn;
  for (const Tensor& weight : weights) drawn.push_back(torch::randn_like(weight).detach());
  return drawn;
}

// The presets with matrices, each with both sides turned, or the smaller one.
std::vector<Options> matrix_presets() {
  std::vector<Options> all;
  for (Options options : {preset(Preset::soap), preset(Preset::lehi_kron), kron_with_probe(), preset(Preset::muon)}) {
    options.group.lr = 0.01;
    options.seed = 7;
    if (options.name == "soap") options.recipe.kronecker.basis_every = 3;
    options.recipe.kronecker.sides = Sides::both;
    all.push_back(options);
    if (options.name == "muon") continue;
    options.name += ", one side";
    options.recipe.kronecker.sides = Sides::smaller;
    all.push_back(options);
  }
  return all;
}

MatrixState shape_of(const Optimizer& optimizer, const Tensor& parameter) {
  const ParameterState* state = optimizer.find_state(parameter);
  return state == nullptr ? MatrixState::diagonal : state->matrix;
}

// After one step with random gradients.
std::vector<MatrixState> shapes_of(const NamedTensors& named, const Options& options) {
  Optimizer optimizer(named, options);
  const Weights weights = named.values();
  Scripted().step(optimizer, weights, normal_like(weights), normal_like(weights));
  std::vector<MatrixState> shapes;
  for (const Tensor& weight : weights) shapes.push_back(shape_of(optimizer, weight));
  return shapes;
}

NamedTensors named_tensors(const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& sizes) {
  torch::manual_seed(1);
  NamedTensors named;
  for (const auto& [name, size] : sizes) named.insert(name, normal(size).requires_grad_(true));
  return named;
}

TEST(Matrix, NamesAndSidesChooseTheShape) {
  using M = MatrixState;
  const NamedTensors named = named_tensors({{"tok_embeddings.weight", {6, 4}},
                                            {"layer.weight", {6, 4}},
                                            {"layer.bias", {6}},
                                            {"long.weight", {20, 4}},
                                            {"conv.weight", {5, 2, 2, 2}},
                                            {"column", {6, 1}},
                                            {"lm_head.weight", {6, 4}}});
  Options options = preset(Preset::soap);
  EXPECT_EQ(shapes_of(named, options),
            (std::vector{M::diagonal, M::both, M::diagonal, M::both, M::both, M::diagonal, M::diagonal}));
  options.shapes.largest_side = 7;
  EXPECT_EQ(shapes_of(named, options),
            (std::vector{M::diagonal, M::both, M::diagonal, M::right, M::left, M::diagonal, M::diagonal}));
  options.shapes = {.diagonal_names = {"layer", "conv.weight", "ong", "head.weight"}};
  EXPECT_EQ(shapes_of(named, options),
            (std::vector{M::both, M::diagonal, M::diagonal, M::both, M::diagonal, M::diagonal, M::both}));
  options = preset(Preset::muon);
  options.shapes.largest_side = 7;
  EXPECT_EQ(shapes_of(named, options),
            (std::vector{M::diagonal, M::orthogonal, M::diagonal, M::diagonal, M::diagonal, M::diagonal, M::diagonal}));
}

TEST(Matrix, ThePredictionsOfAStepChooseTheSides) {
  const NamedTensors named = named_tensors({{"w", {48, 16}}});
  const Weights weights = named.values();
  const auto shape_with = [&](std::int64_t predictions, bool square_blocks) {
    Optimizer optimizer(named, LehiKronOptions(0.0).square_blocks(square_blocks));
    const Scripted script{torch::zeros({predictions}, torch::kFloat64)};
    script.step(optimizer, weights, normal_like(weights), normal_like(weights));
    return shape_of(optimizer, weights[0]);
  };
  EXPECT_EQ(shape_with(128, false), MatrixState::both);  // 48 + 16 = 128 / 2
  EXPECT_EQ(shape_with(127, false), MatrixState::right);
  EXPECT_EQ(shape_with(32, false), MatrixState::right);
  EXPECT_EQ(shape_with(31, false), MatrixState::diagonal);
  EXPECT_EQ(shape_with(64, true), MatrixState::both);  // 16 + 16 = 64 / 2
  EXPECT_EQ(shape_with(63, true), MatrixState::right);
}

// From .grad() the number of predictions is not known.
TEST(Matrix, GradientsFromTorchTurnBothSides) {
  const NamedTensors named = named_tensors({{"w", {6, 4}}});
  const Tensor w = named["w"];
  Options options = preset(Preset::soap);
  options.recipe.kronecker.sides = Sides::automatic;
  Optimizer optimizer(named, options);
  w.mutable_grad() = normal({6, 4});
  optimizer.step();
  EXPECT_EQ(shape_of(optimizer, w), MatrixState::both);
}

TEST(Matrix, AGroupCanBeDiagonal) {
  torch::manual_seed(2);
  const Weights weights = fresh({normal({5, 4}), normal({5, 4})});
  for (const Options& options : matrix_presets()) {
    SCOPED_TRACE(options.name);
    const Weights mixed = fresh(weights);
    GroupOptions diagonal = options.group;
    diagonal.diagonal = true;
    std::vector<torch::optim::OptimizerParamGroup> groups;
    groups.emplace_back(Weights{mixed[0]}, std::make_unique<GroupOptions>(diagonal));
    groups.emplace_back(Weights{mixed[1]}, std::make_unique<GroupOptions>(options.group));
    Optimizer optimizer(groups, options);
    const Weights plain = fresh({weights[0]});
    Options adam = options;  // what remains of the recipe without its shape
    adam.recipe.shape = Shape::diagonal;
    adam.recipe.mix = Mix::none;
    adam.recipe.probe = Probe::gradient;
    adam.recipe.schedule = {};
    adam.recipe.kronecker = {};
    Optimizer reference(plain, adam);
    for (int step = 1; step <= 6; ++step) {
      const Weights g = normal_like(mixed);
      const Weights zero = {torch::zeros({5, 4}, torch::kFloat64), normal({5, 4})};  // max(g^2, 0) = g^2
      Scripted().step(optimizer, mixed, g, zero);
      Scripted().step(reference, plain, {g[0]}, {});
    }
    EXPECT_EQ(shape_of(optimizer, mixed[0]), MatrixState::diagonal);
    EXPECT_NE(shape_of(optimizer, mixed[1]), MatrixState::diagonal);
    EXPECT_TRUE(same_bits(mixed[0], plain[0]));
    EXPECT_FALSE(optimizer.find_state(mixed[0])->left.defined());
  }
}

// A convolution's weight is the matrix of its rows, in any order in memory.
TEST(Matrix, AConvolutionIsAMatrixOfItsOutputs) {
  for (const Options& options : matrix_presets()) {
    SCOPED_TRACE(options.name);
    torch::manual_seed(3);
    const Tensor start = normal({4, 3, 2, 2});
    const Tensor flat_weight = start.view({4, 12}).clone();
    const Tensor image = start.clone();
    const Tensor last = start.clone().to(torch::MemoryFormat::ChannelsLast);
    Optimizer of_flat(Weights{flat_weight}, options);
    Optimizer of_image(Weights{image}, options);
    Optimizer of_last(Weights{last}, options);
    for (int step = 1; step <= 9; ++step) {
      const Tensor g = normal({4, 3, 2, 2});
      const Tensor s = normal({4, 3, 2, 2});
      Scripted().step(of_flat, {flat_weight}, {g.view({4, 12})}, {s.view({4, 12})});
      Scripted().step(of_image, {image}, {g}, {s});
      Scripted().step(of_last, {last}, {g.to(torch::MemoryFormat::ChannelsLast)}, {s});
    }
    EXPECT_FALSE(torch::equal(image, start));
    EXPECT_TRUE(same_bits(image.view({4, 12}), flat_weight));
    EXPECT_TRUE(torch::equal(last, image));
    EXPECT_TRUE(last.is_contiguous(torch::MemoryFormat::ChannelsLast));
  }
}

TEST(Matrix, HalfPrecisionWeightsKeepFloat32State) {
  for (const Options& options : matrix_presets()) {
    SCOPED_TRACE(options.name);
    torch::manual_seed(4);
    const Tensor low = normal({5, 4}, torch::kFloat32).to(torch::kBFloat16);
    const Tensor start = low.clone();
    const Tensor wide = low.to(torch::kFloat32);
    Optimizer optimizer(Weights{low}, options);
    Optimizer reference(Weights{wide}, options);
    const Tensor g = normal({5, 4}, torch::kFloat32).to(torch::kBFloat16);
    for (int step = 1; step <= 2; ++step) {  // soap takes no first step
      Scripted().step(optimizer, {low}, {g}, {g});
      Scripted().step(reference, {wide}, {g.to(torch::kFloat32)}, {g.to(torch::kFloat32)});
    }
    EXPECT_EQ(low.scalar_type(), torch::kBFloat16);
    EXPECT_EQ(optimizer.find_state(low)->m.scalar_type(), torch::kFloat32);
    EXPECT_FALSE(torch::equal(low, start));
    // Two roundings to bfloat16, of 2^-9 each, of weights of up to 3.
    EXPECT_LE((low.to(torch::kFloat32) - wide).abs().max().item<float>(), 0.015);
  }
}

// Clipping multiplies g, also in the factors made from it; the probe is not clipped.
TEST(Matrix, ClippingIsThatOfTheGradient) {
  for (Options options : matrix_presets()) {
    SCOPED_TRACE(options.name);
    torch::manual_seed(5);
    const Tensor start = normal({4, 4});
    const Weights clipped = {start.clone()};
    const Weights expected = {start.clone()};
    Options clipping = options;
    clipping.clip_norm = 0.5;
    Optimizer optimizer(clipped, clipping);
    Optimizer reference(expected, options);
    for (int step = 1; step <= 12; ++step) {
      const Tensor g = normal({4, 4});
      const Tensor s = normal({4, 4});
      Scripted().step(optimizer, clipped, {g}, {s});
      Scripted().step(reference, expected, {g * (0.5 / g.norm())}, {s});
      EXPECT_LT(optimizer.report().clip_factor, 1.0);
    }
    EXPECT_LE(relative_difference(clipped[0], expected[0]), 1e-10);
    EXPECT_GT(relative_difference(clipped[0], start), 1e-3);
  }
}

TEST(Matrix, CoupledDecayEntersTheGradient) {
  for (Options options : matrix_presets()) {
    SCOPED_TRACE(options.name);
    torch::manual_seed(6);
    const Weights decayed = {normal({4, 4})};
    const Weights expected = fresh(decayed);
    options.group.weight_decay = 0.0;
    Options coupled = options;
    coupled.recipe.decay = Decay::coupled;
    coupled.group.weight_decay = 0.3;
    Optimizer optimizer(decayed, coupled);
    Optimizer reference(expected, options);
    for (int step = 1; step <= 12; ++step) {
      const Tensor g = normal({4, 4});
      const Tensor s = normal({4, 4});
      Scripted().step(optimizer, decayed, {g}, {s});
      Scripted().step(reference, expected, {g + 0.3 * expected[0].detach()}, {s});
    }
    EXPECT_LE(relative_difference(decayed[0], expected[0]), 1e-10);
  }
}

// A matrix whose first gradient comes between two new bases gets its own at once.
TEST(Matrix, OneThatJoinsLateDoesNotWait) {
  Options options = preset(Preset::soap);
  options.group.lr = 0.01;
  torch::manual_seed(7);
  const Weights weights = fresh({normal({4, 4}), normal({4, 4})});
  Optimizer optimizer(weights, options);
  for (int step = 1; step <= 5; ++step) {
    Weights g = normal_like(weights);
    if (step < 4) g[1] = Tensor();
    Scripted().step(optimizer, weights, g, {});
  }
  EXPECT_EQ(optimizer.find_state(weights[0])->step, 4);
  EXPECT_TRUE(optimizer.find_state(weights[1])->left_basis.defined());
  EXPECT_EQ(optimizer.find_state(weights[1])->step, 1);
}

TEST(Matrix, TheRandomControlHasTheProbesSizeAndFollowsTheSeed) {
  torch::manual_seed(8);
  const Tensor start = normal({5, 4});
  const Tensor g = normal({5, 4});
  const Tensor s = normal({5, 4});
  const auto factor_of = [&](FactorSource source, std::uint64_t seed) {
    Options options =
        LehiKronOptions(0.0).probe(Probe::gauss_newton).factors(source).beta3(0.0).sides(Sides::both).seed(seed);
    const Weights weights = {start.clone()};
    Optimizer optimizer(weights, options);
    Scripted().step(optimizer, weights, {g}, {s});
    return optimizer.find_state(weights[0])->left.view({5, 5});
  };
  const Tensor of_probe = factor_of(FactorSource::probe, 1);
  const Tensor random = factor_of(FactorSource::random, 1);
  EXPECT_LE(relative_difference(of_probe, s.matmul(s.t())), 1e-14);
  EXPECT_NEAR(random.trace().item<double>(), s.square().sum().item<double>(), 1e-12);
  EXPECT_GT(relative_difference(random, of_probe), 0.1);
  EXPECT_TRUE(same_bits(random, factor_of(FactorSource::random, 1)));
  EXPECT_GT(relative_difference(factor_of(FactorSource::random, 2), random), 0.1);
}

// The state at this step, moved to a new optimizer in both ways.
void expect_states_go_on(const Options& options, int saved_after) {
  SCOPED_TRACE(options.name + " saved after step " + std::to_string(saved_after));
  torch::manual_seed(9);
  const auto named = [](const Weights& weights) {
    NamedTensors names;
    names.insert("a", weights[0]);
    names.insert("b", weights[1]);
    names.insert("c", weights[2]);
    return names;
  };
  const Weights weights = fresh({normal({5, 4}), normal({3}), normal({4, 2, 2, 2})});
  std::vector<std::pair<Weights, Weights>> script;
  for (int step = 0; step < saved_after + 5; ++step) script.emplace_back(normal_like(weights), normal_like(weights));
  Optimizer original(named(weights), options);
  for (int step = 0; step < saved_after; ++step) {
    const auto& [g, s] = script[static_cast<std::size_t>(step)];
    Scripted().step(original, weights, g, s);
  }
  const Weights by_name = fresh(weights);
  Optimizer from_names(named(by_name), options);
  Optimizer::NamedState copies;
  for (const auto& [name, tensor] : original.named_state()) copies.emplace_back(name, tensor.clone());
  from_names.load_named_state(copies);
  const Weights by_archive = fresh(weights);
  Optimizer from_archive(named(by_archive), options);
  std::stringstream stream;
  torch::save(original, stream);
  torch::load(from_archive, stream);
  for (std::size_t step = static_cast<std::size_t>(saved_after); step < script.size(); ++step) {
    const auto& [g, s] = script[step];
    Scripted().step(original, weights, g, s);
    Scripted().step(from_names, by_name, g, s);
    Scripted().step(from_archive, by_archive, g, s);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      ASSERT_TRUE(same_bits(by_name[i], weights[i])) << "weight " << i << ", step " << step + 1;
      ASSERT_TRUE(same_bits(by_archive[i], weights[i])) << "weight " << i << ", step " << step + 1;
    }
  }
}

TEST(Matrix, AStateSavedAtAnyStepGoesOnWithTheSameBits) {
  for (const Options& options : matrix_presets()) {
    for (const int step : {0, 1, 2, 3, 5, 7}) expect_states_go_on(options, step);
  }
}

TEST(Matrix, ItsSavedStateHasTheEntriesThatTheHeaderPromises) {
  const auto names_of = [](const Options& options) {
    const NamedTensors named = named_tensors({{"w", {5, 4}}});
    Optimizer optimizer(named, options);
    const Weights weights = named.values();
    Scripted().step(optimizer, weights, normal_like(weights), normal_like(weights));
    std::string names;
    for (const auto& [name, tensor] : optimizer.named_state()) {
      if (name.rfind("optimizer.", 0) != 0) names += name + " ";
    }
    return names;
  };
  EXPECT_EQ(names_of(SoapOptions(0.01)),
            "w.step w.covered w.matrix w.m w.v w.left w.left_basis w.right w.right_basis ");
  EXPECT_EQ(names_of(SoapOptions(0.01).sides(Sides::smaller)),
            "w.step w.covered w.matrix w.m w.v w.right w.right_basis ");
  EXPECT_EQ(names_of(MuonOptions(0.01)), "w.step w.covered w.matrix w.m ");
}

TEST(Matrix, ASavedStateWithAnImpossibleShapeIsRefused) {
  const NamedTensors named = named_tensors({{"w", {5, 4}}, {"b", {5}}});
  const Weights weights = named.values();
  Optimizer optimizer(named, SoapOptions(0.01));
  Scripted().step(optimizer, weights, normal_like(weights), {});
  const auto message_with = [&](const std::string& entry, std::int64_t value) {
    Optimizer::NamedState state;
    for (const auto& [name, tensor] : optimizer.named_state()) {
      state.emplace_back(name, name == entry ? torch::scalar_tensor(value, torch::kInt64) : tensor.clone());
    }
    return message_of([&] { optimizer.load_named_state(state); });
  };
  EXPECT_EQ(message_with("w.matrix", 5), "the optimizer's state has 5 as 'w.matrix'; expected 0 to 4");
  EXPECT_EQ(message_with("b.matrix", 1),
            "the optimizer's state has 1 as 'b.matrix'; expected 0, since the parameter is no matrix");
  EXPECT_EQ(message_with("w.matrix", 3), "");
}

TEST(Matrix, NumbersThatAreNotFiniteFollowThePolicy) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (Options options : matrix_presets()) {
    SCOPED_TRACE(options.name);
    torch::manual_seed(10);
    const Weights weights = {normal({4, 4})};
    const Tensor good = normal({4, 4});
    Tensor bad = normal({4, 4});
    bad[1][2] = infinity;
    {
      options.non_finite = NonFinite::throw_error;
      Optimizer optimizer(weights, options);
      Scripted().step(optimizer, weights, {good}, {good});
      const Tensor before = weights[0].clone();
      EXPECT_THROW(Scripted().step(optimizer, weights, {bad}, {good}), NonFiniteError);
      EXPECT_TRUE(same_bits(weights[0], before));
      EXPECT_EQ(optimizer.steps(), 1);
    }
    {
      options.non_finite = NonFinite::skip;
      Optimizer optimizer(weights, options);
      Scripted().step(optimizer, weights, {good}, {good});
      const Tensor before = weights[0].clone();
      Scripted().step(optimizer, weights, {bad}, {good});
      EXPECT_TRUE(optimizer.report().skipped);
      EXPECT_TRUE(same_bits(weights[0], before));
    }
    {
      options.non_finite = NonFinite::record;
      Optimizer optimizer(weights, options);
      Scripted().step(optimizer, weights, {good}, {good});
      Scripted().step(optimizer, weights, {bad}, {good});
      EXPECT_TRUE(optimizer.report().non_finite);
      EXPECT_FALSE(torch::isfinite(weights[0]).all().item<bool>()) << "the broken weights show it";
    }
  }
}

// Where the factors alone are made from g, its square must fit, too.
TEST(Matrix, AGradientWhoseProductsOverflowIsRefused) {
  Options options = preset(Preset::soap);
  options.recipe.rule = Rule::lion;  // keeps no v
  const Weights weights = {torch::ones({3, 3})};
  Optimizer optimizer(weights, options);
  const Tensor huge = torch::full({3, 3}, 1e25F);
  const std::string message = message_of([&] { Scripted().step(optimizer, weights, {huge}, {}); });
  EXPECT_NE(message.find("too large for its square to be kept"), std::string::npos) << message;
  EXPECT_TRUE(torch::equal(weights[0], torch::ones({3, 3})));
}

// Twelve rows over two ranks, whole and divided state, against one process. Square matrices: of others the first factor
// has a null space, in which rounding chooses the vectors.
TEST(Matrix, RanksTakeTheStepsOfOneProcess) {
  for (const Options& options : matrix_presets()) {
    SCOPED_TRACE(options.name);
    torch::manual_seed(11);
    const Weights start = {normal({5, 5}), normal({5}), normal({5, 5}), normal({5, 5})};
    const Tensor x = normal({12, 5});
    const Tensor y = normal({12, 5});
    const auto predict = [&](const Weights& w, const Tensor& rows) {
      const Tensor hidden = torch::tanh(rows.matmul(w[0]) + w[1]);
      return torch::tanh(hidden.matmul(w[2])).matmul(w[3]);
    };
    const Weights alone = fresh(start);
    Optimizer optimizer(alone, options);
    for (int step = 0; step < 20; ++step) optimizer.step(predict(alone, x), MeanSquaredError(), y);
    std::vector<Weights> ended(2);
    for (const bool shard : {false, true}) {
      test::run_ranks(2, [&](const std::shared_ptr<test::ThreadRanks>& ranks) {
        const Weights w = fresh(start);
        Optimizer part(w, options);
        part.distribute(ranks, {.bucket_bytes = 64, .shard_state = shard});
        for (int step = 0; step < 20; ++step) {
          const std::int64_t first = 6 * ranks->rank();
          part.step(predict(w, x.narrow(0, first, 6)), MeanSquaredError(), y.narrow(0, first, 6));
        }
        EXPECT_LE(relative_difference(flat(w), flat(alone)), 1e-9);
        if (ranks->rank() == 1) ended[shard ? 1 : 0] = w;
      });
    }
    EXPECT_TRUE(same_bits(flat(ended[0]), flat(ended[1])));
    EXPECT_GT(relative_difference(flat(alone), flat(start)), 1e-3);
  }
}

// The weights after some steps with this many threads.
Weights after_steps_with(int threads, const Weights& start, const Options& options) {
  const int before = at::get_num_threads();
  at::set_num_threads(threads);
  torch::manual_seed(12);
  const Weights weights = fresh(start);
  Optimizer optimizer(weights, options);
  for (int step = 0; step < 4; ++step) Scripted().step(optimizer, weights, normal_like(weights), normal_like(weights));
  at::set_num_threads(before);
  return weights;
}

void expect_same_bits_on_any_threads(const Weights& start) {
  for (const Options& options : matrix_presets()) {
    SCOPED_TRACE(options.name);
    const Weights one = after_steps_with(1, start, options);
    EXPECT_GT(relative_difference(flat(one), flat(start)), 1e-4);
    for (const int threads : {2, 3}) {
      EXPECT_TRUE(same_bits(flat(after_steps_with(threads, start, options)), flat(one))) << threads << " threads";
    }
  }
}

TEST(Matrix, ASmallOneHasTheSameBitsOnAnyNumberOfThreads) {
  torch::manual_seed(13);
  expect_same_bits_on_any_threads({normal({96, 70}, torch::kFloat32)});
}

TEST(Matrix, LargeOnesHaveThemWhereTheyAreAtLeastAsManyAsTheThreads) {
  torch::manual_seed(14);
  Weights start;
  for (int i = 0; i < 3; ++i) start.push_back(normal({208, 208}, torch::kFloat32));
  expect_same_bits_on_any_threads(start);
}

// Fewer large ones share out their products, which may round in another order.
TEST(Matrix, ALargeOneIsTheSameToRoundingOnAnyNumberOfThreads) {
  torch::manual_seed(15);
  const Weights start = {normal({208, 208})};
  for (const Options& options : matrix_presets()) {
    SCOPED_TRACE(options.name);
    const Weights one = after_steps_with(1, start, options);
    EXPECT_LE(relative_difference(flat(after_steps_with(3, start, options)), flat(one)), 1e-9);
  }
}

}  // namespace
}  // namespace lehi::testing
