// CIFAR's binary files: small ones, made byte by byte.
#include "data/cifar.h"

#include <gmock/gmock.h>

#include "data/error.h"
#include "data/find_files.h"
#include "data/load_dataset.h"
#include "data/official.h"
#include "data_files/fixture.h"
#include "support/support.h"

namespace lehi::data {
namespace {

using lehi::testing::Folder;
using lehi::testing::gzipped;
using lehi::testing::message_of;
using lehi::testing::same_bits;
using lehi::testing::shared_data;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Red is 51 (0.2), green 102 (0.4), blue 204 (0.8), except one red pixel of 255 in row 1, column 2.
std::string cifar_record(const std::string& labels) {
  std::string bytes = labels + std::string(1024, '\x33') + std::string(1024, '\x66') + std::string(1024, '\xcc');
  bytes[labels.size() + 32 + 2] = '\xff';
  return bytes;
}

Dataset load_cifar(const Folder& folder, const std::string& task = "cifar10") {
  return load_dataset({.task = task, .data_dir = folder.string()});
}

std::string cifar_error(const Folder& folder, const std::string& task = "cifar10") {
  EXPECT_THROW(load_cifar(folder, task), DataError);
  return message_of([&] { load_cifar(folder, task); });
}

TEST(Cifar, TenClassesComeFromAnyNumberOfBatches) {
  const Folder folder;
  folder.write("cifar10/data_batch_1.bin", cifar_record("\3") + cifar_record("\7"));
  folder.write("cifar10/data_batch_4.bin.gz", gzipped(cifar_record("\x09")));
  folder.write("cifar10/test_batch.bin", cifar_record(std::string(1, '\0')));
  const auto data = load_cifar(folder);
  EXPECT_EQ(data.task, "cifar10");
  EXPECT_EQ(data.kind, TaskKind::classification);
  EXPECT_EQ(data.inputs, 3072);
  EXPECT_EQ(data.outputs, 10);
  EXPECT_EQ(data.train.inputs.dtype(), torch::kUInt8);
  ASSERT_THAT(data.train.inputs.sizes(), ElementsAre(3, 3072));
  EXPECT_TRUE(same_bits(data.train.targets, torch::tensor({3, 7, 9}, torch::kInt64)));
  EXPECT_TRUE(same_bits(data.test.targets, torch::tensor({0}, torch::kInt64)));
  EXPECT_THAT(data.notices, ElementsAre(HasSubstr("3 training and 1 test records instead of 50000 and 10000")));

  const auto values = data.train.values();
  EXPECT_EQ(values.dtype(), torch::kFloat32);
  ASSERT_THAT(values.sizes(), ElementsAre(3, 3, 32, 32));
  EXPECT_NEAR(values[2][0][0][0].item<double>(), (0.2 - 0.4914) / 0.2470, 1e-6);
  EXPECT_NEAR(values[2][0][1][2].item<double>(), (1.0 - 0.4914) / 0.2470, 1e-6);
  EXPECT_NEAR(values[2][1][1][2].item<double>(), (0.4 - 0.4822) / 0.2435, 1e-6);
  EXPECT_NEAR(values[2][2][31][31].item<double>(), (0.8 - 0.4465) / 0.2616, 1e-6);
}

TEST(Cifar, TheFineLabelIsTheClassOfCifar100) {
  const Folder folder;
  folder.write("cifar100/train.bin.gz", gzipped(cifar_record("\x13\x63") + cifar_record(std::string("\0\5", 2))));
  folder.write("cifar100/test.bin", cifar_record("\1\2"));
  const auto data = load_cifar(folder, "cifar100");
  EXPECT_EQ(data.outputs, 100);
  EXPECT_TRUE(same_bits(data.train.targets, torch::tensor({99, 5}, torch::kInt64)));
  EXPECT_NEAR(data.test.values()[0][2][0][0].item<double>(), (0.8 - 0.4409) / 0.2762, 1e-6);
}

TEST(Cifar, FilesThatAreNotWholeRecordsThrow) {
  const Folder folder;
  folder.write("cifar10/test_batch.bin", cifar_record("\1"));
  for (const auto& bytes : {std::string(), cifar_record("\1").substr(1), cifar_record("\1\1")}) {
    folder.write("cifar10/data_batch_1.bin", bytes);
    EXPECT_THAT(cifar_error(folder), AllOf(HasSubstr("data_batch_1.bin holds " + std::to_string(bytes.size())),
                                           HasSubstr("a multiple of 3073")));
  }
  folder.write("cifar100/test.bin", cifar_record("\1"));
  folder.write("cifar100/train.bin", cifar_record("\1\1"));
  EXPECT_THAT(cifar_error(folder, "cifar100"), HasSubstr("test.bin holds 3073 bytes; expected a multiple of 3074"));
}

TEST(Cifar, LabelsOutOfRangeAreNamedWithFileAndRecord) {
  const Folder folder;
  folder.write("cifar10/data_batch_1.bin", cifar_record("\1"));
  folder.write("cifar10/test_batch.bin", cifar_record("\1") + cifar_record("\x0a") + cifar_record("\1"));
  EXPECT_THAT(cifar_error(folder), AllOf(HasSubstr("test_batch.bin: record 2 of 3 has the label 10; expected 0 to 9")));
  folder.write("cifar100/test.bin", cifar_record("\1\1"));
  folder.write("cifar100/train.bin", cifar_record("\x14\1"));
  EXPECT_THAT(cifar_error(folder, "cifar100"), HasSubstr("record 1 of 1 has the coarse label 20; expected 0 to 19"));
  folder.write("cifar100/train.bin", cifar_record("\1\xff"));
  EXPECT_THAT(cifar_error(folder, "cifar100"), HasSubstr("has the fine label 255; expected 0 to 99"));
}

TEST(Cifar, MissingFilesAreNamedWithPlaceAndAdvice) {
  const Folder folder;
  folder.write("cifar10/data_batch_2.bin", cifar_record("\1"));
  EXPECT_THAT(cifar_error(folder),
              AllOf(HasSubstr("needs data_batch_1.bin, data_batch_2.bin (optional)"), HasSubstr("test_batch.bin"),
                    HasSubstr(folder.string() + "/cifar10"), HasSubstr("University of Toronto")));
  const auto place = look_in(task_files("cifar10"), folder.path() / "cifar10");
  EXPECT_THAT(place.missing, ElementsAre("data_batch_1.bin", "test_batch.bin"));
}

// No digests of these files are published, so only their sizes can be compared.
TEST(Cifar, OfficialFilesAreRecognisedByTheirSize) {
  const Folder folder;
  const OfficialFile file{"f.bin", 3, ""};
  EXPECT_EQ(difference_from_official(file, folder.write("f.bin", "abc")), "");
  EXPECT_THAT(difference_from_official(file, folder.write("f.bin", "ab")), HasSubstr("holds 2 bytes"));
}

TEST(Cifar, PartsKeepTheirScale) {
  const Folder folder;
  std::string train;
  for (char i = 0; i < 10; ++i) train += cifar_record(std::string(1, i));
  folder.write("cifar10/data_batch_1.bin", train);
  folder.write("cifar10/test_batch.bin", cifar_record("\1") + cifar_record("\2"));
  const auto data = load_cifar(folder);
  const auto all = data.train.values();
  const auto split = with_validation(data, 0.3, 1);
  torch::Tensor batch;
  for (const auto& part : {*split.validation, split.train}) {
    EXPECT_TRUE(same_bits(part.values(), all.index_select(0, part.targets)));  // row i has the label i
    const auto index = torch::tensor({2, 0}, torch::kInt64);
    part.take_values(index, batch);
    EXPECT_TRUE(same_bits(batch, part.values().index_select(0, index)));
  }
  EXPECT_TRUE(same_bits(data.train.values(4, 3), all.narrow(0, 4, 3)));
  const auto trial = limited(data, 4, 0);
  EXPECT_TRUE(same_bits(trial.train.values(), all.narrow(0, 0, 4)));
  EXPECT_EQ(trial.test.size(), 2);
}

TEST(Limited, KeepsTheFirstRowsAndAddsANotice) {
  Dataset data;
  data.train = {torch::arange(10, torch::kFloat32).unsqueeze(1), torch::arange(10, torch::kInt64)};
  data.test = {torch::zeros({5, 1}), torch::zeros({5}, torch::kInt64)};
  const auto trial = limited(data, 3, 2);
  EXPECT_TRUE(same_bits(trial.train.inputs, data.train.inputs.narrow(0, 0, 3)));
  EXPECT_TRUE(same_bits(trial.train.targets, torch::arange(3, torch::kInt64)));
  EXPECT_EQ(trial.test.size(), 2);
  EXPECT_THAT(trial.notices, ElementsAre("only the first 3 of 10 training and 2 of 5 test rows are used"));
  EXPECT_THAT(limited(data, 0, 5).notices, ::testing::IsEmpty());
  EXPECT_EQ(message_of([&] { limited(data, 11, 0); }),
            "a limit of 11 training rows is out of range: expected 1 to 10, or 0 for all of them");
  EXPECT_EQ(message_of([&] { limited(data, 0, -1); }),
            "a limit of -1 test rows is out of range: expected 1 to 5, or 0 for all of them");
}

// Krizhevsky's files, if this machine has them.
TEST(RealData, CifarIsNormalised) {
  const std::string folder = shared_data();
  const auto place = search(task_files("cifar10"), folder).front();
  if (!place.complete()) {
    GTEST_SKIP() << "no CIFAR-10 in " << place.folder << "; LEHI_SHARED_DATA may name another data directory";
  }
  const auto data = load_dataset({.task = "cifar10", .data_dir = folder});
  EXPECT_EQ(torch::bincount(data.train.targets).numel(), 10);
  // The normalisation constants are those of all 50,000 images.
  const auto values = data.train.values().to(torch::kFloat64);
  EXPECT_LT(values.mean({0, 2, 3}).abs().max().item<double>(), 0.02);
  EXPECT_LT((values.transpose(0, 1).flatten(1).std(1) - 1).abs().max().item<double>(), 0.02);
}

}  // namespace
}  // namespace lehi::data
