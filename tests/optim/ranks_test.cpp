// Several ranks against one process with all rows. The ranks are threads here; processes are in tests/distributed.
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <mutex>

#include "optim/fixtures.h"
#include "support/thread_ranks.h"

namespace lehi::testing {
namespace {

using test::run_ranks;
using test::ThreadRanks;
using torch::Tensor;
using RanksPointer = std::shared_ptr<ThreadRanks>;

/// Where a rank's rows begin when `rows` are dealt out by `shares`.
struct Deal {
  std::int64_t first = 0;
  std::int64_t length = 0;
};

Deal deal(const std::vector<std::int64_t>& shares, int rank) {
  Deal result;
  for (int r = 0; r < rank; ++r) result.first += shares[static_cast<std::size_t>(r)];
  result.length = shares[static_cast<std::size_t>(rank)];
  return result;
}

/// A step of one rank with its rows of the network problem.
double take_part(Optimizer& optimizer, const Problem& problem, const Weights& weights, std::int64_t step, Deal rows) {
  optimizer.set_first_row(rows.first);
  return optimizer.step(problem.predict(weights, step).narrow(0, rows.first, rows.length), *problem.loss,
                        problem.targets(step).narrow(0, rows.first, rows.length));
}

struct Trained {
  Weights weights;
  std::vector<double> values;
  std::vector<double> norms;
  Optimizer::NamedState state;
  std::int64_t bytes = 0;
};

Optimizer::NamedState copied_state(const Optimizer::NamedState& state) {
  Optimizer::NamedState copies;
  for (const auto& [name, tensor] : state) copies.emplace_back(name, tensor.clone());
  return copies;
}

/// Trains on 12 rows a step, dealt out by `shares`, from step `from` on; returns what each rank has then.
std::vector<Trained> train_ranks(const Problem& problem, const Options& options,
                                 const std::vector<std::int64_t>& shares, const DistributeOptions& distribute,
                                 std::int64_t steps, const Trained* from = nullptr, std::int64_t done = 0) {
  std::vector<Trained> results(shares.size());
  run_ranks(static_cast<int>(shares.size()), [&](const RanksPointer& ranks) {
    Trained& result = results[static_cast<std::size_t>(ranks->rank())];
    result.weights = fresh(from == nullptr ? problem.start : from->weights);
    Optimizer optimizer(result.weights, options);
    optimizer.distribute(ranks, distribute);
    if (from != nullptr) optimizer.load_named_state(from->state);
    for (std::int64_t step = done + 1; step <= done + steps; ++step) {
      result.values.push_back(take_part(optimizer, problem, result.weights, step, deal(shares, ranks->rank())));
      result.norms.push_back(optimizer.report().gradient_norm);
    }
    result.bytes = ranks->summed_bytes;
    result.state = copied_state(optimizer.named_state());
  });
  return results;
}

Trained train_alone(const Problem& problem, const Options& options, std::int64_t steps) {
  Trained result;
  result.weights = fresh(problem.start);
  Optimizer optimizer(result.weights, options);
  for (std::int64_t step = 1; step <= steps; ++step) {
    result.values.push_back(take_step(optimizer, problem, result.weights, step));
    result.norms.push_back(optimizer.report().gradient_norm);
  }
  return result;
}

void expect_same_bits(const Weights& a, const Weights& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(torch::equal(a[i], b[i])) << "parameter " << i;
}

constexpr std::int64_t rank_steps = 30;

TEST(Ranks, TakeTheStepsOfOneProcessWithAllRows) {
  const Problem problem = make_problem("network", torch::kFloat64);
  for (const Options& options : lively_presets()) {
    SCOPED_TRACE(options.name);
    const Trained alone = train_alone(problem, options, rank_steps);
    for (const std::vector<std::int64_t>& shares :
         {std::vector<std::int64_t>{6, 6}, std::vector<std::int64_t>{5, 4, 3}, std::vector<std::int64_t>{7, 0, 1, 4}}) {
      const auto ranks = train_ranks(problem, options, shares, {}, rank_steps);
      for (const Trained& rank : ranks) {
        const double rounding = rounding_of(options);
        EXPECT_LE(relative_difference(flat(rank.weights), flat(alone.weights)), rounding);
        for (std::size_t k = 0; k < alone.values.size(); ++k) {
          EXPECT_NEAR(rank.values[k], alone.values[k], rounding * std::abs(alone.values[k]));
          EXPECT_NEAR(rank.norms[k], alone.norms[k], 10 * rounding * alone.norms[k]);
        }
        expect_same_bits(rank.weights, ranks.front().weights);
      }
    }
  }
}

TEST(Ranks, ADividedStateGivesTheSameBitsAsAWholeOne) {
  for (const auto dtype : {torch::kFloat32, torch::kFloat64, torch::kBFloat16}) {
    const Problem problem = make_problem("network", dtype);
    for (const Options& options : lively_presets()) {
      for (const std::int64_t bucket : {1, 100, 1 << 20}) {
        if (dtype == torch::kBFloat16 && bucket != 100) continue;
        SCOPED_TRACE(options.name + ", buckets of " + std::to_string(bucket) + " bytes");
        const auto whole = train_ranks(problem, options, {5, 4, 3}, {.bucket_bytes = bucket}, rank_steps);
        const auto divided =
            train_ranks(problem, options, {5, 4, 3}, {.bucket_bytes = bucket, .shard_state = true}, rank_steps);
        for (const Trained& rank : divided) expect_same_bits(rank.weights, whole.front().weights);
        ASSERT_EQ(divided[0].state.size(), whole[0].state.size());
        for (std::size_t i = 0; i < whole[0].state.size(); ++i) {
          EXPECT_EQ(divided[0].state[i].first, whole[0].state[i].first);
          EXPECT_TRUE(torch::equal(divided[0].state[i].second, whole[0].state[i].second)) << whole[0].state[i].first;
        }
        EXPECT_TRUE(divided[1].state.empty()) << "rank 0 alone gets the state";
      }
    }
  }
}

TEST(Ranks, ASavedStateGoesOnWithAnyNumberOfRanks) {
  const Problem problem = make_problem("network", torch::kFloat64);
  for (const Options& options : lively_presets()) {
    SCOPED_TRACE(options.name);
    const auto saved = train_ranks(problem, options, {6, 6}, {.shard_state = true}, 7);
    const auto expected = train_ranks(problem, options, {6, 6}, {}, 7, saved.data(), 7);
    for (const std::vector<std::int64_t>& shares :
         {std::vector<std::int64_t>{12}, std::vector<std::int64_t>{6, 6}, std::vector<std::int64_t>{4, 4, 4},
          std::vector<std::int64_t>{3, 3, 3, 3}}) {
      const auto resumed = train_ranks(problem, options, shares, {.shard_state = true}, 7, saved.data(), 7);
      EXPECT_LE(relative_difference(flat(resumed[0].weights), flat(expected[0].weights)), rounding_of(options));
      if (shares.size() == 2) expect_same_bits(resumed[0].weights, expected[0].weights);
    }
  }
}

TEST(Ranks, MicroBatchesOfRanksAreOneLargeBatch) {
  const Problem problem = make_problem("network", torch::kFloat64);
  for (const Options& options : lively_presets()) {
    SCOPED_TRACE(options.name);
    const Trained alone = train_alone(problem, options, rank_steps);
    run_ranks(2, [&](const RanksPointer& ranks) {
      const Weights weights = fresh(problem.start);
      Optimizer optimizer(weights, options);
      optimizer.distribute(ranks);
      const std::int64_t first = ranks->rank() * 6;
      optimizer.set_first_row(first);
      for (std::int64_t step = 1; step <= rank_steps; ++step) {
        for (const Deal part : {Deal{first, 2}, Deal{first + 2, 4}}) {
          optimizer.accumulate(problem.predict(weights, step).narrow(0, part.first, part.length), *problem.loss,
                               problem.targets(step).narrow(0, part.first, part.length));
        }
        optimizer.step();
      }
      EXPECT_LE(relative_difference(flat(weights), flat(alone.weights)), rounding_of(options));
    });
  }
}

TEST(Ranks, AccumulateAsksWhereARanksRowsBegin) {
  const Problem problem = make_problem("network", torch::kFloat64);
  run_ranks(1, [&](const RanksPointer& ranks) {
    Optimizer optimizer(fresh(problem.start), preset(Preset::lehi));
    optimizer.distribute(ranks);
    EXPECT_THROW(optimizer.accumulate(problem.predict(problem.start, 1), *problem.loss, problem.targets(1)),
                 std::invalid_argument);
  });
}

// A network whose pull_back goes through autograd and delivers from the last parameter to the first.
Differentiable differentiable(const Tensor& predictions, const Weights& weights) {
  return {predictions.detach(), [=](const std::vector<Tensor>& cotangents, const Differentiable::Deliver& deliver) {
            std::vector<std::vector<Tensor>> pulled(weights.size());
            for (std::size_t c = 0; c < cotangents.size(); ++c) {
              const auto gradients = torch::autograd::grad({predictions}, weights, {cotangents[c]}, true);
              for (std::size_t i = 0; i < weights.size(); ++i) pulled[i].push_back(gradients[i]);
            }
            for (std::size_t i = weights.size(); i-- > 0;) deliver(weights[i], pulled[i]);
          }};
}

TEST(Ranks, UpdatesDuringThePullBackAreThoseAfterIt) {
  const Problem problem = make_problem("network", torch::kFloat64);
  for (Options options : lively_presets()) {
    SCOPED_TRACE(options.name);
    options.non_finite = NonFinite::record;  // nothing can be undone
    for (const bool shard : {false, true}) {
      std::vector<Weights> ended(2);
      for (const bool at_once : {false, true}) {
        options.update_during_pull_back = at_once;
        run_ranks(3, [&](const RanksPointer& ranks) {
          const Weights weights = fresh(problem.start);
          Optimizer optimizer(weights, options);
          optimizer.distribute(ranks, {.bucket_bytes = 64, .shard_state = shard});
          const Deal rows{ranks->rank() * 4, 4};
          for (std::int64_t step = 1; step <= rank_steps; ++step) {
            const Tensor predictions = problem.predict(weights, step).narrow(0, rows.first, rows.length);
            optimizer.step(differentiable(predictions, weights), *problem.loss,
                           problem.targets(step).narrow(0, rows.first, rows.length));
          }
          if (ranks->rank() == 1) ended[at_once ? 1 : 0] = weights;
        });
      }
      expect_same_bits(ended[1], ended[0]);
    }
  }
}

TEST(Ranks, AgreeOnWhatIsNotFinite) {
  const Problem problem = make_problem("network", torch::kFloat64);
  for (const auto policy : {NonFinite::throw_error, NonFinite::skip}) {
    Options options = preset(Preset::lehi);
    options.non_finite = policy;
    std::mutex mutex;
    std::vector<std::string> told;
    run_ranks(3, [&](const RanksPointer& ranks) {
      const Weights weights = fresh(problem.start);
      Optimizer optimizer(weights, options);
      optimizer.distribute(ranks);
      const Deal rows{ranks->rank() * 4, 4};
      Tensor predictions = problem.predict(weights, 1).narrow(0, rows.first, rows.length);
      if (ranks->rank() == 1) predictions = predictions * std::numeric_limits<double>::infinity();
      std::string text = "went on";
      try {
        optimizer.step(predictions, *problem.loss, problem.targets(1).narrow(0, rows.first, rows.length));
      } catch (const NonFiniteError& error) {
        text = error.what();
      }
      EXPECT_EQ(optimizer.report().skipped, policy == NonFinite::skip);
      expect_same_bits(weights, problem.start);
      // And the next step is as if nothing had happened.
      take_part(optimizer, problem, weights, 1, rows);
      const std::lock_guard lock(mutex);
      told.push_back(text);
    });
    if (policy == NonFinite::throw_error) {
      EXPECT_THAT(told, ::testing::UnorderedElementsAre(::testing::HasSubstr("another rank"),
                                                        ::testing::HasSubstr("another rank"),
                                                        ::testing::Not(::testing::HasSubstr("another"))));
    } else {
      EXPECT_THAT(told, ::testing::Each("went on"));
    }
  }
}

TEST(Ranks, AParameterThatSomeRanksDoNotUseIsUpdatedOnAll) {
  const MeanSquaredError loss;
  run_ranks(2, [&](const RanksPointer& ranks) {
    const Weights weights = fresh(
        {torch::ones({3}, torch::kFloat64), torch::ones({3}, torch::kFloat64), torch::ones({3}, torch::kFloat64)});
    Optimizer optimizer(weights, preset(Preset::lehi));
    optimizer.distribute(ranks);
    const Tensor used = ranks->rank() == 0 ? weights[0] : weights[1];
    optimizer.step((used * 2.0).unsqueeze(0), loss, torch::zeros({1, 3}, torch::kFloat64));
    EXPECT_FALSE(torch::equal(weights[0], torch::ones({3}, torch::kFloat64)));
    EXPECT_TRUE(torch::equal(weights[0], weights[1]));
    EXPECT_TRUE(torch::equal(weights[2], torch::ones({3}, torch::kFloat64))) << "nobody used it";
    EXPECT_EQ(optimizer.find_state(weights[2]), nullptr);
  });
}

TEST(Ranks, GradientsOfTorchsContractAreAveraged) {
  const Problem problem = make_problem("network", torch::kFloat64);
  const Trained alone = train_alone(problem, preset(Preset::adamw), rank_steps);
  run_ranks(2, [&](const RanksPointer& ranks) {
    const Weights weights = fresh(problem.start);
    Optimizer optimizer(weights, preset(Preset::adamw));
    optimizer.distribute(ranks, {.shard_state = true});
    for (std::int64_t step = 1; step <= rank_steps; ++step) {
      const auto closure = [&] {
        optimizer.zero_grad();
        const Tensor value = problem.value(problem.predict(weights, step).narrow(0, ranks->rank() * 6, 6),
                                           problem.targets(step).narrow(0, ranks->rank() * 6, 6));
        value.backward();
        return value;
      };
      optimizer.step(closure);
      EXPECT_NEAR(optimizer.report().value, alone.values[static_cast<std::size_t>(step - 1)], 1e-12);
    }
    EXPECT_LE(relative_difference(flat(weights), flat(alone.weights)), 1e-12);
  });
}

TEST(Ranks, SumFourBytesAWeightAndFourMoreWhereTheProbeIsPulledBack) {
  const Problem problem = make_problem("network", torch::kFloat32);
  std::int64_t weights = 0;
  for (const Tensor& weight : problem.start) weights += weight.numel();
  const auto counts = static_cast<std::int64_t>(problem.start.size());  // one a parameter
  const auto bytes_of = [&](Preset kind, std::int64_t refresh_every) {
    Options options = preset(kind);
    if (refresh_every > 0) options.recipe.schedule = Schedule{.every = refresh_every};
    return train_ranks(problem, options, {6, 6}, {}, 20)[0].bytes;
  };
  EXPECT_EQ(bytes_of(Preset::adamw, 0), 20 * 4 * (weights + counts));
  EXPECT_EQ(bytes_of(Preset::lehi, 0), 20 * 4 * (2 * weights + counts));
  EXPECT_EQ(bytes_of(Preset::sophia_g, 10), 20 * 4 * (weights + counts) + 2 * 4 * weights);
}

TEST(Ranks, RefuseWhatCannotBeDivided) {
  const Problem problem = make_problem("network", torch::kFloat64);
  run_ranks(1, [&](const RanksPointer& ranks) {
    Optimizer optimizer(fresh(problem.start), preset(Preset::lehi));
    EXPECT_THROW(optimizer.distribute(nullptr), std::invalid_argument);
    EXPECT_THROW(optimizer.distribute(ranks, {.bucket_bytes = 0}), std::invalid_argument);
    optimizer.distribute(ranks, {.shard_state = true});
    torch::serialize::OutputArchive archive;
    EXPECT_THROW(optimizer.save(archive), std::invalid_argument) << "it would hold one rank's part";
    const Weights gaps = {torch::ones({4, 4}, torch::kFloat64).narrow(1, 0, 2).detach().requires_grad_(true)};
    Optimizer other(gaps, preset(Preset::lehi));
    EXPECT_THROW(other.distribute(ranks), std::invalid_argument);
  });
}

}  // namespace
}  // namespace lehi::testing
