// The loops of mlp_kernels.h for one instruction set. mlp_kernels.cpp includes this file once for each, in a namespace
// of its own that sets vector_bytes, the size of a register, and Tile, the shapes that fit the registers. The compiler
// lowers vector types where they are written, not where they are inlined, so templates of a common header would not do;
// and nothing of the standard library is used, whose functions might be kept compiled for a machine that is not there.

template <class T>
using Vector [[gnu::vector_size(vector_bytes), gnu::aligned(alignof(T)), gnu::may_alias]] = T;

constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

template <class T>
constexpr std::int64_t width = vector_bytes / static_cast<int>(sizeof(T));

// rows x vectors vectors of the result, added to what it holds unless this is the first block of the inner index. The
// panel's rows are `vectors` vectors long; only `columns` of their entries are in the result.
template <int rows, int vectors, class T>
void tile(std::int64_t inner, Matrix<T> left, const T* panel, bool first, std::int64_t columns, T* result,
          std::int64_t result_row) {
  constexpr std::int64_t whole = vectors * width<T>;
  const std::size_t bytes = static_cast<std::size_t>(columns) * sizeof(T);
  Vector<T> sums[rows][vectors] = {};
  if (!first) {
    for (int i = 0; i < rows; ++i) __builtin_memcpy(sums[i], result + i * result_row, bytes);
  }
  for (std::int64_t k = 0; k < inner; ++k) {
    Vector<T> right[vectors];
    for (int j = 0; j < vectors; ++j) right[j] = *reinterpret_cast<const Vector<T>*>(panel + k * whole + j * width<T>);
    for (int i = 0; i < rows; ++i) {
      const T factor = left.data[i * left.row + k * left.column];
      for (int j = 0; j < vectors; ++j) sums[i][j] += factor * right[j];
    }
  }
  for (int i = 0; i < rows; ++i) {
    T* to = result + i * result_row;
    if (columns == whole) {
      for (int j = 0; j < vectors; ++j) *reinterpret_cast<Vector<T>*>(to + j * width<T>) = sums[i][j];
    } else {
      __builtin_memcpy(to, sums[i], bytes);
    }
  }
}

// The same for as many rows as there are: `count` <= rows.
template <int rows, int vectors, class T>
void some_rows(std::int64_t count, std::int64_t inner, Matrix<T> left, const T* panel, bool first, std::int64_t columns,
               T* result, std::int64_t result_row) {
  if (count == rows) return tile<rows, vectors>(inner, left, panel, first, columns, result, result_row);
  if constexpr (rows > 1) {
    some_rows<rows - 1, vectors>(count, inner, left, panel, first, columns, result, result_row);
  }
}

// panel[k, j] = right(k, j), with zeros after the last column.
template <class T>
void pack(std::int64_t inner, std::int64_t columns, Matrix<T> right, std::int64_t panel_row, T* panel) {
  if (right.column == 1) {
    const std::size_t bytes = static_cast<std::size_t>(columns) * sizeof(T);
    for (std::int64_t k = 0; k < inner; ++k) {
      __builtin_memcpy(panel + k * panel_row, right.data + k * right.row, bytes);
      for (std::int64_t j = columns; j < panel_row; ++j) panel[k * panel_row + j] = T{0};
    }
    return;
  }
  for (std::int64_t k = 0; k < inner; ++k) {
    for (std::int64_t j = 0; j < columns; ++j) panel[k * panel_row + j] = right.data[k * right.row + j * right.column];
    for (std::int64_t j = columns; j < panel_row; ++j) panel[k * panel_row + j] = T{0};
  }
}

template <int vectors, class T>
void multiply_panel(std::int64_t rows, std::int64_t columns, std::int64_t inner, Matrix<T> left, Matrix<T> right,
                    bool first, T* result, std::int64_t result_row) {
  alignas(64) T panel[inner_block * vectors * width<T>];
  pack(inner, columns, right, vectors * width<T>, panel);
  constexpr int tile_rows = Tile::rows[vectors];
  for (std::int64_t i = 0; i < rows; i += tile_rows) {
    const Matrix<T> part = {left.data + i * left.row, left.row, left.column};
    some_rows<tile_rows, vectors>(smaller(tile_rows, rows - i), inner, part, panel, first, columns,
                                  result + i * result_row, result_row);
  }
}

template <class T>
void multiply(std::int64_t rows, std::int64_t columns, std::int64_t inner, Matrix<T> left, Matrix<T> right, T* result) {
  for (std::int64_t from = 0; from < inner; from += inner_block) {
    const std::int64_t block = smaller(inner_block, inner - from);
    const Matrix<T> some_left = {left.data + from * left.column, left.row, left.column};
    for (std::int64_t j = 0; j < columns;) {
      // Three vectors at a time; of the last four, two and two, since a tile of one vector waits for its loads.
      const std::int64_t left_over = (columns - j + width<T> - 1) / width<T>;
      const std::int64_t vectors = left_over == 4 ? 2 : smaller(left_over, 3);
      const std::int64_t some = smaller(columns - j, vectors * width<T>);
      const Matrix<T> some_right = {right.data + from * right.row + j * right.column, right.row, right.column};
      const auto run = vectors == 3 ? multiply_panel<3, T> : vectors == 2 ? multiply_panel<2, T> : multiply_panel<1, T>;
      run(rows, some, block, some_left, some_right, from == 0, result + j, columns);
      j += some;
    }
  }
}

template <class T>
void add_bias(std::int64_t rows, std::int64_t columns, const T* bias, bool relu, T* values) {
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
void mask(std::int64_t rows, std::int64_t copies, std::int64_t columns, const T* activations, T* deltas) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const T* active = activations + i * columns;
    for (std::int64_t c = 0; c < copies; ++c) {
      T* row = deltas + (i * copies + c) * columns;
      for (std::int64_t j = 0; j < columns; ++j) row[j] = active[j] > T{0} ? row[j] : T{0};
    }
  }
}

template <class T>
void column_sums(std::int64_t rows, std::int64_t columns, const T* values, T* sums) {
  for (std::int64_t j = 0; j < columns; ++j) sums[j] = T{0};
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) sums[j] += values[i * columns + j];
  }
}
