// load_dataset(): tiny files of every task, then the real files, if this machine has them.
#include <gmock/gmock.h>

#include "data/csv.h"
#include "data/error.h"
#include "data/find_files.h"
#include "data/load_dataset.h"
#include "data_files/fixture.h"
#include "support/support.h"

namespace lehi::data {
namespace {

using lehi::testing::Folder;
using lehi::testing::gzipped;
using lehi::testing::idx;
using lehi::testing::message_of;
using lehi::testing::shared_data;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void write_mnist(const Folder& folder, const std::string& labels, std::uint32_t side = 28) {
  const auto count = static_cast<std::uint32_t>(labels.size());
  const std::string pixels(static_cast<std::size_t>(count) * side * side, '\x33');  // 51 / 255 = 0.2
  folder.write("mnist/train-images-idx3-ubyte", idx(0x0803, {count, side, side}, pixels));
  folder.write("mnist/train-labels-idx1-ubyte.gz", gzipped(idx(0x0801, {count}, labels)));
  folder.write("mnist/t10k-images-idx3-ubyte", idx(0x0803, {1, 28, 28}, std::string(784, '\xff')));
  folder.write("mnist/t10k-labels-idx1-ubyte", idx(0x0801, {1}, "\7"));
}

std::string load_error(const DataRequest& request) {
  return message_of([&] { load_dataset(request); });
}

TEST(LoadDataset, ImagesAreFlattenedAndNormalised) {
  const Folder folder;
  write_mnist(folder, std::string("\0\3\x09", 3));
  const auto data = load_dataset({.task = "mnist", .data_dir = folder.string()});
  EXPECT_EQ(data.task, "mnist");
  EXPECT_EQ(data.kind, TaskKind::classification);
  EXPECT_EQ(data.inputs, 784);
  EXPECT_EQ(data.outputs, 10);
  ASSERT_THAT(data.train.inputs.sizes(), ElementsAre(3, 784));
  EXPECT_EQ(data.train.values().dtype(), torch::kFloat32);
  EXPECT_TRUE(data.train.targets.equal(torch::tensor({0, 3, 9}, torch::kInt64)));
  EXPECT_NEAR(data.train.values()[1][500].item<double>(), (0.2 - 0.1307) / 0.3081, 1e-6);
  EXPECT_NEAR(data.test.values()[0][0].item<double>(), (1 - 0.1307) / 0.3081, 1e-6);
  EXPECT_FALSE(data.validation.has_value());
  EXPECT_THAT(data.notices, ElementsAre(HasSubstr("3 training and 1 test records instead of 60000 and 10000")));
}

TEST(LoadDataset, ImageFilesThatDoNotMatchThrow) {
  const Folder folder;
  const DataRequest request{.task = "mnist", .data_dir = folder.string()};
  write_mnist(folder, std::string("\0\3\x0a", 3));
  EXPECT_THAT(load_error(request), AllOf(HasSubstr("train-labels"), HasSubstr("label 10; labels are 0 to 9")));
  write_mnist(folder, "\1", 27);
  EXPECT_THAT(load_error(request), HasSubstr("27 x 27 pixels, not 28 x 28"));
  write_mnist(folder, "\1");
  folder.write("mnist/t10k-labels-idx1-ubyte", idx(0x0801, {2}, "\1\2"));
  EXPECT_THAT(load_error(request), AllOf(HasSubstr("1 images"), HasSubstr("2 labels")));
}

TEST(LoadDataset, MissingFilesAreNamedWithPlaceAndAdvice) {
  const Folder folder;
  EXPECT_THAT(load_error({.task = "mnist", .data_dir = folder.string()}),
              AllOf(HasSubstr("t10k-labels-idx1-ubyte"), HasSubstr(folder.string() + "/mnist"),
                    HasSubstr("lehi data get mnist")));
  EXPECT_THAT(load_error({.task = "protein", .data_dir = folder.string()}),
              AllOf(HasSubstr("CASP.csv"), HasSubstr(folder.string() + "/protein"), HasSubstr("UCI")));
}

TEST(LoadDataset, SmallProteinTableAddsANotice) {
  const Folder folder;
  std::string text = "RMSD,F1,F2,F3,F4,F5,F6,F7,F8,F9\n";
  for (int i = 0; i < 20; ++i) {
    for (int column = 1; column <= 10; ++column) text += std::to_string(i * column % 11) + (column < 10 ? "," : "\n");
  }
  folder.write("protein/CASP.csv.gz", gzipped(text));
  const auto data = load_dataset({.task = "protein", .data_dir = folder.string()});
  EXPECT_EQ(data.kind, TaskKind::regression);
  EXPECT_EQ(data.inputs, 9);
  EXPECT_EQ(data.train.size(), 16);
  EXPECT_THAT(data.notices, ElementsAre(HasSubstr("16 training and 4 test records instead of 36584 and 9146")));

  folder.write("protein/CASP.csv", "F1,RMSD\n1,2\n");
  EXPECT_THAT(load_error({.task = "protein", .data_dir = folder.string()}), HasSubstr("the first named 'RMSD'"));
}

TEST(LoadDataset, WrongRequestsThrow) {
  const Folder folder;
  EXPECT_THAT(load_error({.task = "minst"}),
              AllOf(HasSubstr("'minst' is unknown"), HasSubstr("protein, mnist, fashion-mnist")));
  EXPECT_THAT(load_error({.task = "mnist", .target = "y"}), HasSubstr("has a fixed target"));
  EXPECT_THAT(load_error({.task = "csv:"}), HasSubstr("csv:FILE"));
  EXPECT_THAT(load_error({.task = "csv:t.csv"}), HasSubstr("needs a target"));
  EXPECT_THAT(load_error({.task = "csv:" + folder.string() + "/no.csv", .target = "y"}),
              HasSubstr("no.csv can't be opened"));
}

TEST(LoadDataset, CsvTaskUsesTargetKindAndSeed) {
  const Folder folder;
  std::string text = "x,y\n";
  for (int i = 0; i < 30; ++i) text += std::to_string(i) + "," + std::to_string(i % 3) + "\n";
  const std::string task = "csv:" + folder.write("t.csv", text).string();
  const auto data = load_dataset({.task = task, .target = "y", .kind = "classification", .seed = 4});
  EXPECT_EQ(data.task, task);
  EXPECT_EQ(data.outputs, 3);
  const auto other = load_dataset({.task = task, .target = "y", .kind = "classification", .seed = 5});
  EXPECT_FALSE(data.train.inputs.equal(other.train.inputs));
}

TEST(WithValidation, MovesAFractionOfTheTrainingRows) {
  Dataset data;
  data.train = {torch::arange(100, torch::kFloat32).unsqueeze(1), torch::arange(100, torch::kInt64)};
  data.test = {torch::zeros({5, 1}), torch::zeros({5}, torch::kInt64)};
  const auto split = with_validation(data, 0.1, 3);
  ASSERT_TRUE(split.validation.has_value());
  EXPECT_EQ(split.validation->size(), 10);
  EXPECT_EQ(split.train.size(), 90);
  EXPECT_EQ(split.test.size(), 5);
  for (const auto& part : {*split.validation, split.train}) {  // each input keeps its target
    EXPECT_TRUE(part.inputs.flatten().equal(part.targets.to(torch::kFloat32)));
  }
  const auto all = std::get<0>(torch::cat({split.validation->targets, split.train.targets}).sort());
  EXPECT_TRUE(all.equal(data.train.targets));
  EXPECT_TRUE(with_validation(data, 0.1, 3).validation->targets.equal(split.validation->targets));
  EXPECT_FALSE(with_validation(data, 0.1, 4).validation->targets.equal(split.validation->targets));
}

TEST(WithValidation, ImpossibleFractionsThrow) {
  Dataset data;
  data.train = {torch::zeros({10, 1}), torch::zeros({10, 1})};
  for (const double fraction : {0.0, 1.0, -0.5, 0.01, 0.99, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(message_of([&] { with_validation(data, fraction, 0); }), HasSubstr("validation fraction")) << fraction;
  }
  EXPECT_THAT(message_of([&] { with_validation(with_validation(data, 0.5, 0), 0.5, 0); }), HasSubstr("already"));
}

// From the Debian package that scripts/packages.txt installs.
TEST(RealData, FashionMnistIsComplete) {
  const Folder empty;
  if (!search(task_files("fashion-mnist"), empty.string()).back().complete()) {
    GTEST_SKIP() << "the Debian package dataset-fashion-mnist is not installed";
  }
  const auto data = load_dataset({.task = "fashion-mnist", .data_dir = empty.string()});
  EXPECT_THAT(data.notices, IsEmpty());
  ASSERT_THAT(data.train.inputs.sizes(), ElementsAre(60'000, 784));
  ASSERT_THAT(data.test.inputs.sizes(), ElementsAre(10'000, 784));
  EXPECT_TRUE((torch::bincount(data.train.targets) == 6000).all().item<bool>());
  EXPECT_TRUE((torch::bincount(data.test.targets) == 1000).all().item<bool>());
  // The normalisation constants are the mean and standard deviation of the pixels, rounded to four digits.
  const auto pixels = data.train.values().to(torch::kFloat64);
  EXPECT_NEAR(pixels.mean().item<double>(), 0.0, 5e-4);
  EXPECT_NEAR(pixels.std().item<double>(), 1.0, 5e-4);
}

TEST(RealData, ProteinHasItsPublishedStatistics) {
  const std::string folder = shared_data();
  const auto place = search(task_files("protein"), folder).front();
  if (!place.complete())
    GTEST_SKIP() << "no CASP.csv in " << place.folder << "; LEHI_SHARED_DATA may name another data directory";
  const Table table = read_csv(place.files.front());
  ASSERT_EQ(table.rows(), 45'730);
  // The means of the first and the last column, computed with Python's csv and math.fsum.
  const auto mean = [&](std::size_t column) {
    return torch::tensor(table.columns.at(column).numbers(), torch::kFloat64).mean().item<double>();
  };
  EXPECT_NEAR(mean(0), 7.748528427727969, 1e-12);
  EXPECT_NEAR(mean(9), 34.52366366280341, 1e-11);

  const auto data = load_dataset({.task = "protein", .data_dir = folder, .seed = 0});
  EXPECT_THAT(data.notices, IsEmpty());
  ASSERT_THAT(data.train.inputs.sizes(), ElementsAre(36'584, 9));
  ASSERT_THAT(data.test.targets.sizes(), ElementsAre(9'146, 1));
  const auto train = torch::cat({data.train.inputs, data.train.targets}, 1).to(torch::kFloat64);
  EXPECT_LT(train.mean(0).abs().max().item<double>(), 1e-6);
  EXPECT_LT((train.std(0, /*unbiased=*/false) - 1).abs().max().item<double>(), 1e-6);
}

}  // namespace
}  // namespace lehi::data
