#include "layers/attention.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/vector_math.h"
#include "layers/dispatch.h"
#include "layers/gemm.h"

namespace lehi::layers {

using torch::Tensor;

namespace {

// Queries a block: enough for an efficient product, few enough that the scores above the diagonal cost little.
constexpr std::int64_t query_block = 64;

// One head of one row of the batch: a matrix [tokens, width].
template <class T>
struct Head {
  T* data = nullptr;
  std::int64_t stride = 0;

  T* at(std::int64_t token) const { return data + token * stride; }
};

template <class T>
Head<T> head_of(const Tensor& matrix, std::int64_t first_token, std::int64_t head, std::int64_t width) {
  return {matrix.data_ptr<T>() + first_token * matrix.stride(0) + head * width, matrix.stride(0)};
}

// Replaces scores[0..count) by their softmax; returns the logarithm of the sum of their exponentials.
template <class T>
LEHI_CLONES T softmax_row(T* scores, std::int64_t count) {
  const T largest = kernels::lane_max(scores, count, std::numeric_limits<T>::lowest());
  for (std::int64_t i = 0; i < count; ++i) scores[i] = kernels::exp_of_nonpositive(scores[i] - largest);
  const T sum = kernels::lane_sum<T>(count, [scores](std::int64_t i) { return scores[i]; });
  const T inverse = T(1) / sum;
  for (std::int64_t i = 0; i < count; ++i) scores[i] *= inverse;
  return largest + std::log(sum);
}

template <class T>
LEHI_CLONES void recompute_weights(T* scores, std::int64_t count, T log_normaliser) {
  for (std::int64_t i = 0; i < count; ++i) scores[i] = kernels::exp_of_nonpositive(scores[i] - log_normaliser);
}

// Overwrites dweights with dscores = scale weights (dweights - sum(weights dweights)).
template <class T>
LEHI_CLONES void pull_back_softmax(const T* weights, T* dweights, std::int64_t count, T scale) {
  const T sum = kernels::lane_sum<T>(count, [=](std::int64_t i) { return weights[i] * dweights[i]; });
#pragma GCC ivdep  // the buffers do not overlap
  for (std::int64_t i = 0; i < count; ++i) dweights[i] = scale * weights[i] * (dweights[i] - sum);
}

template <class T>
LEHI_CLONES void product_of(const T* left, const T* right, T* out, std::int64_t count) {
#pragma GCC ivdep  // out is either left or does not overlap it
  for (std::int64_t i = 0; i < count; ++i) out[i] = left[i] * right[i];
}

// The queries [begin, end) of a head. Query i sees the keys [0, i]; the block's scratch matrices have rows of length
// `end`.
struct Block {
  std::int64_t row = 0;   // of the batch
  std::int64_t head = 0;  // of the queries
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t tokens = 0;

  std::int64_t rows() const { return end - begin; }
  // Where the dropout mask of the batch's row has the weight of query `begin + i` and key 0.
  std::int64_t place(std::int64_t i) const { return (head * tokens + begin + i) * tokens; }
};

template <class T>
void scores_of(const Block& block, std::int64_t width, Head<T> queries, Head<T> keys, T* scores) {
  const T scale = static_cast<T>(1.0 / std::sqrt(static_cast<double>(width)));
  multiply_add<T>(block.rows(), block.end, width, scale, {queries.at(block.begin), queries.stride},
                  {keys.data, keys.stride, true}, T(0), scores, block.end);
}

template <class T>
void drop(const Block& block, const Dropout& dropout, T* factors) {
  for (std::int64_t i = 0; i < block.rows(); ++i) {
    T* row = factors + i * block.end;
    dropout.factors(block.row, block.place(i), block.begin + i + 1, row);
    std::fill(row + block.begin + i + 1, row + block.end, T(0));
  }
}

template <class T>
void attend_block(const Block& block, std::int64_t width, Head<T> queries, Head<T> keys, Head<T> values,
                  const Dropout& dropout, T* scratch, Head<T> out, T* log_normaliser) {
  scores_of(block, width, queries, keys, scratch);
  for (std::int64_t i = 0; i < block.rows(); ++i) {
    T* row = scratch + i * block.end;
    const std::int64_t count = block.begin + i + 1;
    log_normaliser[block.begin + i] = softmax_row(row, count);
    std::fill(row + count, row + block.end, T(0));
  }
  if (dropout.active()) {
    T* factors = scratch + block.rows() * block.end;
    drop(block, dropout, factors);
    product_of(scratch, factors, scratch, block.rows() * block.end);
  }
  multiply_add<T>(block.rows(), width, block.end, T(1), {scratch, block.end}, {values.data, values.stride}, T(0),
                  out.at(block.begin), out.stride);
}

// The cotangents of queries, keys and values. Those of keys and values are added to what earlier blocks and heads left;
// the first one overwrites.
template <class T>
void pull_back_block(const Block& block, std::int64_t width, Head<T> queries, Head<T> keys, Head<T> values,
                     const T* weights, const T* factors, T* dropped, T* dweights, Head<T> dout, bool first,
                     Head<T> dqueries, Head<T> dkeys, Head<T> dvalues) {
  const std::int64_t rows = block.rows();
  const T keep = first ? T(0) : T(1);
  multiply_add<T>(rows, block.end, width, T(1), {dout.at(block.begin), dout.stride}, {values.data, values.stride, true},
                  T(0), dweights, block.end);
  const T* used = weights;
  if (factors != nullptr) {
    product_of(dweights, factors, dweights, rows * block.end);
    product_of(weights, factors, dropped, rows * block.end);
    used = dropped;
  }
  multiply_add<T>(block.end, width, rows, T(1), {used, block.end, true}, {dout.at(block.begin), dout.stride}, keep,
                  dvalues.data, dvalues.stride);
  const T scale = static_cast<T>(1.0 / std::sqrt(static_cast<double>(width)));
  for (std::int64_t i = 0; i < rows; ++i) {
    T* row = dweights + i * block.end;
    const std::int64_t count = block.begin + i + 1;
    pull_back_softmax(weights + i * block.end, row, count, scale);
    std::fill(row + count, row + block.end, T(0));
  }
  multiply_add<T>(rows, width, block.end, T(1), {dweights, block.end}, {keys.data, keys.stride}, T(0),
                  dqueries.at(block.begin), dqueries.stride);
  multiply_add<T>(block.end, width, rows, T(1), {dweights, block.end, true}, {queries.at(block.begin), queries.stride},
                  keep, dkeys.data, dkeys.stride);
}

}  // namespace

AttentionResult attend(const AttentionShape& shape, const AttentionInputs& inputs, const Dropout& dropout) {
  const std::int64_t shared = shape.heads / shape.groups;
  const auto options = inputs.queries.options();
  AttentionResult result = {torch::empty({shape.rows * shape.tokens, shape.heads * shape.width}, options),
                            torch::empty({shape.rows, shape.heads, shape.tokens}, options)};
  by_dtype(inputs.queries, [&]<class T>(T) {
    at::parallel_for(0, shape.rows * shape.heads, 1, [&](std::int64_t begin, std::int64_t end) {
      // A tensor, because its memory is aligned: some BLAS libraries round differently at other addresses.
      const Tensor scratch = torch::zeros({(dropout.active() ? 2 : 1) * query_block * shape.tokens}, options);
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t row = task / shape.heads;
        const std::int64_t head = task % shape.heads;
        const auto of = [&](const Tensor& matrix, std::int64_t which) {
          return head_of<T>(matrix, row * shape.tokens, which, shape.width);
        };
        for (std::int64_t from = 0; from < shape.tokens; from += query_block) {
          const Block block = {row, head, from, std::min(shape.tokens, from + query_block), shape.tokens};
          attend_block<T>(block, shape.width, of(inputs.queries, head), of(inputs.keys, head / shared),
                          of(inputs.values, head / shared), dropout, scratch.data_ptr<T>(), of(result.values, head),
                          result.log_normaliser.data_ptr<T>() + task * shape.tokens);
        }
      }
    });
  });
  return result;
}

void pull_back_attend(const AttentionShape& shape, const AttentionInputs& inputs, const Tensor& log_normaliser,
                      const Dropout& dropout, const Tensor& cotangents, const AttentionInputs& to) {
  const std::int64_t shared = shape.heads / shape.groups;
  const std::int64_t all_tokens = shape.rows * shape.tokens;
  const std::int64_t count = cotangents.size(0) / all_tokens;
  by_dtype(inputs.queries, [&]<class T>(T) {
    // One task a group: heads that share keys and values add to the same cotangents.
    at::parallel_for(0, shape.rows * shape.groups, 1, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t size = query_block * shape.tokens;
      const Tensor memory = torch::zeros({(dropout.active() ? 4 : 2) * size}, inputs.queries.options());
      T* weights = memory.data_ptr<T>();
      T* dweights = weights + size;
      T* factors = dropout.active() ? dweights + size : nullptr;
      T* dropped = dropout.active() ? factors + size : nullptr;
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t row = task / shape.groups;
        const std::int64_t group = task % shape.groups;
        for (std::int64_t head = group * shared; head < (group + 1) * shared; ++head) {
          const auto of = [&](const Tensor& matrix, std::int64_t which, std::int64_t cotangent) {
            return head_of<T>(matrix, cotangent * all_tokens + row * shape.tokens, which, shape.width);
          };
          const Head<T> queries = of(inputs.queries, head, 0);
          const Head<T> keys = of(inputs.keys, group, 0);
          const Head<T> values = of(inputs.values, group, 0);
          const T* logs = log_normaliser.data_ptr<T>() + (row * shape.heads + head) * shape.tokens;
          // From the last block, which sees every key, to the first.
          for (std::int64_t from = (shape.tokens - 1) / query_block * query_block; from >= 0; from -= query_block) {
            const Block block = {row, head, from, std::min(shape.tokens, from + query_block), shape.tokens};
            scores_of(block, shape.width, queries, keys, weights);
            for (std::int64_t i = 0; i < block.rows(); ++i) {
              T* line = weights + i * block.end;
              recompute_weights(line, from + i + 1, logs[from + i]);
              std::fill(line + from + i + 1, line + block.end, T(0));
            }
            if (factors != nullptr) drop(block, dropout, factors);
            const bool first = block.end == shape.tokens && head == group * shared;
            for (std::int64_t c = 0; c < count; ++c) {
              pull_back_block<T>(block, shape.width, queries, keys, values, weights, factors, dropped, dweights,
                                 of(cotangents, head, c), first, of(to.queries, head, c), of(to.keys, group, c),
                                 of(to.values, group, c));
            }
          }
        }
      }
    });
  });
}

}  // namespace lehi::layers
