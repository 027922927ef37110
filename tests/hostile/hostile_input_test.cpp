// Every kind of file that the program reads, intact and with hostile damage: false sizes, compression bombs, deep
// nesting, names outside the directory. Each must give one error message and exit code 3, create no files, and take at
// most twice the file's size and 64 MB of memory.
#include <gmock/gmock.h>

#include <cstring>
#include <random>

#include "cli/child.h"
#include "cli/run.h"
#include "data_files/fixture.h"
#include "support/memory.h"
#include "text/fixture.h"
#include "train/gpt2_file.h"
#include "train/run_record.h"
#include "train/safetensors.h"
#include "train/scratch.h"

namespace lehi::cli {
namespace {

using lehi::testing::gzipped;
using lehi::testing::repeated;
using lehi::testing::slurp;
using lehi::testing::spill;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Damage {
  std::string what;
  std::string bytes;
};

template <class Number>
std::string little_endian(Number value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

std::string with_word(std::string bytes, std::size_t word, std::int32_t value) {
  std::memcpy(bytes.data() + 4 * word, &value, sizeof(value));
  return bytes;
}

// 1.2 GB of zeros, in 1.2 MB.
const std::string& gzip_bomb() {
  static const std::string bomb = repeated(gzipped(std::string(16U << 20U, '\0')), 72);
  return bomb;
}

std::string noise(std::size_t size) {
  std::mt19937 engine(3);  // NOLINT(cert-msc51-cpp): the same bytes every time
  std::string bytes;
  while (bytes.size() < size) bytes += static_cast<char>(engine());
  return bytes;
}

std::string safetensors_with(const std::string& header) {
  return little_endian<std::uint64_t>(header.size()) + header + std::string(64, '\0');
}

class HostileInput : public ::testing::Test {
 protected:
  HostileInput() {
    std::string table = "a,b,y\n";
    for (int i = 0; i < 60; ++i) table += fmt::format("{},{},{}\n", i % 17, i % 5, 2 * (i % 17) - i % 5);
    table_ = table;
  }

  std::string at(const std::string& name) const { return (scratch_ / name).string(); }

  void put(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((scratch_ / name).parent_path());
    spill(scratch_ / name, bytes);
  }

  /// Runs the command with the file as it is, which must succeed, and with each damaged version, which must give one
  /// error message. The command writes to "out".
  void expect_errors(
      const std::string& name, const Arguments& command, const std::vector<Damage>& damages,
      const std::function<void()>& prepare = [] {}) const {
    const auto whole = slurp(scratch_ / name);
    const auto accepted = run(command);
    ASSERT_EQ(accepted.code, done) << name << " should be valid: " << accepted.err;
    std::filesystem::remove_all(scratch_ / "out");
    for (const auto& [what, bytes] : damages) {
      SCOPED_TRACE(name + ": " + what);
      ASSERT_NE(bytes, whole);
      prepare();
      spill(scratch_ / name, bytes);
      expect_one_message(command, bytes.size());
    }
    spill(scratch_ / name, whole);
  }

  void expect_one_message(const Arguments& command, std::size_t size) const {
    const lehi::testing::PeakMemory memory;
    const auto result = run(command);
    const auto growth = memory.growth();
    EXPECT_EQ(result.code, bad_input) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, AllOf(StartsWith("lehi: "), EndsWith("\n")));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_LE(result.err.size(), 1500U) << "the message must not contain the file";
    EXPECT_FALSE(std::filesystem::exists(scratch_ / "out")) << result.err;
    if (growth) {
      EXPECT_LE(*growth, static_cast<std::int64_t>(2 * size + 64'000'000)) << result.err;
    }
  }

  Arguments train(const std::string& task, Arguments more = {}) const {
    more.insert(more.begin(), {"train", task, "--steps", "1", "--progress", "none", "--json", "--out", at("out")});
    return more;
  }

  lehi::testing::Scratch scratch_;
  lehi::testing::Environment cache_{"XDG_CACHE_HOME", (scratch_ / "cache").string()};
  std::string table_;
};

TEST_F(HostileInput, Tables) {
  put("t.csv", table_);
  const auto packed = gzipped(table_);
  expect_errors("t.csv", train("csv:" + at("t.csv"), {"--target", "y"}),
                {{"empty", ""},
                 {"no rows", "a,b,y\n"},
                 {"a row too short", table_ + "1,2\n"},
                 {"an open quote", table_ + "\"1,2,3\n"},
                 {"not a number that is finite", table_ + "1,2,inf\n"},
                 {"noise", noise(5000)},
                 {"a million columns, once", table_ + repeated(",", 1'000'000) + "\n"},
                 {"half a gzip file", packed.substr(0, packed.size() / 2)},
                 {"a gzip file and something else", packed + "x"},
                 {"a gzip bomb", gzip_bomb()}});
}

TEST_F(HostileInput, Images) {
  using lehi::testing::idx;
  const auto images = idx(0x803, {20, 28, 28}, noise(20 * 784));
  const auto labels = idx(0x801, {20}, repeated({0, 1, 2, 3, 4}, 4));
  for (const std::string part : {"train", "t10k"}) {
    put("data/mnist/" + part + "-images-idx3-ubyte", images);
    put("data/mnist/" + part + "-labels-idx1-ubyte", labels);
  }
  const auto command = train("mnist", {"--data-dir", at("data")});
  expect_errors("data/mnist/train-images-idx3-ubyte", command,
                {{"empty", ""},
                 {"another magic number", idx(0xd03, {20, 28, 28}, noise(20 * 784))},
                 {"sizes whose product overflows", idx(0x803, {0xffffffff, 0xffffffff, 0xffffffff}, "x")},
                 {"three terabytes", idx(0x803, {4'000'000'000, 28, 28}, noise(784))},
                 {"no images", idx(0x803, {0, 28, 28}, "")},
                 {"truncated", images.substr(0, images.size() - 1)},
                 {"too long", images + "x"},
                 {"a gzip bomb", gzip_bomb()}});
  expect_errors("data/mnist/t10k-labels-idx1-ubyte", command,
                {{"fewer labels than images", idx(0x801, {19}, std::string(19, '\1'))},
                 {"a label out of range", idx(0x801, {20}, std::string(20, '\x0b'))}});
}

TEST_F(HostileInput, ColourImages) {
  const auto record = std::string(1, '\3') + noise(3072);
  const auto records = repeated(record, 8);
  put("data/cifar10/data_batch_1.bin", records);
  put("data/cifar10/test_batch.bin", records);
  expect_errors("data/cifar10/data_batch_1.bin",
                train("cifar10", {"--preset", "small", "--set", "data.train_rows=0", "--set", "data.test_rows=0",
                                  "--batch-size", "4", "--data-dir", at("data")}),
                {{"empty", ""},
                 {"truncated", records.substr(0, records.size() - 1)},
                 {"a label out of range", '\x0a' + records.substr(1)},
                 {"a gzip bomb", gzip_bomb()}});
}

TEST_F(HostileInput, Vocabularies) {
  const auto files = text::gpt2_files(text::small_parts({{"a", "b"}}, {"<|endoftext|>"}));
  put("data/gpt2/encoder.json", files.encoder_json);
  put("data/gpt2/vocab.bpe", files.vocab_bpe);
  put("t.txt", "abba");
  const Arguments gpt2 = {"tokenize", "--tokenizer", "gpt2", "--json", "--data-dir", at("data"), at("t.txt")};
  const auto& json = files.encoder_json;
  expect_errors("data/gpt2/encoder.json", gpt2,
                {{"empty", ""},
                 {"truncated", json.substr(0, json.size() / 2)},
                 {"very deep nesting", std::string(2'000'000, '[')},
                 {"nesting under a key", repeated("{\"a\":", 500'000)},
                 {"an id of 64 bits", "{\"zz\":18446744073709551615," + json.substr(1)},
                 {"an id that is too large", "{\"zz\":4000000000," + json.substr(1)},
                 {"an id twice", "{\"zz\":7," + json.substr(1)},
                 {"invalid UTF-8", "{\"\xff\":7," + json.substr(1)},
                 {"a gzip bomb", gzip_bomb()}});
  expect_errors("data/gpt2/vocab.bpe", gpt2,
                {{"no version", "a b\n"},
                 {"a merge of three", files.vocab_bpe + "a b c\n"},
                 {"a merge of unknown tokens", files.vocab_bpe + "ab qqqqq\n"},
                 {"one endless line", files.vocab_bpe + std::string(3'000'000, 'a')}});
  put("data/llama3/tokenizer.json", "{}");
  const Arguments llama3 = {"tokenize", "--tokenizer", "llama3", "--json", "--data-dir", at("data"), at("t.txt")};
  for (const auto& bytes : {std::string("{}"), std::string(2'000'000, '['), repeated("{\"model\":", 300'000),
                            std::string("{\"model\":{\"vocab\":[],\"merges\":{}}}"), noise(5000), gzip_bomb()}) {
    put("data/llama3/tokenizer.json", bytes);
    SCOPED_TRACE("tokenizer.json: " + bytes.substr(0, 20));
    expect_one_message(llama3, bytes.size());
  }
}

TEST_F(HostileInput, Texts) {
  const std::string line = R"({"text":"abba abba abba abba"})";
  put("t.jsonl", line + "\n" + line + "\n");
  const Arguments command = {"tokenize", "--tokenizer", "bytes", at("t.jsonl"), "--out", at("out")};
  expect_errors("t.jsonl", command,
                {{"not JSON", line + "\n{\n"},
                 {"no such field", line + "\n{\"txet\":\"a\"}\n"},
                 {"a field that is not a string", line + "\n{\"text\":7}\n"},
                 {"very deep nesting", repeated("{\"text\":", 300'000) + "\n"},
                 {"deeply nested lists", std::string(2'000'000, '[')},
                 {"invalid UTF-8", "{\"text\":\"\xff\"}\n"},
                 {"half a surrogate", "{\"text\":\"\\ud800\"}\n"},
                 {"half a gzip file", gzipped(line).substr(0, 20)},
                 {"invalid zstd data", "\x28\xb5\x2f\xfd" + noise(1000)},
                 {"a gzip bomb of one line", gzip_bomb()}});
}

TEST_F(HostileInput, TokenShards) {
  put("t.txt", repeated("abba ", 2000));
  ASSERT_EQ(run({"tokenize", "--tokenizer", "bytes", at("t.txt"), "--out", at("t.bin")}).code, done);
  const auto shard = slurp(at("t.bin"));
  expect_errors("t.bin",
                train("text:" + at("t.bin"),
                      {"--preset", "small", "--set", "text.block=16", "--set", "text.test_tokens=200", "--set",
                       "model.width=16", "--set", "model.heads=2", "--set", "model.layers=1", "--batch-size", "2"}),
                {{"a header only", shard.substr(0, 1024)},
                 {"truncated", shard.substr(0, shard.size() - 1)},
                 {"another magic number", with_word(shard, 0, 7)},
                 {"another version", with_word(shard, 1, 77)},
                 {"two billion tokens", with_word(shard, 2, 0x7fffffff)},
                 {"a negative number of tokens", with_word(shard, 2, -5)},
                 {"a token outside the vocabulary", shard.substr(0, shard.size() - 2) + "\xff\xff"}});
}

TEST_F(HostileInput, Safetensors) {
  const auto entry = [](const std::string& fields) { return safetensors_with("{\"w\":{" + fields + "}}"); };
  const auto good = entry(R"("dtype":"F32","shape":[4,4],"data_offsets":[0,64])");
  put("m.safetensors", good);
  expect_errors(
      "m.safetensors", {"convert", at("m.safetensors"), at("out/")},
      {{"empty", ""},
       {"seven bytes", good.substr(0, 7)},
       {"a header of 2^63 bytes", little_endian(std::uint64_t{1} << 63U) + "{}"},
       {"a header of 90 MB", little_endian(std::uint64_t{90'000'000}) + "{}"},
       {"truncated", good.substr(0, good.size() - 1)},
       {"too long", good + "x"},
       {"a header that is a list", safetensors_with("[]")},
       {"very deep nesting", safetensors_with(repeated("{\"a\":", 300'000))},
       {"an unknown type", entry(R"("dtype":"F31","shape":[4,4],"data_offsets":[0,64])")},
       {"a shape that overflows", entry(R"("dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,64])")},
       {"a shape below zero", entry(R"("dtype":"F32","shape":[-4,-4],"data_offsets":[0,64])")},
       {"a rank of a million",
        entry("\"dtype\":\"F32\",\"shape\":[1" + repeated(",1", 1'000'000) + "],\"data_offsets\":[0,64]")},
       {"offsets beyond the end", entry(R"("dtype":"F32","shape":[4,4],"data_offsets":[64,128])")},
       {"decreasing offsets", entry(R"("dtype":"F32","shape":[4,4],"data_offsets":[64,0])")},
       {"two tensors with the same offsets",
        safetensors_with(R"({"a":{"dtype":"F32","shape":[16],"data_offsets":[0,64]},)"
                         R"("b":{"dtype":"F32","shape":[16],"data_offsets":[0,64]}})")}});
}

TEST_F(HostileInput, SafetensorsIndex) {
  const auto index_of = [](const std::string& file) {
    return R"({"metadata":{"total_size":64},"weight_map":{"w":")" + file + "\"}}";
  };
  const std::string index = "m/model.safetensors.index.json";
  put("m/a.safetensors", safetensors_with(R"({"w":{"dtype":"F32","shape":[4,4],"data_offsets":[0,64]}})"));
  put("secret.safetensors", slurp(at("m/a.safetensors")));
  put(index, index_of("a.safetensors"));
  expect_errors(index, {"convert", at("m"), at("out/")},
                {{"truncated", index_of("a.safetensors").substr(0, 40)},
                 {"a missing file", index_of("b.safetensors")},
                 {"a file in another directory", index_of("../secret.safetensors")},
                 {"a file by its absolute path", index_of(at("secret.safetensors"))},
                 {"a name with a zero in it", index_of("a.safetensors\\u0000x")},
                 {"itself", index_of("model.safetensors.index.json")},
                 {"no map", R"({"metadata":{}})"},
                 {"a tensor that is not in the file", R"({"weight_map":{"v":"a.safetensors","w":"a.safetensors"}})"},
                 {"very deep nesting", repeated("{\"weight_map\":", 300'000)}});
}

TEST_F(HostileInput, LlmcCheckpoints) {
  const auto good = lehi::testing::gpt2_file();
  put("m.bin", good);
  expect_errors("m.bin", {"convert", at("m.bin"), at("out.safetensors"), "--json", "--force"},
                {{"a header only", good.substr(0, 1024)},
                 {"truncated", good.substr(0, good.size() - 1)},
                 {"too long", good + "x"},
                 {"another magic number", with_word(good, 0, 7)},
                 {"another version", with_word(good, 1, 77)},
                 {"two billion positions", with_word(good, 2, 0x7fffffff)},
                 {"a negative number of tokens", with_word(good, 3, -1)},
                 {"two billion layers", with_word(good, 4, 0x7fffffff)},
                 {"no heads", with_word(good, 5, 0)},
                 {"a width of two billion", with_word(good, 6, 0x7fffffff)}});
}

TEST_F(HostileInput, Configurations) {
  put("t.csv", table_);
  put("c.toml", "[train]\nbatch_size = 16\n");
  expect_errors("c.toml", train("csv:" + at("t.csv"), {"--target", "y", "--config", at("c.toml")}),
                {{"an unknown key", "[train]\nbatch_sise = 16\n"},
                 {"a string for a number", "[train]\nbatch_size = \"many\"\n"},
                 {"a number out of range", "[train]\nbatch_size = 99999999999999999999\n"},
                 {"a batch of no rows", "[train]\nbatch_size = 0\n"},
                 {"an open table", "[train\n"},
                 {"deeply nested lists", "a = " + std::string(200'000, '[')},
                 {"deeply nested tables", "a = " + repeated("{a=", 100'000)},
                 {"an endless key", repeated("a.", 200'000) + "a = 1\n"},
                 {"invalid UTF-8", "a = \"\xff\"\n"},
                 {"noise", noise(5000)}});
}

TEST_F(HostileInput, Runs) {
  put("t.csv", table_);
  const Arguments resume = {"train", "--resume", "--progress", "none", "--json", "--out", at("run")};
  auto begin = train("csv:" + at("t.csv"), {"--target", "y"});
  *std::find(begin.begin(), begin.end(), at("out")) = at("run");
  ASSERT_EQ(run(begin).code, done);
  // As if it had been stopped before it ended.
  auto record = train::read_run_record(at("run/run.json"));
  record.status = train::RunStatus::interrupted;
  const auto unfinished = [&] { train::write_run_record(at("run/run.json"), record); };
  unfinished();
  const auto json = slurp(at("run/run.json"));
  const std::vector<Damage> not_json = {{"empty", ""},
                                        {"truncated", json.substr(0, json.size() / 2)},
                                        {"a list", "[]"},
                                        {"very deep nesting", repeated("{\"a\":", 300'000)},
                                        {"deeply nested lists", std::string(2'000'000, '[')},
                                        {"another schema", "{\"schema\": 999}"},
                                        {"noise", noise(5000)}};
  expect_errors("run/run.json", resume, not_json);
  expect_errors("run/metrics.jsonl", resume,
                {{"a line that is not JSON", "{\"step\": 1\n"},
                 {"a line without a step", "{}\n"},
                 {"decreasing steps", "{\"step\": 1}\n{\"step\": 0}\n"},
                 {"a step that is not a number", "{\"step\": \"1\"}\n"},
                 {"deeply nested lists", std::string(2'000'000, '[') + "\n"}},
                unfinished);
  const auto toml = slurp(at("run/config.toml"));
  expect_errors("run/config.toml", resume, {{"empty", ""}, {"truncated", toml.substr(0, 40)}, {"noise", noise(5000)}});
}

TEST_F(HostileInput, Studies) {
  put("t.csv", table_);
  const Arguments sweep = {"sweep",        "csv:" + at("t.csv"),
                           "--target",     "y",
                           "--steps",      "1",
                           "--optimizers", "adam",
                           "--lrs",        "1e-3",
                           "--seeds",      "0",
                           "--jobs",       "1",
                           "--out",        at("study")};
  ASSERT_EQ(Child(sweep).wait(), done);
  const auto json = slurp(at("study/study.json"));
  expect_errors("study/study.json", {"report", at("study"), "--csv", at("out")},
                {{"empty", ""},
                 {"truncated", json.substr(0, json.size() / 2)},
                 {"a list", "[]"},
                 {"very deep nesting", repeated("{\"a\":", 300'000)},
                 {"another schema", "{\"schema\": 999}"},
                 {"noise", noise(5000)}});
  put("study.toml", fmt::format("[[study]]\ntask = \"csv:{}\"\n", at("t.csv")));
  for (const auto& bytes : {std::string("[[study]]\n"), std::string("study = 7\n"), noise(3000),
                            "study = " + std::string(200'000, '['), repeated("a.", 200'000) + "a = 1\n"}) {
    put("study.toml", bytes);
    SCOPED_TRACE("study.toml: " + bytes.substr(0, 20));
    expect_one_message({"sweep", "--study", at("study.toml"), "--out", at("out")}, bytes.size());
  }
}

}  // namespace
}  // namespace lehi::cli
