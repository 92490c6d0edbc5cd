// SPDX-License-Identifier: BSD-2-Clause
// Solves tridiagonal systems by elimination without pivoting (Thomas). No global state: threads may call it together.
#include <stdint.h>
#include <stdlib.h>

// Solve A x = b, or A^T x = b if `transposed`, with A[i][i-1] = lower[i], A[i][i] = diagonal[i], A[i][i+1] = upper[i].
// All arrays have n elements; lower[0] and upper[n-1] are not read.
// Returns 0, or i + 1 if the pivot of row i is zero, or -1 without memory.
int64_t tridiagonal_solve(const double *lower, const double *diagonal, const double *upper, const double *b, double *x,
                          int64_t n, int transposed) {
  if (n == 0) return 0;
  double *ratio = malloc((size_t)n * sizeof *ratio);  // what is left of the superdiagonal, over the pivot
  if (!ratio) return -1;
  int64_t status = 0;
  for (int64_t i = 0; i < n && !status; ++i) {
    const double below = i == 0 ? 0.0 : transposed ? upper[i - 1] : lower[i];
    const double above = i == n - 1 ? 0.0 : transposed ? lower[i + 1] : upper[i];
    const double pivot = i == 0 ? diagonal[i] : diagonal[i] - below * ratio[i - 1];
    if (pivot == 0.0) status = i + 1;
    ratio[i] = above / pivot;
    x[i] = (i == 0 ? b[i] : b[i] - below * x[i - 1]) / pivot;
  }
  for (int64_t i = n - 2; i >= 0 && !status; --i) x[i] -= ratio[i] * x[i + 1];
  free(ratio);
  return status;
}
