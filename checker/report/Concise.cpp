// One line per finding and per section, for grep, problem matchers and editors
// (errorformat `%f:%l:%c: %t%*[^:]: %m`), and the summary line.
#include "checker/report/Report.h"

namespace locktidy {
namespace {

// A line end inside a message would start a line that no matcher understands.
void appendOneLine(std::string& out, std::string_view text) {
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f ? ' ' : c;
  }
}

void appendPlace(std::string& out, const Place& at) {
  appendOneLine(out, at.valid() ? std::string_view(at.file) : std::string_view("<program>"));
  out += ':' + std::to_string(at.line) + ':' + std::to_string(at.column) + ": ";
}

bool samePlace(const Place& a, const Place& b) {
  return a.file == b.file && a.line == b.line && a.column == b.column;
}

std::string counted(size_t n, const char* one, const char* many) {
  return std::to_string(n) + ' ' + (n == 1 ? one : many);
}

}  // namespace

std::string_view toString(Level level) {
  static constexpr std::string_view kNames[] = {"off", "note", "warning", "error"};
  return kNames[static_cast<size_t>(level)];
}

std::string_view toString(Safety safety) {
  static constexpr std::string_view kNames[] = {"safe", "likely", "candidate"};
  return kNames[static_cast<size_t>(safety)];
}

std::string emitConcise(const Result& result) {
  std::string out;
  for (const Finding& finding : result.findings) {
    appendPlace(out, finding.at);
    out += toString(finding.level);
    out += ": ";
    appendOneLine(out, finding.message);
    out += " [" + finding.rule + "] (" + finding.id + ", ";
    if (finding.fix.empty()) {
      out += toString(finding.safety);
    } else {
      out += toString(finding.fix.safety);
      out += " fix";
    }
    out += ")\n";
    for (const SectionNote& section : finding.sections) {
      if (!section.at.valid() || samePlace(section.at, finding.at)) continue;
      appendPlace(out, section.at);
      out += "note: ";
      appendOneLine(out, section.verdict.empty() ? std::string("section") : section.verdict + " section");
      if (!section.reason.empty()) {
        out += ": ";
        appendOneLine(out, section.reason);
      }
      out += " [" + finding.rule + "]\n";
    }
  }
  return out;
}

std::string summaryLine(const Result& result, size_t hiddenUnsafe) {
  const Coverage& coverage = result.coverage;
  std::string out = "analysed " + std::to_string(coverage.ok) + '/' + std::to_string(coverage.tus) +
                    (coverage.tus == 1 ? " TU" : " TUs");
  std::string bad;
  if (coverage.degraded) bad += std::to_string(coverage.degraded) + " degraded";
  if (coverage.failed) bad += (bad.empty() ? "" : ", ") + std::to_string(coverage.failed) + " failed";
  if (!bad.empty()) out += " (" + bad + ')';
  out += ", " + counted(coverage.locks, "lock", "locks") + "; " +
         counted(result.findings.size(), "finding", "findings");

  size_t safe = 0;
  for (const Finding& finding : result.findings)
    if (!finding.fix.empty() && finding.fix.safety == Safety::Safe) ++safe;
  std::string fixes;
  if (safe) fixes = counted(safe, "safe fix", "safe fixes");
  if (hiddenUnsafe)
    fixes += (fixes.empty() ? "" : ", ") + std::to_string(hiddenUnsafe) + " hidden unsafe: --unsafe";
  if (!fixes.empty()) out += " (" + fixes + ')';
  return out;
}

}  // namespace locktidy
