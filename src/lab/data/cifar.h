// CIFAR-10 and CIFAR-100 (A. Krizhevsky, "Learning multiple layers of features from tiny images", 2009) in their
// authors' binary files: records of a label (CIFAR-100: a coarse one of 20, then a fine one of 100, which is the class)
// and 3072 bytes, the red, green and blue plane of a 32 x 32 image, row by row. The files may be gzipped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "data/dataset.h"

namespace lehi::data {

/// `files`: those of the training part, empty paths passed over, and at last the test file; `classes`: 10 or 100, which
/// tells the format. Pixels are divided by 255, then each channel is normalised by its usual mean and standard
/// deviation. Throws DataError for a file that is not made of whole records, or a label out of range. The result's task
/// is left empty.
Dataset cifar_dataset(const std::vector<std::filesystem::path>& files, std::int64_t classes);

}  // namespace lehi::data
