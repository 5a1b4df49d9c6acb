#include "calibrate/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

namespace overlap::calibrate {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  for (const char c : text) {
    if (c != ' ' && c != '\t' && c != '\r') {
      word += c;
    } else if (!word.empty()) {
      out.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) out.push_back(std::move(word));
  return out;
}

std::vector<std::string> csv_fields(std::string_view line, char separator) {
  std::vector<std::string> out;
  std::string field;
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == separator && !quoted) {
      out.emplace_back(trimmed(field));
      field.clear();
    } else {
      field += c;
    }
  }
  out.emplace_back(trimmed(field));
  return out;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    out.push_back(line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::optional<double> number(std::string_view field) {
  field = trimmed(field);
  if (!field.empty() && field.front() == '+') field.remove_prefix(1);
  double v = 0;
  const auto r = std::from_chars(field.data(), field.data() + field.size(), v);
  if (field.empty() || r.ec != std::errc() || r.ptr != field.data() + field.size() || !std::isfinite(v)) {
    return std::nullopt;
  }
  return v;
}

std::string collective_kind(std::string_view text) {
  std::string plain;
  for (const char c : lower(text)) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) plain += c;
  }
  struct Name {
    std::string_view part, kind;
  };
  static constexpr std::array kNames = {Name{"allreduce", "all_reduce"}, Name{"allgather", "all_gather"},
                                        Name{"reducescatter", "reduce_scatter"}, Name{"alltoall", "all_to_all"}};
  for (const Name& n : kNames) {
    if (contains(plain, n.part)) return std::string(n.kind);
  }
  return "";
}

double bus_factor(std::string_view kind, double members) {
  return (kind == "all_reduce" ? 2 : 1) * (members - 1) / members;
}

}  // namespace overlap::calibrate
