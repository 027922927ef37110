// 200 steps of the optimizers that take weights as matrices, and of Lion, against transcriptions of the published
// algorithms. Where the library keeps m in the bases, they keep it as it is and turn it at each step, as the authors of
// SOAP do in their code; QR and the eigendecomposition are LibTorch's in both, since their signs are free.
#include <ATen/Functions.h>

#include <map>
#include <set>

#include "optim/fixtures.h"

namespace lehi::testing {
namespace {

using torch::Tensor;

// Two hidden matrices, the first of them square, a vector, and a last layer that ShapeRules leave diagonal by its name.
struct MatrixNetwork {
  torch::OrderedDict<std::string, Tensor> named;
  std::vector<Tensor> inputs;
  std::vector<Tensor> labels;
  CrossEntropy loss;

  explicit MatrixNetwork(std::int64_t width = 6, std::int64_t rows = 24, std::int64_t inner = 6) {
    torch::manual_seed(5);
    const auto random = [](at::IntArrayRef sizes, double scale) {
      return scale * torch::randn(sizes, torch::kFloat64);
    };
    const auto add = [&](const std::string& name, const Tensor& value) {
      named.insert(name, value.requires_grad_(true));
    };
    add("first.weight", random({inner, inner}, 0.6));
    add("first.bias", random({inner}, 0.3));
    add("second.weight", random({width, inner}, 0.6));
    add("head.weight", random({4, width}, 0.6));
    for (int i = 0; i < 3; ++i) {
      inputs.push_back(random({rows, inner}, 1.0));
      labels.push_back(torch::randint(0, 4, {rows}, torch::kInt64));
    }
  }

  Weights weights() const { return named.values(); }
  std::size_t batch(std::int64_t step) const { return static_cast<std::size_t>(step) % inputs.size(); }
  double rows() const { return static_cast<double>(inputs[0].size(0)); }

  Tensor predict(const Weights& w, std::int64_t step) const {
    const Tensor first = torch::tanh(inputs[batch(step)].matmul(w[0].t()) + w[1]);
    return torch::tanh(first.matmul(w[2].t())).matmul(w[3].t());
  }
  void take(Optimizer& optimizer, std::int64_t step) const {
    optimizer.step(predict(weights(), step), loss, labels[batch(step)]);
  }
};

// What a transcription sees of a step: g by torch's own loss, and s from the library's v.
struct MatrixSeen {
  const MatrixNetwork& network;
  Weights w;
  std::int64_t step;
  Tensor predictions;

  MatrixSeen(const MatrixNetwork& of, const Weights& at, std::int64_t k)
      : network(of), w(at), step(k), predictions(of.predict(at, k)) {}
  Weights gradient() const {
    const Tensor value = torch::cross_entropy_loss(predictions, network.labels[network.batch(step)]);
    return torch::autograd::grad({value}, w, {}, /*retain_graph=*/true);
  }
  Weights probe(std::uint64_t seed) const {
    const ProbeRequest request{Probe::gauss_newton, Scale::mean, {seed, static_cast<std::uint64_t>(step), 0, 0}};
    const Tensor v = network.loss.evaluate(predictions, network.labels[network.batch(step)], request).probe;
    return torch::autograd::grad({predictions}, w, {v / network.rows()}, /*retain_graph=*/true);
  }
};

// Follows the library beside `advance(w, step)` for 200 steps. `after_first` sees the library after its first step.
void expect_matrix_path(
    const Options& options, const std::function<void(Weights&, std::int64_t)>& advance, const MatrixNetwork& network,
    const std::function<void(const Optimizer&)>& after_first = [](const Optimizer&) {}) {
  Weights w = fresh(network.weights());
  Optimizer optimizer(network.named, options);
  const Tensor start = flat(w).clone();
  for (std::int64_t step = 1; step <= 200; ++step) {
    network.take(optimizer, step);
    advance(w, step);
    if (step == 1) after_first(optimizer);
    // Rounding in directions in which G is small, and of bases with close eigenvalues.
    for (std::size_t i = 0; i < w.size(); ++i) {
      ASSERT_LE(relative_difference(network.weights()[i], w[i]), 1e-9) << "weight " << i << " after step " << step;
    }
  }
  EXPECT_GT(relative_difference(flat(w), start), 0.1) << "the run went nowhere";
}

// Adam with decoupled decay: Kingma and Ba 2015, Loshchilov and Hutter 2019.
struct AdamMoments {
  Tensor m;
  Tensor v;
  int k = 0;

  Tensor direction(const Tensor& g, const Tensor& fed, double b1, double b2, double eps) {
    if (!m.defined()) m = torch::zeros_like(g);
    if (!v.defined()) v = torch::zeros_like(g);
    ++k;
    m = b1 * m + (1 - b1) * g;
    v = b2 * v + (1 - b2) * fed;
    return (m / (1 - std::pow(b1, k))) / ((v / (1 - std::pow(b2, k))).sqrt() + eps);
  }
};

// w <- w - lr (direction + wd w)
void move(Tensor& w, const Tensor& direction, double lr, double wd) {
  const torch::NoGradGuard no_grad;
  w.sub_(lr * (direction + wd * w.clone()));
}

TEST(MatrixReference, LionTakesTheStepsOfChenEtAl) {
  constexpr double lr = 3e-3;
  constexpr double wd = 0.1;
  const MatrixNetwork network;
  Weights m;
  for (const Tensor& weight : network.weights()) m.push_back(torch::zeros_like(weight));
  const auto advance = [&](Weights& w, std::int64_t step) {
    const Weights g = MatrixSeen(network, w, step).gradient();
    for (std::size_t i = 0; i < w.size(); ++i) {
      const Tensor update = torch::sign(0.9 * m[i] + 0.1 * g[i]);
      m[i] = 0.99 * m[i] + 0.01 * g[i];
      move(w[i], update, lr, wd);
    }
  };
  expect_matrix_path(LionOptions(lr).weight_decay(wd), advance, network);
}

// zeropower_via_newtonschulz5 of Jordan et al., in float64.
Tensor newton_schulz(const Tensor& g) {
  Tensor x = g / g.norm();
  const bool tall = g.size(0) > g.size(1);
  if (tall) x = x.t();
  for (int i = 0; i < 5; ++i) {
    const Tensor a = x.matmul(x.t());
    x = 3.4445 * x + (-4.7750 * a + 2.0315 * a.matmul(a)).matmul(x);
  }
  return tall ? x.t() : x;
}

// M <- mu M + G;  O = NewtonSchulz5(G + mu M);  W <- W - lr (0.2 sqrt(max(m, n)) O + wd W)   (Liu et al. 2025)
void expect_muon(const MatrixNetwork& network) {
  constexpr double lr = 0.01;
  constexpr double wd = 0.1;
  constexpr double mu = 0.95;
  Weights buffers(4);
  std::vector<AdamMoments> moments(4);
  const auto advance = [&](Weights& w, std::int64_t step) {
    const Weights g = MatrixSeen(network, w, step).gradient();
    for (const std::size_t i : {1, 3}) move(w[i], moments[i].direction(g[i], g[i].square(), 0.9, 0.95, 1e-8), lr, wd);
    for (const std::size_t i : {0, 2}) {
      buffers[i] = buffers[i].defined() ? mu * buffers[i] + g[i] : g[i];
      const auto longer = static_cast<double>(std::max(g[i].size(0), g[i].size(1)));
      move(w[i], 0.2 * std::sqrt(longer) * newton_schulz(g[i] + mu * buffers[i]), lr, wd);
    }
  };
  expect_matrix_path(MuonOptions(lr), advance, network);
}

TEST(MatrixReference, MuonTakesTheStepsOfJordanEtAl) {
  for (const std::int64_t width : {6, 5, 9}) expect_muon(MatrixNetwork(width));
}

// One block of a matrix's rows; of its columns where the matrix is transposed.
struct Block {
  Tensor factor;
  Tensor basis;

  void add(const Tensor& rows, double decay) {
    const Tensor product = rows.matmul(rows.t());
    if (!factor.defined()) factor = torch::zeros_like(product);
    factor = decay * factor + (1 - decay) * product;
  }
  Tensor eigenvalues() const { return at::linalg_eigvalsh(factor).flip({0}); }
  // Algorithm 4 of Vyas et al.: a step of power iteration and QR; the first time the eigenvectors. Returns the order of
  // the old vectors, undefined the first time.
  Tensor renew() {
    if (!basis.defined()) {
      basis = std::get<1>(at::linalg_eigh(factor)).flip({1});
      return {};
    }
    const Tensor estimates = torch::diagonal(basis.t().matmul(factor).matmul(basis));
    const Tensor order = std::get<1>(estimates.sort(/*dim=*/0, /*descending=*/true));
    basis = std::get<0>(at::linalg_qr(factor.matmul(basis.index_select(1, order))));
    return order;
  }
};

// One side of a matrix: its rows, or its columns where it is transposed.
struct Side {
  std::vector<Block> blocks = std::vector<Block>(1);

  bool ready() const { return blocks.front().basis.defined(); }
  Tensor turn(const Tensor& matrix) const {
    const auto pieces = matrix.chunk(count());
    std::vector<Tensor> turned;
    for (std::size_t i = 0; i < blocks.size(); ++i) turned.push_back(blocks[i].basis.t().matmul(pieces[i]));
    return torch::cat(turned);
  }
  Tensor turn_back(const Tensor& matrix) const {
    const auto pieces = matrix.chunk(count());
    std::vector<Tensor> turned;
    for (std::size_t i = 0; i < blocks.size(); ++i) turned.push_back(blocks[i].basis.matmul(pieces[i]));
    return torch::cat(turned);
  }
  void add(const Tensor& matrix, double decay) {
    const auto pieces = matrix.chunk(count());
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i].add(pieces[i], decay);
  }
  // v, whose rows belong to the vectors, in their new order.
  Tensor renew(const Tensor& v) {
    const auto pieces = v.defined() ? v.chunk(count()) : std::vector<Tensor>(blocks.size());
    std::vector<Tensor> ordered;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const Tensor order = blocks[i].renew();
      if (!v.defined()) continue;
      ordered.push_back(order.defined() ? pieces[i].index_select(0, order) : pieces[i]);
    }
    return v.defined() ? torch::cat(ordered) : v;
  }

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(blocks.size()); }
};

enum class Turned : std::uint8_t { left, right, both };

// A matrix with its bases, its moment m in the ordinary coordinates and v in those of the bases.
struct TurnedMatrix {
  Turned turned = Turned::both;
  Side left;
  Side right;
  Tensor m;
  Tensor v;
  int k = 0;

  bool has_left() const { return turned != Turned::right; }
  bool has_right() const { return turned != Turned::left; }
  bool ready() const { return left.ready() || right.ready(); }
  // Takes the library's bases, which must have the eigenvectors of its own factors by falling eigenvalue.
  void adopt(const ParameterState& state) {
    adopt(left.blocks.front(), state.left_basis[0]);
    adopt(right.blocks.front(), state.right_basis[0]);
  }
  static void adopt(Block& block, const Tensor& basis) {
    const Tensor turned = basis.t().matmul(block.factor).matmul(basis);
    const Tensor values = torch::diagonal(turned);
    const double largest = values[0].item<double>();
    EXPECT_LE((basis.t().matmul(basis) - torch::eye(basis.size(0), basis.options())).abs().max().item<double>(), 1e-13);
    EXPECT_LE((turned - torch::diag(values)).abs().max().item<double>(), 1e-13 * largest);
    EXPECT_GE((values.slice(0, 0, -1) - values.slice(0, 1)).min().item<double>(), -1e-13 * largest);
    EXPECT_LE(relative_difference(values, block.eigenvalues()), 1e-12);
    block.basis = basis.clone();
  }
  Tensor turn(Tensor x) const {
    if (has_left()) x = left.turn(x);
    return has_right() ? right.turn(x.t()).t() : x;
  }
  Tensor turn_back(Tensor x) const {
    if (has_left()) x = left.turn_back(x);
    return has_right() ? right.turn_back(x.t()).t() : x;
  }
  void add(const Tensor& s, double decay) {
    if (has_left()) left.add(s, decay);
    if (has_right()) right.add(s.t(), decay);
  }
  void renew() {
    if (has_left()) v = left.renew(v);
    if (has_right()) v = v.defined() ? right.renew(v.t()).t() : right.renew(v);
  }
  Tensor direction(const Tensor& g, const Tensor& fed, double b1, double b2, double eps) {
    ++k;
    m = m.defined() ? b1 * m + (1 - b1) * g : (1 - b1) * g;
    v = v.defined() ? b2 * v + (1 - b2) * fed : (1 - b2) * fed;
    return turn_back((turn(m) / (1 - std::pow(b1, k))) / ((v / (1 - std::pow(b2, k))).sqrt() + eps));
  }
};

// Algorithm 3 of Vyas et al. 2025, with bias correction and decoupled decay as in their code, which takes no step with
// the first gradient: it makes the bases. A later one enters the factors after the step; bases every 10 steps. Vectors
// and the diagonal matrix have no such first step here.
//
// Of a matrix that is not square, the factor of the longer side has a null space as long as it contains one gradient.
// Its vectors there are arbitrary, and later gradients have a part there. So where both sides of such a matrix are
// turned, the transcription takes the library's first bases, once it has seen that they are eigenvectors; the next
// ones, after 11 gradients, are its own.
void expect_soap(const MatrixNetwork& network, Sides sides, Turned of_second) {
  constexpr double lr = 0.01;
  constexpr double wd = 0.05;
  constexpr double b = 0.95;
  std::vector<AdamMoments> moments(4);
  std::map<std::size_t, TurnedMatrix> matrices;
  matrices[0].turned = sides == Sides::both ? Turned::both : Turned::left;
  matrices[2].turned = of_second;
  const auto advance = [&](Weights& w, std::int64_t step) {
    const Weights g = MatrixSeen(network, w, step).gradient();
    for (const std::size_t i : {1, 3}) move(w[i], moments[i].direction(g[i], g[i].square(), b, b, 1e-8), lr, wd);
    for (auto& [i, matrix] : matrices) {
      if (step > 1) move(w[i], matrix.direction(g[i], matrix.turn(g[i]).square(), b, b, 1e-8), lr, wd);
      matrix.add(g[i], b);
      if (step % 10 == 1) matrix.renew();
    }
  };
  const auto adopt_bases = [&](const Optimizer& optimizer) {
    for (auto& [i, matrix] : matrices) {
      if (matrix.turned == Turned::both) matrix.adopt(*optimizer.find_state(network.weights()[i]));
    }
  };
  expect_matrix_path(SoapOptions(lr).weight_decay(wd).sides(sides), advance, network, adopt_bases);
}

TEST(MatrixReference, SoapTakesTheStepsOfVyasEtAl) {
  for (const std::int64_t width : {6, 5, 9}) expect_soap(MatrixNetwork(width), Sides::both, Turned::both);
}

TEST(MatrixReference, SoapWithOneSideTakesTheStepsOfVyasEtAl) {
  expect_soap(MatrixNetwork(5), Sides::smaller, Turned::left);
  expect_soap(MatrixNetwork(9), Sides::smaller, Turned::right);
}

// The equations of lehi/recipe.h: g enters the factors after the step, and makes new bases at steps 1, 2, 3, 6, 9, ...
// Matrices take half of a step. With a probe at steps 1, 2, 4, 8, 10, 20, 30, ... factors from s, and new bases, come
// before the step; v takes the larger of g'^2 and s'^2 there, and g'^2 at all others.
void expect_kron(bool probe, const MatrixNetwork& network, Sides sides, Turned of_second, std::size_t blocks) {
  constexpr double lr = 0.01;
  constexpr double wd = 0.05;
  constexpr double b1 = 0.9;
  constexpr double b2 = 0.99;
  constexpr double b3 = 0.9;
  constexpr std::uint64_t seed = 23;
  const std::set<std::int64_t> early = {1, 2, 4, 8};
  std::vector<AdamMoments> moments(4);
  std::map<std::size_t, TurnedMatrix> matrices;
  matrices[0].turned = sides == Sides::both ? Turned::both : Turned::left;
  matrices[2].turned = of_second;
  matrices[2].left.blocks.resize(blocks);
  const auto advance = [&](Weights& w, std::int64_t step) {
    const MatrixSeen seen(network, w, step);
    const Weights g = seen.gradient();
    const bool refresh = probe && (early.count(step) > 0 || step % 10 == 0);
    const Weights s = refresh ? seen.probe(seed) : Weights(4);
    const auto fed = [&](const Tensor& of_g, const Tensor& of_s) {
      return refresh ? torch::max(of_g.square(), of_s.square()) : of_g.square();
    };
    for (const std::size_t i : {1, 3}) move(w[i], moments[i].direction(g[i], fed(g[i], s[i]), b1, b2, 1e-8), lr, wd);
    for (auto& [i, matrix] : matrices) {
      if (refresh) {
        matrix.add(s[i], b3);
        matrix.renew();
      }
      const Tensor turned = refresh ? matrix.turn(s[i]) : Tensor();
      if (matrix.ready()) {
        move(w[i], 0.5 * matrix.direction(g[i], fed(matrix.turn(g[i]), turned), b1, b2, 1e-8), lr, wd);
      }
      matrix.add(g[i], b3);
      if (step < 3 || step % 3 == 0) matrix.renew();
    }
  };
  Options options = LehiKronOptions(lr).betas(b1, b2).beta3(b3).weight_decay(wd).sides(sides).seed(seed);
  if (probe) {
    options.recipe.probe = Probe::gauss_newton;
    options.recipe.schedule = {.every = 10, .doubling = true};
    options.recipe.mix = Mix::max;
    options.recipe.kronecker.factors = FactorSource::both;
  }
  expect_matrix_path(options, advance, network);
}

void expect_lehi_kron(const MatrixNetwork& network, Sides sides, Turned of_second, std::size_t blocks = 1) {
  expect_kron(false, network, sides, of_second, blocks);
  expect_kron(true, network, sides, of_second, blocks);
}

TEST(MatrixReference, LehiKronTakesItsEquationsSteps) { expect_lehi_kron(MatrixNetwork(), Sides::both, Turned::both); }

// 32 rows of 16 are two square blocks.
TEST(MatrixReference, LehiKronWithBlocksTakesItsEquationsSteps) {
  expect_lehi_kron(MatrixNetwork(32, 64, 16), Sides::both, Turned::both, 2);
}

TEST(MatrixReference, LehiKronWithOneSideTakesItsEquationsSteps) {
  expect_lehi_kron(MatrixNetwork(5), Sides::smaller, Turned::left);
  expect_lehi_kron(MatrixNetwork(9), Sides::smaller, Turned::right);
}

}  // namespace
}  // namespace lehi::testing
