#include "model/shared_batch_norm.h"

#include <torch/csrc/autograd/custom_function.h>

#include "runtime/message.h"

namespace lehi::model {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

namespace {

Tensor of_channels(const Tensor& values) { return values.view({1, -1, 1, 1}); }

Tensor channel_sums(const Tensor& values) { return values.sum({0, 2, 3}); }

// With x' = (x - mean) / deviation, mean and deviation over all ranks' rows, a cotangent y of scale x' + shift gives
//   shift   sum y            scale   sum y x'     over this rank's rows; the optimizer sums them over the ranks
//   x       scale / deviation (y - mean y - x' mean (y x'))    with means over all ranks' rows
class SharedBatchNorm : public torch::autograd::Function<SharedBatchNorm> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& values, const Tensor& scale, const Tensor& shift,
                        const Tensor& mean, const Tensor& deviation, double count, Ranks* ranks) {
    const Tensor normal = (values - of_channels(mean)).div_(of_channels(deviation));
    context->save_for_backward({normal, scale, deviation});
    context->saved_data["count"] = count;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): saved_data takes no pointers
    context->saved_data["ranks"] = reinterpret_cast<std::int64_t>(ranks);
    return (normal * of_channels(scale)).add_(of_channels(shift));
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& cotangents) {
    const auto saved = context->get_saved_variables();
    const Tensor& normal = saved[0];
    const Tensor& scale = saved[1];
    const Tensor& deviation = saved[2];
    // NOLINTNEXTLINE(performance-no-int-to-ptr,cppcoreguidelines-pro-type-reinterpret-cast): as forward() saved it
    auto& ranks = *reinterpret_cast<Ranks*>(context->saved_data["ranks"].toInt());
    const Tensor& y = cotangents.front();
    const Tensor to_shift = channel_sums(y);
    const Tensor to_scale = channel_sums(y * normal);
    const Tensor means = torch::stack({to_shift, to_scale});
    ranks.sum(means);
    means.div_(context->saved_data["count"].toDouble());
    const Tensor to_values =
        (y - of_channels(means[0]) - normal * of_channels(means[1])).mul_(of_channels(scale / deviation));
    return {to_values, to_scale, to_shift, Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor shared_batch_norm(const Tensor& values, const Tensor& scale, const Tensor& shift, const Tensor& running_mean,
                         const Tensor& running_variance, double momentum, double eps, Ranks& ranks) {
  Tensor mean;
  Tensor variance;
  double count = 0.0;
  {
    const torch::NoGradGuard no_grad;
    const std::int64_t channels = values.size(1);
    const Tensor x = values.detach();
    const Tensor sums = torch::zeros({channels + 1}, torch::kFloat64);
    sums.narrow(0, 0, channels).copy_(channel_sums(x));
    sums[channels] = static_cast<double>(values.numel()) / static_cast<double>(channels);
    ranks.sum(sums);
    count = sums[channels].item<double>();
    if (!(count > 1.0)) {
      throw_invalid_argument(
          "batch normalisation can't train on a single row of one pixel: use more rows or larger images");
    }
    mean = (sums.narrow(0, 0, channels) / count).to(values.dtype());
    // Around the mean, in a second pass: a difference of two large sums would lose digits.
    const Tensor squares = channel_sums((x - of_channels(mean)).square_()).to(torch::kFloat64);
    ranks.sum(squares);
    variance = squares.div_(count);
    if (running_mean.defined()) {
      running_mean.mul_(1.0 - momentum).add_(mean, momentum);
      const Tensor unbiased = variance * (count / (count - 1.0));
      running_variance.mul_(1.0 - momentum).add_(unbiased.to(running_variance.dtype()), momentum);
    }
  }
  const Tensor deviation = (variance + eps).sqrt_().to(values.dtype());
  return SharedBatchNorm::apply(values, scale, shift, mean, deviation, count, &ranks);
}

}  // namespace lehi::model
