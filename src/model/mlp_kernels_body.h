// The loops of mlp_kernels.h for one instruction set. mlp_kernels.cpp includes this file once for each, in a namespace
// of its own that sets vector_bytes, the size of a register, and Tile, the shapes that fit the registers. The compiler
// lowers vector types where they are written, not where they are inlined, so templates of a common header would not do;
// and nothing of the standard library is used, whose functions might be kept compiled for a machine that is not there.

template <class T>
using Vector [[gnu::vector_size(vector_bytes), gnu::aligned(alignof(T)), gnu::may_alias]] = T;

constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

template <class T>
constexpr std::int64_t width = vector_bytes / static_cast<int>(sizeof(T));

// Where entry (i, j) of the result goes: data[i * row + j * column].
template <class T>
struct Result {
  T* data;
  std::int64_t row;
  std::int64_t column;

  Result at(std::int64_t i, std::int64_t j) const { return {data + i * row + j * column, row, column}; }
};

// rows x vectors vectors of the result, added to what it holds unless this is the first block of the inner index. The
// panel's rows are `vectors` vectors long; only `columns` of their entries are in the result.
template <int rows, int vectors, class T>
void tile(std::int64_t inner, Matrix<T> left, const T* panel, bool first, std::int64_t columns, Result<T> result) {
  constexpr std::int64_t whole = vectors * width<T>;
  Vector<T> sums[rows][vectors] = {};
  if (!first) {
    for (int i = 0; i < rows; ++i) {
      T entries[whole] = {};
      for (std::int64_t j = 0; j < columns; ++j) entries[j] = *result.at(i, j).data;
      __builtin_memcpy(sums[i], entries, sizeof(entries));
    }
  }
#pragma GCC unroll 2
  for (std::int64_t k = 0; k < inner; ++k) {
    Vector<T> right[vectors];
    for (int j = 0; j < vectors; ++j) right[j] = *reinterpret_cast<const Vector<T>*>(panel + k * whole + j * width<T>);
    for (int i = 0; i < rows; ++i) {
      const T factor = left.data[i * left.row + k * left.column];
      for (int j = 0; j < vectors; ++j) sums[i][j] += factor * right[j];
    }
  }
  for (int i = 0; i < rows; ++i) {
    T* to = result.data + i * result.row;
    if (columns == whole && result.column == 1) {
      for (int j = 0; j < vectors; ++j) *reinterpret_cast<Vector<T>*>(to + j * width<T>) = sums[i][j];
    } else if (result.column == 1) {
      __builtin_memcpy(to, sums[i], static_cast<std::size_t>(columns) * sizeof(T));
    } else {
      T entries[whole];
      __builtin_memcpy(entries, sums[i], sizeof(entries));
      for (std::int64_t j = 0; j < columns; ++j) to[j * result.column] = entries[j];
    }
  }
}

// The same for as many rows as there are: `count` <= rows.
template <int rows, int vectors, class T>
void some_rows(std::int64_t count, std::int64_t inner, Matrix<T> left, const T* panel, bool first, std::int64_t columns,
               Result<T> result) {
  if (count == rows) return tile<rows, vectors>(inner, left, panel, first, columns, result);
  if constexpr (rows > 1) some_rows<rows - 1, vectors>(count, inner, left, panel, first, columns, result);
}

// a_0 b_0 a_1 b_1 ..., the first or the second half of it.
template <class T, bool second, int... i>
[[gnu::always_inline]] inline Vector<T> interleave(Vector<T> a, Vector<T> b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, (i % 2) * width<T> + (second ? width<T> / 2 : 0) + i / 2 ...);
}

// A square of width x width entries: to[k * to_row + j] = from[j * from_row + k].
template <class T>
void transpose(const T* from, std::int64_t from_row, T* to, std::int64_t to_row) {
  constexpr int size = width<T>;
  constexpr auto indices = std::make_integer_sequence<int, size>();
  Vector<T> now[size];
  Vector<T> next[size];
  for (int i = 0; i < size; ++i) now[i] = *reinterpret_cast<const Vector<T>*>(from + i * from_row);
  for (int half = size / 2; half > 0; half /= 2) {
    for (int i = 0; i < size / 2; ++i) {
      next[2 * i] = interleave<T, false>(now[i], now[i + size / 2], indices);
      next[2 * i + 1] = interleave<T, true>(now[i], now[i + size / 2], indices);
    }
    for (int i = 0; i < size; ++i) now[i] = next[i];
  }
  for (int i = 0; i < size; ++i) *reinterpret_cast<Vector<T>*>(to + i * to_row) = now[i];
}

// panel[k, j] = right(k, j), with zeros after the last column.
template <int vectors, class T>
void pack(std::int64_t inner, std::int64_t columns, Matrix<T> right, T* panel) {
  constexpr std::int64_t whole = vectors * width<T>;
  if (columns == whole && right.column == 1) {
    for (std::int64_t k = 0; k < inner; ++k) {
      for (int j = 0; j < vectors; ++j) {
        *reinterpret_cast<Vector<T>*>(panel + k * whole + j * width<T>) =
            *reinterpret_cast<const Vector<T>*>(right.data + k * right.row + j * width<T>);
      }
    }
    return;
  }
  // Whole squares first, where the inner index runs along memory.
  const std::int64_t squares = right.row == 1 ? columns / width<T> * width<T> : 0;
  const std::int64_t square_inner = inner / width<T> * width<T>;
  for (std::int64_t j = 0; j < squares; j += width<T>) {
    for (std::int64_t k = 0; k < square_inner; k += width<T>) {
      transpose(right.data + k + j * right.column, right.column, panel + k * whole + j, whole);
    }
  }
  for (std::int64_t k = 0; k < inner; ++k) {
    T* row = panel + k * whole;
    for (std::int64_t j = k < square_inner ? squares : 0; j < columns; ++j) {
      row[j] = right.data[k * right.row + j * right.column];
    }
    for (std::int64_t j = columns; j < whole; ++j) row[j] = T{0};
  }
}

template <int vectors, class T>
void multiply_panel(std::int64_t rows, std::int64_t columns, std::int64_t inner, Matrix<T> left, Matrix<T> right,
                    bool first, Result<T> result) {
  alignas(64) T panel[inner_block * vectors * width<T>];
  pack<vectors>(inner, columns, right, panel);
  constexpr int tile_rows = Tile::rows[vectors];
  for (std::int64_t i = 0; i < rows; i += tile_rows) {
    const Matrix<T> part = {left.data + i * left.row, left.row, left.column};
    some_rows<tile_rows, vectors>(smaller(tile_rows, rows - i), inner, part, panel, first, columns, result.at(i, 0));
  }
}

template <class T>
void multiply_panels(std::int64_t rows, std::int64_t columns, std::int64_t inner, Matrix<T> left, Matrix<T> right,
                     Result<T> result) {
  const std::int64_t blocks = (inner + inner_block - 1) / inner_block;
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t from = b * inner / blocks;
    const std::int64_t block = (b + 1) * inner / blocks - from;
    const Matrix<T> some_left = {left.data + from * left.column, left.row, left.column};
    for (std::int64_t j = 0; j < columns;) {
      // Three vectors at a time; of the last four, two and two, since a tile of one vector waits for its loads.
      const std::int64_t left_over = (columns - j + width<T> - 1) / width<T>;
      const std::int64_t vectors = left_over == 4 ? 2 : smaller(left_over, 3);
      const std::int64_t some = smaller(columns - j, vectors * width<T>);
      const Matrix<T> some_right = {right.data + from * right.row + j * right.column, right.row, right.column};
      const auto run = vectors == 3 ? multiply_panel<3, T> : vectors == 2 ? multiply_panel<2, T> : multiply_panel<1, T>;
      run(rows, some, block, some_left, some_right, b == 0, result.at(0, j));
      j += some;
    }
  }
}

// Whole vectors along the inner index, which runs along memory in both factors; then the rest of it, one by one.
template <int rows, int columns, class T>
void dots(std::int64_t inner, Matrix<T> left, Matrix<T> right, T* result, std::int64_t result_row) {
  Vector<T> sums[rows][columns] = {};
  std::int64_t k = 0;
  for (; k + width<T> <= inner; k += width<T>) {
    for (int i = 0; i < rows; ++i) {
      const Vector<T> factor = *reinterpret_cast<const Vector<T>*>(left.data + i * left.row + k);
      for (int j = 0; j < columns; ++j) {
        sums[i][j] += factor * *reinterpret_cast<const Vector<T>*>(right.data + j * right.column + k);
      }
    }
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      T sum = T{0};
      for (int lane = 0; lane < width<T>; ++lane) sum += sums[i][j][lane];
      for (std::int64_t l = k; l < inner; ++l) sum += left.data[i * left.row + l] * right.data[j * right.column + l];
      result[i * result_row + j] = sum;
    }
  }
}

template <int columns, class T>
void dot_columns(std::int64_t rows, std::int64_t inner, Matrix<T> left, Matrix<T> right, T* result,
                 std::int64_t result_row) {
  constexpr std::int64_t some = 4;
  std::int64_t i = 0;
  for (; i + some <= rows; i += some) {
    dots<some, columns, T>(inner, {left.data + i * left.row, left.row, 1}, right, result + i * result_row, result_row);
  }
  for (; i < rows; ++i) {
    dots<1, columns, T>(inner, {left.data + i * left.row, left.row, 1}, right, result + i * result_row, result_row);
  }
}

// One product an entry: nothing to keep in registers.
template <class T>
void multiply_outer(std::int64_t rows, std::int64_t columns, Matrix<T> left, const T* __restrict right,
                    T* __restrict result) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const T factor = left.data[i * left.row];
    for (std::int64_t j = 0; j < columns; ++j) result[i * columns + j] = factor * right[j];
  }
}

template <class T>
void multiply(std::int64_t rows, std::int64_t columns, std::int64_t inner, Matrix<T> left, Matrix<T> right, T* result) {
  if (inner == 1 && right.column == 1) return multiply_outer(rows, columns, left, right.data, result);
  const auto vectors = [](std::int64_t entries) { return (entries + width<T> - 1) / width<T>; };
  if (left.row == 1 && rows * vectors(columns) > columns * vectors(rows)) {
    // Few columns, many rows: the vectors are fuller along the rows.
    return multiply_panels<T>(columns, rows, inner, {right.data, right.column, right.row},
                              {left.data, left.column, left.row}, {result, 1, columns});
  }
  // One or two columns after the last whole vector would cost as much as a vector: where long dots can do them, they
  // do.
  const std::int64_t after = columns % width<T>;
  const bool with_dots = (after == 1 || after == 2) && inner >= 64 && left.column == 1 && right.row == 1;
  const std::int64_t in_panels = with_dots ? columns - after : columns;
  if (with_dots) {
    const Matrix<T> last = {right.data + in_panels * right.column, right.row, right.column};
    const auto run = after == 1 ? dot_columns<1, T> : dot_columns<2, T>;
    run(rows, inner, left, last, result + in_panels, columns);
  }
  multiply_panels<T>(rows, in_panels, inner, left, right, {result, columns, 1});
}

template <class T>
void add_bias(std::int64_t rows, std::int64_t columns, const T* __restrict bias, bool relu, T* __restrict values) {
  for (std::int64_t i = 0; i < rows; ++i) {
    T* row = values + i * columns;
    if (relu) {
      for (std::int64_t j = 0; j < columns; ++j) {
        const T x = row[j] + bias[j];
        row[j] = x < T{0} ? T{0} : x;
      }
    } else {
      for (std::int64_t j = 0; j < columns; ++j) row[j] += bias[j];
    }
  }
}

template <class T>
void mask(std::int64_t rows, std::int64_t copies, std::int64_t columns, const T* __restrict activations,
          T* __restrict deltas) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const T* __restrict active = activations + i * columns;
    for (std::int64_t c = 0; c < copies; ++c) {
      T* __restrict row = deltas + (i * copies + c) * columns;
      for (std::int64_t j = 0; j < columns; ++j) row[j] = active[j] > T{0} ? row[j] : T{0};
    }
  }
}

template <class T>
void column_sums(std::int64_t rows, std::int64_t columns, const T* __restrict values, T* __restrict sums) {
  for (std::int64_t j = 0; j < columns; ++j) sums[j] = T{0};
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) sums[j] += values[i * columns + j];
  }
}
