// CIFAR-10 and CIFAR-100 (A. Krizhevsky, "Learning multiple layers of features from tiny images", 2009) from their
// authors' binary files. Each record has a label (CIFAR-100: a coarse label of 20, then a fine label of 100, which is
// the class) and 3072 bytes: the red, green and blue plane of a 32 x 32 image, row by row. The files may be gzipped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "data/dataset.h"

namespace lehi::data {

/// `files`: the training files, where empty paths are skipped, then the test file. `classes`: 10 or 100; it decides the
/// format. Pixels are divided by 255, then each channel is normalised by its usual mean and standard deviation. Throws
/// DataError for a file that does not consist of whole records, or a label out of range. Leaves the task empty.
Dataset cifar_dataset(const std::vector<std::filesystem::path>& files, std::int64_t classes);

}  // namespace lehi::data
