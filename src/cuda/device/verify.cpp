// Inputs, poison, and the comparison with Y = X W in float64.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "cuda/device/input_value.hpp"
#include "cuda/device/program.hpp"
#include "overlap/error.hpp"

namespace overlap::gpu {
namespace {

constexpr std::uint64_t kWholeCheck = 200'000'000;  // multiply-adds up to which every element is checked
constexpr std::uint32_t kSampleRows = 12;
constexpr std::uint32_t kSampleCols = 48;
constexpr int kPoison = 0xff;  // NaN in bf16, f16 and f32

std::uint32_t inner_extent(const OpGraph& graph, std::uint32_t problem) {
  std::uint32_t k = 0;
  for (const Placement& p : graph.inputs()) {
    if (p.matrix == Matrix::x && p.problem == problem) k = std::max(k, p.global_col + p.slice.cols);
  }
  return k;
}

// Extents of a problem: columns of X, and, where it has no W, columns of Y. A problem without W sums the columns of X
// that fall on the same column of Y when they are dealt out in turn: gathered shards, or shards that are reduced.
struct Extents {
  std::uint32_t inner = 0;
  std::uint32_t out = 0;
  bool has_w = false;
};

Extents extents(const OpGraph& graph, std::uint32_t problem) {
  Extents e;
  e.inner = inner_extent(graph, problem);
  for (const Placement& p : graph.inputs()) e.has_w = e.has_w || (p.matrix == Matrix::w && p.problem == problem);
  for (const Placement& p : graph.outputs()) {
    if (p.problem == problem) e.out = std::max(e.out, p.global_col + p.slice.cols);
  }
  return e;
}

std::vector<std::uint32_t> places(std::uint32_t extent, std::uint32_t wanted, std::uint64_t seed) {
  std::vector<std::uint32_t> out;
  if (extent <= wanted) {
    for (std::uint32_t i = 0; i < extent; ++i) out.push_back(i);
    return out;
  }
  for (std::uint32_t i = 0; i < wanted; ++i) {
    const std::uint64_t begin = std::uint64_t{extent} * i / wanted;
    const std::uint64_t size = std::uint64_t{extent} * (i + 1) / wanted - begin;
    out.push_back(static_cast<std::uint32_t>(begin + (seed * 2654435761U + i * 40503U) % size));
  }
  return out;
}

float bf16_value(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

float f16_value(std::uint16_t bits) {
  const std::uint32_t exponent = bits >> 10U & 31U;
  const auto mantissa = static_cast<float>(bits & 1023U);
  const float sign = (bits & 0x8000U) != 0 ? -1.0F : 1.0F;
  if (exponent == 31) return mantissa != 0 ? std::numeric_limits<float>::quiet_NaN() : sign * HUGE_VALF;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024.0F + mantissa, static_cast<int>(exponent) - 25);
}

double element(const std::vector<char>& row, DType type, std::size_t i) {
  if (type == DType::f32) {
    float v = 0;
    std::copy_n(row.data() + i * 4, 4, reinterpret_cast<char*>(&v));
    return static_cast<double>(v);
  }
  std::uint16_t bits = 0;
  std::copy_n(row.data() + i * 2, 2, reinterpret_cast<char*>(&bits));
  return static_cast<double>(type == DType::bf16 ? bf16_value(bits) : f16_value(bits));
}

struct Norms {
  double difference = 0;
  double reference = 0;
  bool finite = true;
  void add(double got, double want) {
    if (!std::isfinite(got)) finite = false;
    difference += (got - want) * (got - want);
    reference += want * want;
  }
};

// Columns of W, or the input's own values, that a placement's sampled elements need.
class Expected {
 public:
  Expected(const OpGraph& graph, const Placement& p, std::uint64_t seed, const std::vector<std::uint32_t>& cols)
      : place_(p), x_(input_stream(seed, 0, p.problem)), w_(input_stream(seed, 1, p.problem)) {
    if (p.matrix != Matrix::y) return;
    extents_ = extents(graph, p.problem);
    k_ = extents_.inner;
    if (!extents_.has_w) return;
    for (const std::uint32_t c : cols) {
      for (std::uint32_t k = 0; k < k_; ++k) columns_.push_back(input_value(w_, k, p.global_col + c));
    }
  }
  void row(std::uint32_t r, const std::vector<std::uint32_t>& cols, std::vector<double>& out) const {
    out.assign(cols.size(), 0.0);
    const std::uint32_t row = place_.global_row + r;
    if (place_.matrix != Matrix::y) {
      for (std::size_t i = 0; i < cols.size(); ++i) {
        out[i] =
            static_cast<double>(input_value(place_.matrix == Matrix::x ? x_ : w_, row, place_.global_col + cols[i]));
      }
      return;
    }
    if (!extents_.has_w) {
      for (std::size_t i = 0; i < cols.size(); ++i) {
        for (std::uint32_t k = place_.global_col + cols[i]; k < k_; k += extents_.out) {
          out[i] += static_cast<double>(input_value(x_, row, k));
        }
      }
      return;
    }
    std::vector<float> x(k_);
    for (std::uint32_t k = 0; k < k_; ++k) x[k] = input_value(x_, row, k);
    for (std::size_t i = 0; i < cols.size(); ++i) {
      const float* w = columns_.data() + i * k_;
      double sum = 0;
      for (std::uint32_t k = 0; k < k_; ++k) sum += static_cast<double>(x[k]) * static_cast<double>(w[k]);
      out[i] = sum;
    }
  }

 private:
  Placement place_;
  std::uint64_t x_;
  std::uint64_t w_;
  Extents extents_;
  std::uint32_t k_ = 0;
  std::vector<float> columns_;
};

void compare(const Machine& m, const Placement& p, std::uint64_t seed, bool whole, Norms& norms) {
  const Slice& s = p.slice;
  const DType type = m.graph.buffer(s.buffer).dtype;
  const auto size = static_cast<std::uint64_t>(size_of(type).si());
  const auto rows = places(s.rows, whole ? s.rows : kSampleRows, seed);
  const auto cols = places(s.cols, whole ? s.cols : kSampleCols, seed + 1);
  const Expected expected(m.graph, p, seed, cols);
  std::vector<char> got(s.cols * size);
  std::vector<double> want;
  for (const std::uint32_t r : rows) {
    Slice one = s;
    one.row += r;
    one.rows = 1;
    check(gpuMemcpy(got.data(), m.address(one), got.size(), gpuMemcpyDefault), "cudaMemcpy");
    expected.row(r, cols, want);
    for (std::size_t i = 0; i < cols.size(); ++i) norms.add(element(got, type, cols[i]), want[i]);
  }
}

}  // namespace

void Program::fill(std::uint64_t seed) {
  seed_ = seed;
  for (std::size_t i = 0; i < machine_.graph.buffers().size(); ++i) {
    const Allocation& a = machine_.plan.buffers[i];
    check(gpuSetDevice(static_cast<int>(a.gpu)), "cudaSetDevice");
    if (a.bytes > 0) check(gpuMemset(machine_.address(BufferId(i)), kPoison, a.bytes), "cudaMemset");
  }
  machine_.session.wait_for_all();  // the streams below do not wait for the default stream's memset
  for (const Placement& p : machine_.graph.inputs()) {
    const Buffer& b = machine_.graph.buffer(p.slice.buffer);
    const std::uint32_t gpu = machine_.plan.buffers[p.slice.buffer.index()].gpu;
    check(gpuSetDevice(static_cast<int>(gpu)), "cudaSetDevice");
    launch_fill(machine_.address(p.slice), b.cols, p.slice.rows, p.slice.cols, element_of(b.dtype),
                input_stream(seed, p.matrix == Matrix::x ? 0 : 1, p.problem), p.global_row, p.global_col,
                machine_.session.stream(gpu, 0, 0));
  }
  machine_.session.wait_for_all();
}

double Program::error() {
  std::uint64_t work = 0;
  for (const Placement& p : machine_.graph.outputs()) {
    work += p.slice.elements() * (p.matrix == Matrix::y ? inner_extent(machine_.graph, p.problem) : 1);
  }
  Norms norms;
  for (const Placement& p : machine_.graph.outputs()) compare(machine_, p, seed_, work <= kWholeCheck, norms);
  if (!norms.finite) return std::numeric_limits<double>::infinity();
  if (norms.reference == 0) return norms.difference == 0 ? 0.0 : std::numeric_limits<double>::infinity();
  return std::sqrt(norms.difference / norms.reference);
}

}  // namespace overlap::gpu
