// The loops of mlp_kernels.h for one instruction set. mlp_kernels.cpp includes this file once for each, in a namespace
// of its own that defines vector_bytes, the size of a register, and Tile, the shapes that fit the registers. Shared
// templates would not work: the compiler lowers vector types where they are written, not where they are inlined. The
// standard library is not used: the linker might keep the copy of an inline function that was compiled for another
// machine.
// NOLINTBEGIN(modernize-avoid-c-arrays): of vector registers

template <class T>
using Vector [[gnu::vector_size(vector_bytes), gnu::aligned(alignof(T)), gnu::may_alias]] = T;

constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

template <class T>
constexpr std::int64_t width = vector_bytes / static_cast<int>(sizeof(T));

template <class T>
[[gnu::always_inline]] inline Vector<T> load(const T* from) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): vector registers
  return *reinterpret_cast<const Vector<T>*>(from);
}

template <class V, class T>
[[gnu::always_inline]] inline void store(V vector, T* to) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): vector registers
  *reinterpret_cast<Vector<T>*>(to) = vector;
}

// Keeps a vector in a register. The compiler would load it again for each use, and loads are the bottleneck.
template <class V>
[[gnu::always_inline]] inline V held(V vector) {
#ifdef __x86_64__
  asm("" : "+v"(vector));  // NOLINT(hicpp-no-assembler)
#endif
  return vector;
}

// The result, with entry (i, j) at data[i * row + j * column].
template <class T>
struct Result {
  T* data;
  std::int64_t row;
  std::int64_t column;

  Result at(std::int64_t i, std::int64_t j) const { return {data + i * row + j * column, row, column}; }
};

// Loads and stores the sums of a tile; only `columns` of their entries are in the result. Unusual cases go through an
// array, so that the sums themselves can stay in registers.
template <int rows, int vectors, class T>
[[gnu::always_inline]] inline void begin(Vector<T> (&sums)[rows][vectors], bool first, std::int64_t columns,
                                         Result<T> result) {
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < vectors; ++j) sums[i][j] = Vector<T>{};
  }
  if (first) return;
  T entries[rows][vectors * width<T>] = {};
  for (int i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) entries[i][j] = *result.at(i, j).data;
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < vectors; ++j) sums[i][j] = load(entries[i] + j * width<T>);
  }
}

template <int rows, int vectors, class T>
[[gnu::always_inline]] inline void finish(const Vector<T> (&sums)[rows][vectors], std::int64_t columns,
                                          Result<T> result) {
  if (columns == vectors * width<T> && result.column == 1) {
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < vectors; ++j) store(sums[i][j], result.at(i, j * width<T>).data);
    }
    return;
  }
  T entries[rows][vectors * width<T>];
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < vectors; ++j) store(sums[i][j], entries[i] + j * width<T>);
  }
  for (int i = 0; i < rows; ++i) {
    T* to = result.at(i, 0).data;
    if (result.column == 1) {
      __builtin_memcpy(to, entries[i], static_cast<std::size_t>(columns) * sizeof(T));
    } else {
      for (std::int64_t j = 0; j < columns; ++j) to[j * result.column] = entries[i][j];
    }
  }
}

// A tile of the result: `rows` rows of `vectors` vectors, added to the result's values unless this is the first block
// of the inner index. A panel's rows are `vectors` vectors long; only `columns` of their entries are in the result.
template <int rows, int vectors, class T>
void tile(std::int64_t inner, Matrix<T> left, const T* panel, bool first, std::int64_t columns, Result<T> result) {
  Vector<T> sums[rows][vectors];
  begin<rows, vectors, T>(sums, first, columns, result);
#pragma GCC unroll 2
  for (std::int64_t k = 0; k < inner; ++k) {
    Vector<T> right[vectors];
    for (int j = 0; j < vectors; ++j) right[j] = load(panel + (k * vectors + j) * width<T>);
    for (int i = 0; i < rows; ++i) {
      const T factor = left.data[i * left.row + k * left.column];
      for (int j = 0; j < vectors; ++j) sums[i][j] += factor * right[j];
    }
  }
  finish<rows, vectors, T>(sums, columns, result);
}

// The same with `count` <= rows rows.
template <int rows, int vectors, class T>
void some_rows(std::int64_t count, std::int64_t inner, Matrix<T> left, const T* panel, bool first, std::int64_t columns,
               Result<T> result) {
  if (count == rows) return tile<rows, vectors>(inner, left, panel, first, columns, result);
  if constexpr (rows > 1) some_rows<rows - 1, vectors>(count, inner, left, panel, first, columns, result);
}

// The first or second half of a_0 b_0 a_1 b_1 ...
template <class T, bool second, int... i>
[[gnu::always_inline]] inline Vector<T> interleave(Vector<T> a, Vector<T> b, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, (i % 2) * width<T> + (second ? width<T> / 2 : 0) + i / 2 ...);
}

// Transposes width x width entries: to[k * to_row + j] = from[j * from_row + k].
template <class T>
void transpose(const T* from, std::int64_t from_row, T* to, std::int64_t to_row) {
  constexpr int size = width<T>;
  constexpr auto indices = std::make_integer_sequence<int, size>();
  Vector<T> now[size];
  Vector<T> next[size];
  for (int i = 0; i < size; ++i) now[i] = load(from + i * from_row);
  for (int half = size / 2; half > 0; half /= 2) {
    for (int i = 0; i < size / 2; ++i) {
      next[2 * i] = interleave<T, false>(now[i], now[i + size / 2], indices);
      next[2 * i + 1] = interleave<T, true>(now[i], now[i + size / 2], indices);
    }
    for (int i = 0; i < size; ++i) now[i] = next[i];
  }
  for (int i = 0; i < size; ++i) store(now[i], to + i * to_row);
}

// panel[k, j] = right(k, j), with zeros beyond the last column.
template <int vectors, class T>
void pack(std::int64_t inner, std::int64_t columns, Matrix<T> right, T* panel) {
  constexpr std::int64_t whole = vectors * width<T>;
  if (columns == whole && right.column == 1) {
    for (std::int64_t k = 0; k < inner; ++k) {
      for (int j = 0; j < vectors; ++j) {
        store(load(right.data + k * right.row + j * width<T>), panel + k * whole + j * width<T>);
      }
    }
    return;
  }
  // Where the inner index is contiguous in memory, whole squares first.
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
      // Three vectors at a time; the last four as two and two, since a tile of one vector is bound by its loads.
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

// Dot products along the inner index, which is contiguous in both factors: whole vectors, then the rest one by one.
template <int rows, int columns, class T>
void dots(std::int64_t inner, Matrix<T> left, Matrix<T> right, T* result, std::int64_t result_row) {
  Vector<T> sums[rows][columns] = {};
  std::int64_t k = 0;
  for (; k + width<T> <= inner; k += width<T>) {
    for (int i = 0; i < rows; ++i) {
      const Vector<T> factor = load(left.data + i * left.row + k);
      for (int j = 0; j < columns; ++j) {
        sums[i][j] += factor * load(right.data + j * right.column + k);
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

// An outer product: one multiplication an entry.
template <class T>
void multiply_outer(std::int64_t rows, std::int64_t columns, Matrix<T> left, const T* __restrict right,
                    T* __restrict result, std::int64_t result_row) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const T factor = left.data[i * left.row];
    for (std::int64_t j = 0; j < columns; ++j) result[i * result_row + j] = factor * right[j];
  }
}

template <class T>
void multiply(std::int64_t rows, std::int64_t columns, std::int64_t inner, Matrix<T> left, Matrix<T> right, T* result,
              std::int64_t result_row) {
  if (inner == 1 && right.column == 1) return multiply_outer(rows, columns, left, right.data, result, result_row);
  const auto vectors = [](std::int64_t entries) { return (entries + width<T> - 1) / width<T>; };
  if (left.row == 1 && rows * vectors(columns) > columns * vectors(rows)) {
    // Many rows, few columns: vectors along the rows have fewer unused entries.
    return multiply_panels<T>(columns, rows, inner, {right.data, right.column, right.row},
                              {left.data, left.column, left.row}, {result, 1, result_row});
  }
  // One or two columns after the last whole vector would cost as much as a whole vector. Where the inner index is long,
  // dot products compute them.
  const std::int64_t after = columns % width<T>;
  const bool with_dots = (after == 1 || after == 2) && inner >= 64 && left.column == 1 && right.row == 1;
  const std::int64_t in_panels = with_dots ? columns - after : columns;
  if (with_dots) {
    const Matrix<T> last = {right.data + in_panels * right.column, right.row, right.column};
    const auto run = after == 1 ? dot_columns<1, T> : dot_columns<2, T>;
    run(rows, inner, left, last, result + in_panels, result_row);
  }
  multiply_panels<T>(rows, in_panels, inner, left, right, {result, result_row, 1});
}

// Lists each unit's active rows: unit j has counts[j] of them, from lists[j * rows] on.
template <class T>
void list_active(std::int64_t rows, std::int64_t units, const T* __restrict activations, const T* __restrict deltas,
                 Active<T>* __restrict lists, std::int64_t* __restrict counts) {
  for (std::int64_t j = 0; j < units; ++j) counts[j] = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < units; ++j) {
      // Written in any case and kept if the unit is active, which avoids a branch that is hard to predict.
      const T* both = deltas + i * 2 * units + j;
      lists[j * rows + counts[j]] = {static_cast<std::int32_t>(i), both[0], both[units]};
      counts[j] += activations[i * units + j] > T{0} ? 1 : 0;
    }
  }
}

// `vectors` vectors of a unit's two rows of the result.
template <int vectors, class T>
void active_tile(std::int64_t count, const Active<T>* list, const T* panel, bool first, std::int64_t columns,
                 Result<T> result) {
  Vector<T> sums[2][vectors];
  begin<2, vectors, T>(sums, first, columns, result);
  for (std::int64_t n = 0; n < count; ++n) {
    const T* row = panel + list[n].row * (vectors * width<T>);
    for (int j = 0; j < vectors; ++j) {
      const Vector<T> right = held(load(row + j * width<T>));
      sums[0][j] += list[n].first * right;
      sums[1][j] += list[n].second * right;
    }
  }
  finish<2, vectors, T>(sums, columns, result);
}

// `count` <= vectors vectors of every unit's rows of the result.
template <int vectors, class T>
void active_panel(std::int64_t count, std::int64_t rows, std::int64_t units, std::int64_t some, std::int64_t row,
                  const Active<T>* lists, const std::int64_t* counts, const T* inputs, bool first, T* result) {
  if constexpr (vectors > 1) {
    if (count < vectors) {
      return active_panel<vectors - 1>(count, rows, units, some, row, lists, counts, inputs, first, result);
    }
  }
  alignas(64) T panel[active_block * vectors * width<T>];
  pack<vectors, T>(rows, some, {inputs, row, 1}, panel);
  for (std::int64_t j = 0; j < units; ++j) {
    active_tile<vectors, T>(counts[j], lists + j * rows, panel, first, some, {result + j * row, units * row, 1});
  }
}

template <class T>
void multiply_active(std::int64_t rows, std::int64_t units, std::int64_t columns, std::int64_t row,
                     const T* activations, const T* deltas, const T* inputs, T* result, Active<T>* lists,
                     std::int64_t* counts) {
  const std::int64_t vectors = (columns + width<T> - 1) / width<T>;
  const std::int64_t panels = (vectors + Tile::active_vectors - 1) / Tile::active_vectors;
  for (std::int64_t from = 0; from < rows; from += active_block) {
    const std::int64_t block = smaller(active_block, rows - from);
    list_active(block, units, activations + from * units, deltas + from * 2 * units, lists, counts);
    for (std::int64_t p = 0; p < panels; ++p) {
      const std::int64_t begin = p * vectors / panels;
      const std::int64_t end = (p + 1) * vectors / panels;
      const std::int64_t column = begin * width<T>;
      active_panel<Tile::active_vectors>(end - begin, block, units, smaller(end * width<T>, columns) - column, row,
                                         lists, counts, inputs + from * row + column, from == 0, result + column);
    }
  }
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

// NOLINTEND(modernize-avoid-c-arrays)
