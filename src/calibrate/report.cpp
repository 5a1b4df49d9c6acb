#include <fmt/format.h>

#include <map>

#include "calibrate/calibrate.hpp"
#include "text/json_writer.hpp"

namespace overlap::calibrate {
namespace {

constexpr std::size_t kShown = 12;  // rejected rows of the text report; the JSON report has all

std::string errors_text(const Errors& e) {
  if (e.n == 0) return fmt::format("{:>22}", "-");
  return fmt::format("{:>+7.2f} {:>6.2f} {:>7.2f}", e.bias_pct, e.median_pct, e.p90_pct);
}

std::string value_text(double v, double sigma) {
  if (sigma <= 0) return fmt::format("{:.5g}", v);
  return fmt::format("{:.5g} +- {:.2g}", v, sigma);
}

void write_errors(JsonWriter& w, std::string_view name, const Errors& e) {
  w.key(name);
  if (e.n == 0) {
    w.null();
    return;
  }
  w.begin_object().key("n").value(e.n).key("bias_pct").value(e.bias_pct);
  w.key("median_ape_pct").value(e.median_pct).key("p90_ape_pct").value(e.p90_pct).end_object();
}

void write_scores(JsonWriter& w, std::string_view name, const std::vector<Score>& scores) {
  w.key(name).begin_list();
  for (const Score& s : scores) {
    w.begin_object().key("name").value(s.name);
    write_errors(w, "training", s.training);
    write_errors(w, "left_out", s.left_out);
    w.end_object();
  }
  w.end_list();
}

void scores_text(std::string& out, std::string_view title, const std::vector<Score>& scores) {
  if (scores.empty()) return;
  out += fmt::format("\n{}\n{:<34} {:>5} {:>22}   {:>5} {:>22}\n", title, "", "n", "training bias/med/p90", "n",
                     "left out bias/med/p90");
  for (const Score& s : scores) {
    out += fmt::format("{:<34} {:>5} {:>22}   {:>5} {:>22}\n", s.name, s.training.n, errors_text(s.training),
                       s.left_out.n, errors_text(s.left_out));
  }
}

}  // namespace

std::string to_text(const Report& r) {
  std::string out = "read\n";
  for (const Source& s : r.inputs.sources) {
    out += fmt::format("  {}: {}, {} rows{}{}\n", s.file, s.format, s.rows,
                       s.rejected > 0 ? fmt::format(", {} rejected", s.rejected) : "",
                       s.device.empty() ? "" : ", " + s.device);
  }
  for (const Fit& f : r.fits) {
    out += fmt::format("\n{}\n", f.name);
    if (f.after.n > 0) {
      out += fmt::format("  {} rows, error in %: base bias/median/p90 {}, fitted {}\n", f.after.n,
                         errors_text(f.before), errors_text(f.after));
    }
    for (const Coefficient& c : f.coefficients) {
      out += fmt::format("  {:<34} {:>22} {:<5} (base {:.5g}; {} rows: {})\n", c.name, value_text(c.value, c.sigma),
                         c.unit, c.before, c.rows, c.from);
    }
    for (const std::string& n : f.notes) out += "  " + n + "\n";
  }
  if (!r.inputs.rejected.empty()) {
    out += fmt::format("\nrejected rows: {}\n", r.inputs.rejected.size());
    for (std::size_t i = 0; i < std::min(kShown, r.inputs.rejected.size()); ++i) {
      out += fmt::format("  {}: {}\n", r.inputs.where(r.inputs.rejected[i].at), r.inputs.rejected[i].why);
    }
    if (r.inputs.rejected.size() > kShown) {
      out +=
          fmt::format("  ... and {} more (--format json or --report lists all)\n", r.inputs.rejected.size() - kShown);
    }
  }
  scores_text(out, "cross-validation, error in %", r.folds);
  scores_text(out, "learning curve, error in %", r.curve);
  for (const std::string& n : r.notes) out += n + "\n";
  for (const std::string& w : r.written) out += "\nwritten: " + w;
  if (!r.written.empty()) out += "\n";
  return out + "\n+- is one standard error\n";
}

std::string to_json(const Report& r) {
  JsonWriter w;
  w.begin_object().key("base").value(r.base).key("sources").begin_list();
  for (const Source& s : r.inputs.sources) {
    w.begin_object().key("file").value(s.file).key("format").value(s.format).key("device").value(s.device);
    w.key("rows").value(s.rows).key("rejected").value(s.rejected).end_object();
  }
  w.end_list().key("fits").begin_list();
  for (const Fit& f : r.fits) {
    w.begin_object().key("name").value(f.name);
    write_errors(w, "base", f.before);
    write_errors(w, "fitted", f.after);
    w.key("coefficients").begin_list();
    for (const Coefficient& c : f.coefficients) {
      w.begin_object().key("name").value(c.name).key("value").value(c.value).key("standard_error").value(c.sigma);
      w.key("unit").value(c.unit).key("base").value(c.before).key("rows").value(c.rows);
      w.key("from").value(c.from).end_object();
    }
    w.end_list().key("notes").begin_list();
    for (const std::string& n : f.notes) w.value(n);
    w.end_list().end_object();
  }
  w.end_list().key("rejected").begin_list();
  for (const Rejected& x : r.inputs.rejected) {
    w.begin_object().key("where").value(r.inputs.where(x.at)).key("why").value(x.why).end_object();
  }
  w.end_list();
  write_scores(w, "cross_validation", r.folds);
  write_scores(w, "learning_curve", r.curve);
  w.key("notes").begin_list();
  for (const std::string& n : r.notes) w.value(n);
  w.end_list().key("written").begin_list();
  for (const std::string& f : r.written) w.value(f);
  return w.end_list().end_object().text() + "\n";
}

}  // namespace overlap::calibrate
