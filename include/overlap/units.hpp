// Strong physical quantities. A value knows its dimension (time, bytes, flop); arithmetic that does not
// match in dimension does not compile (tests/compile_fail). Stored in SI base units as double: seconds,
// bytes, floating-point operations. GB = 1e9 bytes and GiB = 2^30 bytes everywhere.
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace overlap {

template <int T, int B, int F>
class Quantity;

namespace detail {
template <int T, int B, int F>
struct QuantityOf {
  using type = Quantity<T, B, F>;
};
template <>
struct QuantityOf<0, 0, 0> {
  using type = double;  // a pure ratio is a plain number
};
}  // namespace detail

template <int T, int B, int F>
using QuantityT = typename detail::QuantityOf<T, B, F>::type;

// time^T * bytes^B * flop^F
template <int T, int B, int F>
class Quantity {
 public:
  constexpr Quantity() = default;
  explicit constexpr Quantity(double si) : si_(si) {}
  // Value in SI base units (seconds, bytes, flop and their quotients).
  [[nodiscard]] constexpr double si() const { return si_; }

  constexpr Quantity& operator+=(Quantity o) {
    si_ += o.si_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity o) {
    si_ -= o.si_;
    return *this;
  }
  constexpr Quantity& operator*=(double f) {
    si_ *= f;
    return *this;
  }
  constexpr Quantity& operator/=(double f) {
    si_ /= f;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.si_ + b.si_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.si_ - b.si_); }
  friend constexpr Quantity operator-(Quantity a) { return Quantity(-a.si_); }
  friend constexpr Quantity operator*(Quantity a, double f) { return Quantity(a.si_ * f); }
  friend constexpr Quantity operator*(double f, Quantity a) { return Quantity(f * a.si_); }
  friend constexpr Quantity operator/(Quantity a, double f) { return Quantity(a.si_ / f); }
  friend constexpr auto operator<=>(Quantity a, Quantity b) = default;

 private:
  double si_ = 0.0;
};

template <int T1, int B1, int F1, int T2, int B2, int F2>
constexpr auto operator*(Quantity<T1, B1, F1> a, Quantity<T2, B2, F2> b) {
  return QuantityT<T1 + T2, B1 + B2, F1 + F2>(a.si() * b.si());
}
template <int T1, int B1, int F1, int T2, int B2, int F2>
constexpr auto operator/(Quantity<T1, B1, F1> a, Quantity<T2, B2, F2> b) {
  return QuantityT<T1 - T2, B1 - B2, F1 - F2>(a.si() / b.si());
}
template <int T, int B, int F>
constexpr auto operator/(double a, Quantity<T, B, F> b) {
  return QuantityT<-T, -B, -F>(a / b.si());
}

using Seconds = Quantity<1, 0, 0>;
using Bytes = Quantity<0, 1, 0>;
using Flops = Quantity<0, 0, 1>;       // a count of operations
using Bandwidth = Quantity<-1, 1, 0>;  // bytes per second
using FlopRate = Quantity<-1, 0, 1>;   // operations per second
using Frequency = Quantity<-1, 0, 0>;  // hertz

inline constexpr Seconds kForever{1e300};

namespace literals {
constexpr Seconds operator""_s(long double v) {
  return Seconds(static_cast<double>(v));
}
constexpr Seconds operator""_s(unsigned long long v) {
  return Seconds(static_cast<double>(v));
}
constexpr Seconds operator""_us(long double v) {
  return Seconds(static_cast<double>(v) * 1e-6);
}
constexpr Seconds operator""_us(unsigned long long v) {
  return Seconds(static_cast<double>(v) * 1e-6);
}
constexpr Bytes operator""_B(unsigned long long v) {
  return Bytes(static_cast<double>(v));
}
constexpr Bytes operator""_MiB(unsigned long long v) {
  return Bytes(static_cast<double>(v) * 1048576.0);
}
constexpr Bandwidth operator""_GBps(long double v) {
  return Bandwidth(static_cast<double>(v) * 1e9);
}
constexpr Bandwidth operator""_GBps(unsigned long long v) {
  return Bandwidth(static_cast<double>(v) * 1e9);
}
constexpr FlopRate operator""_TFLOPs(unsigned long long v) {
  return FlopRate(static_cast<double>(v) * 1e12);
}
}  // namespace literals

// Text with a fitting unit and 4 significant digits: "1.234 ms", "397.0 GB/s", "64.00 MiB", "989.0 TFLOP/s".
std::string to_text(Seconds v);
std::string to_text(Bytes v);
std::string to_text(Flops v);
std::string to_text(Bandwidth v);
std::string to_text(FlopRate v);
std::string to_text(Frequency v);

// Reads "450 GB/s", "400 Gb/s" (bits), "1.7 us", "80 GiB", "989 TFLOP/s", "1.98 GHz". Throws UnitError with the
// units that the dimension knows if the unit is missing, unknown or of another dimension, or if the number is not
// finite. The sign is not judged here.
Seconds parse_seconds(std::string_view text);
Bytes parse_bytes(std::string_view text);
Bandwidth parse_bandwidth(std::string_view text);
FlopRate parse_flop_rate(std::string_view text);
Frequency parse_frequency(std::string_view text);

}  // namespace overlap
