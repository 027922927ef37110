#include "text/token_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "data/error.h"
#include "runtime/message.h"
#include "text/token_shard.h"

namespace lehi::text {
namespace {

// memcpy, because reading the bytes through a Word pointer would violate the aliasing rules.
template <class Word>
void widen(const char* from, std::span<std::int64_t> to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    Word word = 0;
    std::memcpy(&word, from + i * sizeof word, sizeof word);
    to[i] = word;
  }
}

}  // namespace

TokenData TokenData::open(const std::filesystem::path& shard, const Tokenizer& tokenizer) {
  return open(shard, tokenizer.kind(), tokenizer.vocabulary().size());
}

TokenData TokenData::open(const std::filesystem::path& shard, TokenizerKind kind) {
  return open(shard, kind, vocabulary_size(kind));
}

TokenData TokenData::open(const std::filesystem::path& shard, TokenizerKind kind, std::int64_t vocabulary) {
  auto file = std::make_shared<const RegularFile>(shard);
  std::array<char, shard_header_bytes> head{};
  const std::span<char> first(head.data(), std::min<std::size_t>(head.size(), static_cast<std::size_t>(file->size())));
  file->read(0, first);
  const ShardHeader header = read_shard_header({first.data(), first.size()}, file->size(), shard.string());
  if (header.kind != kind) {
    data::throw_data_error("{} holds tokens of {}; expected tokens of {}", shard.string(), name_of(header.kind),
                           name_of(kind));
  }
  TokenData tokens(std::move(file), header.token_bytes, 0, header.tokens);
  std::vector<std::int64_t> buffer(std::size_t{1} << 16);
  for (std::int64_t begin = 0; begin < tokens.size();) {
    const auto some = std::min<std::int64_t>(static_cast<std::int64_t>(buffer.size()), tokens.size() - begin);
    const std::span<std::int64_t> part(buffer.data(), static_cast<std::size_t>(some));
    tokens.copy(begin, part);
    const auto wrong = std::find_if(part.begin(), part.end(), [=](std::int64_t token) { return token >= vocabulary; });
    if (wrong != part.end()) {
      data::throw_data_error("{}: token {} is {}, but the tokens of {} are 0 to {}", shard.string(),
                             begin + (wrong - part.begin()), *wrong, name_of(kind), vocabulary - 1);
    }
    begin += some;
  }
  return tokens;
}

void TokenData::copy(std::int64_t begin, std::span<std::int64_t> to) const {
  const auto wanted = static_cast<std::int64_t>(to.size());
  if (begin < 0 || wanted > count_ || begin > count_ - wanted) {
    throw_invalid_argument("can't copy tokens {} to {}: there are {} tokens", begin, begin + wanted, count_);
  }
  std::array<char, 8192> words;  // NOLINT(cppcoreguidelines-pro-type-member-init): a hot loop; read where it is filled
  const auto width = static_cast<std::size_t>(token_bytes_);
  std::int64_t offset = static_cast<std::int64_t>(shard_header_bytes) + (first_ + begin) * token_bytes_;
  while (!to.empty()) {
    const std::size_t some = std::min(to.size(), words.size() / width);
    file_->read(offset, {words.data(), some * width});
    width == 2 ? widen<std::uint16_t>(words.data(), to.first(some))
               : widen<std::uint32_t>(words.data(), to.first(some));
    to = to.subspan(some);
    offset += static_cast<std::int64_t>(some * width);
  }
}

TokenData TokenData::slice(std::int64_t begin, std::int64_t end) const {
  if (begin < 0 || begin > end || end > count_)
    throw_invalid_argument("tokens {} to {} are not a range of the {} tokens", begin, end, count_);
  return {file_, token_bytes_, first_ + begin, end - begin};
}

TokenBlocks TokenData::blocks(std::int64_t length) const { return {*this, length}; }

TokenBlocks::TokenBlocks(TokenData tokens, std::int64_t length) : tokens_(std::move(tokens)), length_(length) {
  if (length < 1) throw_invalid_argument("blocks of {} tokens: the length must be at least 1", length);
  if (tokens_.size() <= length) {
    throw_invalid_argument("{} tokens are too few for a block of {}: one more is needed, for the last target",
                           tokens_.size(), length);
  }
}

void TokenBlocks::copy(std::int64_t i, std::span<std::int64_t> inputs, std::span<std::int64_t> targets) const {
  if (i < 0 || i >= size()) throw_invalid_argument("block {} is out of range: expected 0 to {}", i, size() - 1);
  const auto length = static_cast<std::size_t>(length_);
  if (inputs.size() != length || targets.size() != length) {
    throw_invalid_argument("a block has {} inputs and targets, not {} and {}", length, inputs.size(), targets.size());
  }
  std::vector<std::int64_t> both(length + 1);  // one read for both: the system call costs most
  tokens_.copy(i * length_, both);
  std::copy(both.begin(), both.end() - 1, inputs.begin());
  std::copy(both.begin() + 1, both.end(), targets.begin());
}

TokenBlock TokenBlocks::block(std::int64_t i) const {
  const auto length = static_cast<std::size_t>(length_);
  TokenBlock block{std::vector<std::int64_t>(length), std::vector<std::int64_t>(length)};
  copy(i, block.inputs, block.targets);
  return block;
}

TokenSplit split(const TokenData& tokens, double validation_fraction, double test_fraction) {
  // Written so that NaN is rejected, too.
  if (!(validation_fraction >= 0 && test_fraction >= 0 && validation_fraction + test_fraction < 1)) {
    throw_invalid_argument(
        "fractions {} for validation and {} for testing: each must be at least 0, and their sum below 1",
        validation_fraction, test_fraction);
  }
  const auto share = [&](double fraction) {
    return static_cast<std::int64_t>(std::floor(static_cast<double>(tokens.size()) * fraction));
  };
  const std::int64_t test = tokens.size() - share(test_fraction);
  const std::int64_t validation = test - share(validation_fraction);
  return {tokens.slice(0, validation), tokens.slice(validation, test), tokens.slice(test, tokens.size())};
}

}  // namespace lehi::text
