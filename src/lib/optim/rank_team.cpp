#include "optim/rank_team.h"

#include <algorithm>

#include "optim/rank_matrices.h"
#include "optim/rank_sums.h"
#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

namespace {

Tensors collected(const std::vector<std::size_t>& indices, const std::function<Tensor(std::size_t)>& get) {
  Tensors tensors;
  for (const std::size_t index : indices) tensors.push_back(get(index));
  return tensors;
}

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
  std::int64_t own_first(std::size_t /*index*/) const override { return 0; }
  Tensor own_part(const Tensor& whole, std::size_t /*index*/) const override { return whole; }
  bool owns_matrix(std::size_t /*index*/) const override { return true; }
  void share_weights(const std::vector<std::size_t>& /*matrices*/) override {}
  Tensors gather_matrices(const std::vector<std::size_t>& matrices,
                          const std::function<std::int64_t(std::size_t)>& /*length*/,
                          const std::function<Tensor(std::size_t)>& get) const override {
    return collected(matrices, get);
  }
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
    owners_ = matrix_owners(parameters_, ranks_->size());
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

  std::int64_t own_first(std::size_t index) const override { return divided() ? sums_->own_piece(index).first : 0; }

  Tensor own_part(const Tensor& whole, std::size_t index) const override {
    if (!divided()) return whole;
    const Tensor& parameter = parameters_[index];
    const bool in_order = whole.strides() == parameter.strides();
    const Tensor ordered =
        in_order ? whole : torch::empty_strided(parameter.sizes(), parameter.strides(), whole.options()).copy_(whole);
    const Piece piece = sums_->own_piece(index);
    return in_memory_order(ordered.detach()).narrow(0, piece.first, piece.length);
  }

  bool owns_matrix(std::size_t index) const override { return !divided() || owners_[index] == ranks_->rank(); }

  void share_weights(const std::vector<std::size_t>& matrices) override {
    if (!divided()) return;
    const auto is_matrix = [&](std::size_t index) {
      return std::binary_search(matrices.begin(), matrices.end(), index);
    };
    const auto whole = [this](std::size_t index) { return in_memory_order(parameters_[index].detach()); };
    sums_->gather([&](std::size_t index) { return is_matrix(index) ? Tensor() : own_part(parameters_[index], index); },
                  [&](std::size_t index) { return is_matrix(index) ? Tensor() : whole(index); });
    auto dtype = torch::kFloat32;
    for (const std::size_t index : matrices) dtype = torch::promote_types(dtype, parameters_[index].scalar_type());
    gather_whole(
        *ranks_, owners_, matrices, dtype, [this](std::size_t index) { return parameters_[index].numel(); }, whole,
        [&](std::size_t index, const Tensor& weights) { whole(index).copy_(weights); });
  }

  Tensors gather_matrices(const std::vector<std::size_t>& matrices,
                          const std::function<std::int64_t(std::size_t)>& length,
                          const std::function<Tensor(std::size_t)>& get) const override {
    if (!divided()) return collected(matrices, get);
    Tensors gathered(parameters_.size());
    const auto flat = [&](std::size_t index) {
      const Tensor tensor = get(index);
      return tensor.defined() ? tensor.reshape({-1}) : tensor;
    };
    gather_whole(*ranks_, owners_, matrices, torch::kFloat64, length, flat,
                 [&](std::size_t index, const Tensor& values) {
                   if (ranks_->rank() == 0) gathered[index] = values.clone();
                 });
    return collected(matrices, [&](std::size_t index) { return gathered[index]; });
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
  std::vector<int> owners_;
};

}  // namespace

std::unique_ptr<RankTeam> one_process() { return std::make_unique<OneProcess>(); }

std::unique_ptr<RankTeam> team_of(std::shared_ptr<Ranks> ranks, const DistributeOptions& options) {
  return std::make_unique<SeveralRanks>(std::move(ranks), options);
}

}  // namespace lehi
