// The sources of g and s: a graph, a network's own pull-back, .grad(), with what losses have for their own weights.
#include "optim/backward.h"

#include <map>

#include "optim/fixtures.h"

namespace lehi::testing {
namespace {

using torch::Tensor;

ParameterTable table_of(const Weights& weights) {
  ParameterTable table;
  table.read(groups_of({weights}));
  return table;
}

struct Delivered {
  std::map<std::size_t, std::pair<Tensor, Tensor>> parts;
  GradientSink sink() {
    return [this](std::size_t index, const Tensor& g, const Tensor& s) {
      EXPECT_TRUE(parts.emplace(index, std::pair(g.clone(), s.defined() ? s.clone() : s)).second) << "once each";
    };
  }
};

// p = w x with x = (1, 2), so that J^T c = c x^T; u and v are given.
struct Line {
  Tensor w = torch::tensor({{1.0, 1.0}, {2.0, 0.0}}, torch::kFloat64).requires_grad_(true);
  Tensor unused = torch::ones({3}, torch::kFloat64).requires_grad_(true);
  Tensor x = torch::tensor({1.0, 2.0}, torch::kFloat64);
  MeanSquaredError loss;
  Evaluation evaluation;
  Line() {
    evaluation.gradient = torch::tensor({{3.0, 5.0}}, torch::kFloat64);
    evaluation.probe = torch::tensor({{-1.0, 1.0}}, torch::kFloat64);
  }
  Tensor predictions() const { return torch::matmul(w, x).unsqueeze(0); }
  Tensor targets() const { return torch::zeros({1, 2}, torch::kFloat64); }
  Tensor g() const { return torch::tensor({{3.0, 6.0}, {5.0, 10.0}}, torch::kFloat64); }
  Tensor s() const { return torch::tensor({{-1.0, -2.0}, {1.0, 2.0}}, torch::kFloat64); }
};

TEST(Backward, ThroughTheGraphDeliversWhatTookPart) {
  Line line;
  const std::vector<Term> terms = {{line.predictions(), line.loss, line.targets()}};
  Delivered found;
  backward(terms, std::span(&line.evaluation, 1), /*second=*/true, table_of({line.unused, line.w}), false,
           found.sink());
  ASSERT_EQ(found.parts.size(), 1U);
  EXPECT_TRUE(torch::equal(found.parts.at(1).first, line.g()));
  EXPECT_TRUE(torch::equal(found.parts.at(1).second, line.s()));
}

TEST(Backward, WithoutASecondVectorThereIsNoS) {
  Line line;
  const std::vector<Term> terms = {{line.predictions(), line.loss, line.targets()}};
  Delivered found;
  backward(terms, std::span(&line.evaluation, 1), /*second=*/false, table_of({line.w}), false, found.sink());
  EXPECT_TRUE(torch::equal(found.parts.at(0).first, line.g()));
  EXPECT_FALSE(found.parts.at(0).second.defined());
}

TEST(Backward, ANetworksOwnPullBackIsCalledOnceWithBothVectors) {
  Line line;
  int calls = 0;
  const Differentiable network{line.predictions().detach(), [&](const Tensors& cotangents, const auto& deliver) {
                                 ++calls;
                                 Tensors pulled;
                                 for (const Tensor& c : cotangents) pulled.push_back(torch::outer(c[0], line.x));
                                 deliver(line.w, pulled);
                                 deliver(torch::ones({7}), pulled);  // another optimizer's parameter
                               }};
  const std::vector<Term> terms = {{network, line.loss, line.targets()}};
  Delivered found;
  backward(terms, std::span(&line.evaluation, 1), /*second=*/true, table_of({line.w}), false, found.sink());
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(torch::equal(found.parts.at(0).first, line.g()));
  EXPECT_TRUE(torch::equal(found.parts.at(0).second, line.s()));
}

TEST(Backward, FromGradReadsDenseGradients) {
  Line line;
  line.w.mutable_grad() = line.g();
  Delivered found;
  deliver_grad(table_of({line.unused, line.w}), found.sink());
  ASSERT_EQ(found.parts.size(), 1U);
  EXPECT_TRUE(torch::equal(found.parts.at(1).first, line.g()));
  line.w.mutable_grad() = line.g().to_sparse();
  EXPECT_EQ(message_of([&] { deliver_grad(table_of({line.w}), found.sink()); }),
            "a parameter has a sparse .grad(): use dense embeddings (sparse = false)");
}

}  // namespace
}  // namespace lehi::testing
