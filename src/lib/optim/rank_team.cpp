#include "optim/rank_team.h"

#include <algorithm>

#include "optim/rank_sums.h"
#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

namespace {

class OneProcess final : public RankTeam {
 public:
  bool several() const override { return false; }
  int rank() const override { return 0; }
  int size() const override { return 1; }
  bool divided() const override { return false; }
  void set_parameters(const Tensors& parameters, bool /*has_state*/) override { parameters_ = parameters; }
  std::int64_t rows_before(const Tensor& /*predictions*/, std::optional<std::int64_t> /*first*/) const override {
    return 0;
  }
  void sum(const std::vector<double*>& /*numbers*/) const override {}
  void sum_gradients(const GradientSource& source, std::size_t /*vectors*/, bool /*early*/,
                     const GradientSink& sink) override {
    source(sink);
  }
  std::int64_t own_weights(const Tensor& parameter, std::size_t /*index*/) const override { return parameter.numel(); }
  Tensor own_part(const Tensor& whole, std::size_t /*index*/) const override { return whole; }
  void share_weights() override {}
  Tensors gather(const std::function<Tensor(std::size_t)>& piece) const override {
    Tensors whole;
    for (std::size_t i = 0; i < parameters_.size(); ++i) whole.push_back(piece(i));
    return whole;
  }

 private:
  Tensors parameters_;
};

class SeveralRanks final : public RankTeam {
 public:
  SeveralRanks(std::shared_ptr<Ranks> ranks, const DistributeOptions& options)
      : ranks_(std::move(ranks)), options_(options) {}

  bool several() const override { return true; }
  int rank() const override { return ranks_->rank(); }
  int size() const override { return ranks_->size(); }
  bool divided() const override { return options_.shard_state; }

  void set_parameters(const Tensors& parameters, bool has_state) override {
    if (divided() && has_state) {
      throw_invalid_argument(
          "a parameter was added, but the state is divided over ranks: that can't be changed after the first step");
    }
    parameters_ = parameters;
    sums_ = std::make_unique<RankSums>(parameters_, *ranks_, options_.bucket_bytes);
  }

  std::int64_t rows_before(const Tensor& predictions, std::optional<std::int64_t> first) const override {
    if (predictions.dim() == 0) return 0;
    const std::int64_t own = std::max<std::int64_t>(1, predictions.size(0));
    return first.value_or(ranks_->rank() * own) * (row_shape(predictions).rows / own);
  }

  void sum(const std::vector<double*>& numbers) const override {
    std::vector<double> sums;
    sums.reserve(numbers.size());
    for (const double* number : numbers) sums.push_back(*number);
    ranks_->sum(torch::from_blob(sums.data(), {static_cast<std::int64_t>(sums.size())}, torch::kFloat64));
    for (std::size_t i = 0; i < numbers.size(); ++i) *numbers[i] = sums[i];
  }

  void sum_gradients(const GradientSource& source, std::size_t vectors, bool early, const GradientSink& sink) override {
    const auto complete = [&](std::size_t pending) {
      sums_->complete(pending, [&](std::size_t index, const Tensors& sums) {
        sink(index, sums[0], vectors == 2 ? sums[1] : Tensor());
      });
      if (early) sums_->release();
    };
    sums_->begin(vectors);
    source([&](std::size_t index, const Tensor& g, const Tensor& s) {
      sums_->add(index, vectors == 2 ? Tensors{g, s} : Tensors{g});
      if (early) complete(/*pending=*/1);  // one bucket is summed while the next one fills
    });
    sums_->flush();
    complete(/*pending=*/0);
  }

  std::int64_t own_weights(const Tensor& parameter, std::size_t index) const override {
    return divided() ? sums_->own_piece(index).length : parameter.numel();
  }

  Tensor own_part(const Tensor& whole, std::size_t index) const override {
    if (!divided()) return whole;
    const Tensor& parameter = parameters_[index];
    const bool in_order = whole.strides() == parameter.strides();
    const Tensor ordered =
        in_order ? whole : torch::empty_strided(parameter.sizes(), parameter.strides(), whole.options()).copy_(whole);
    const Piece piece = sums_->own_piece(index);
    return in_memory_order(ordered.detach()).narrow(0, piece.first, piece.length);
  }

  void share_weights() override {
    if (!divided()) return;
    sums_->gather([this](std::size_t index) { return own_part(parameters_[index], index); },
                  [this](std::size_t index) { return in_memory_order(parameters_[index].detach()); });
  }

  Tensors gather(const std::function<Tensor(std::size_t)>& piece) const override {
    Tensors whole(parameters_.size());
    bool any = false;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const Tensor kept = piece(i);
      if (!kept.defined()) continue;
      if (!divided()) {
        whole[i] = kept;
        continue;
      }
      any = true;
      if (ranks_->rank() != 0) continue;
      whole[i] = torch::zeros_like(parameters_[i], kept.options(), torch::MemoryFormat::Preserve);
    }
    if (any) {
      sums_->gather(piece, [&](std::size_t i) { return whole[i].defined() ? in_memory_order(whole[i]) : Tensor(); });
    }
    return whole;
  }

 private:
  std::shared_ptr<Ranks> ranks_;
  DistributeOptions options_;
  Tensors parameters_;
  std::unique_ptr<RankSums> sums_;
};

}  // namespace

std::unique_ptr<RankTeam> one_process() { return std::make_unique<OneProcess>(); }

std::unique_ptr<RankTeam> team_of(std::shared_ptr<Ranks> ranks, const DistributeOptions& options) {
  return std::make_unique<SeveralRanks>(std::move(ranks), options);
}

}  // namespace lehi
