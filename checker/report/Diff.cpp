// Unified diffs that `git apply` takes.
#include <algorithm>
#include <cstddef>

#include "checker/report/Report.h"

namespace locktidy {
namespace {

using std::string_view;

constexpr size_t kContext = 3;
// Beyond this many differing lines the middle counts as replaced: the memory of
// the exact search grows with its square.
constexpr ptrdiff_t kMaxDistance = 2000;

// Lines with their ends, so that a missing last line end is a difference.
std::vector<string_view> linesOf(string_view text) {
  std::vector<string_view> lines;
  while (!text.empty()) {
    const size_t newline = text.find('\n');
    const size_t length = newline == string_view::npos ? text.size() : newline + 1;
    lines.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return lines;
}

// Lines [oldBegin, oldEnd) became lines [newBegin, newEnd).
struct Change {
  size_t oldBegin, oldEnd, newBegin, newEnd;
};

void addChange(std::vector<Change>& changes, Change change) {
  if (!changes.empty() && changes.back().oldEnd == change.oldBegin &&
      changes.back().newEnd == change.newBegin) {
    changes.back().oldEnd = change.oldEnd;
    changes.back().newEnd = change.newEnd;
  } else {
    changes.push_back(change);
  }
}

// Myers' greedy algorithm on what is left between the common ends.
std::vector<Change> changesBetween(const std::vector<string_view>& a, const std::vector<string_view>& b) {
  size_t head = 0;
  while (head < std::min(a.size(), b.size()) && a[head] == b[head]) ++head;
  size_t tail = 0;
  while (tail < std::min(a.size(), b.size()) - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    ++tail;
  const auto n = static_cast<ptrdiff_t>(a.size() - head - tail);
  const auto m = static_cast<ptrdiff_t>(b.size() - head - tail);
  if (n == 0 && m == 0) return {};
  const Change whole{head, a.size() - tail, head, b.size() - tail};
  if (n == 0 || m == 0) return {whole};

  // furthest[d][k + d]: how far into `a` d edits get on diagonal k.
  std::vector<std::vector<ptrdiff_t>> furthest;
  ptrdiff_t distance = -1;
  for (ptrdiff_t d = 0; distance < 0; ++d) {
    if (d > std::min(n + m, kMaxDistance)) return {whole};
    std::vector<ptrdiff_t> row(static_cast<size_t>(2 * d + 1));
    for (ptrdiff_t k = -d; k <= d && distance < 0; k += 2) {
      ptrdiff_t x = 0;
      if (d > 0) {
        const auto& above = furthest.back();
        const auto at = [&](ptrdiff_t diagonal) { return above[static_cast<size_t>(diagonal + d - 1)]; };
        const bool insert = k == -d || (k != d && at(k - 1) < at(k + 1));
        x = insert ? at(k + 1) : at(k - 1) + 1;
      }
      while (x < n && x - k < m && x - k >= 0 &&
             a[head + static_cast<size_t>(x)] == b[head + static_cast<size_t>(x - k)])
        ++x;
      row[static_cast<size_t>(k + d)] = x;
      if (x >= n && x - k >= m) distance = d;
    }
    furthest.push_back(std::move(row));
  }

  std::vector<Change> backwards;
  ptrdiff_t x = n, y = m;
  for (ptrdiff_t d = distance; d > 0; --d) {
    const ptrdiff_t k = x - y;
    const auto& above = furthest[static_cast<size_t>(d - 1)];
    const auto at = [&](ptrdiff_t diagonal) { return above[static_cast<size_t>(diagonal + d - 1)]; };
    const bool insert = k == -d || (k != d && at(k - 1) < at(k + 1));
    const ptrdiff_t fromX = insert ? at(k + 1) : at(k - 1);
    const ptrdiff_t fromY = fromX - (insert ? k + 1 : k - 1);
    const auto oldBegin = head + static_cast<size_t>(fromX), newBegin = head + static_cast<size_t>(fromY);
    backwards.push_back({oldBegin, oldBegin + (insert ? 0 : 1), newBegin, newBegin + (insert ? 1 : 0)});
    x = fromX;
    y = fromY;
  }
  std::vector<Change> changes;
  for (auto change = backwards.rbegin(); change != backwards.rend(); ++change) addChange(changes, *change);
  return changes;
}

void appendLine(std::string& out, char sign, string_view line) {
  out += sign;
  out += line;
  if (line.empty() || line.back() != '\n') out += "\n\\ No newline at end of file\n";
}

std::string range(size_t begin, size_t count) {
  // An empty range names the line before it.
  std::string out = std::to_string(count ? begin + 1 : begin);
  if (count != 1) out += ',' + std::to_string(count);
  return out;
}

// Git's C-style quoting, for names that would break the header lines.
std::string quotedName(const std::string& name) {
  const auto odd = [](unsigned char c) { return c < 0x20 || c == 0x7f || c == '"' || c == '\\'; };
  if (std::none_of(name.begin(), name.end(), odd)) return name;
  std::string out = "\"";
  for (char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (odd(byte)) {
      out += '\\';
      for (int shift = 6; shift >= 0; shift -= 3) out += static_cast<char>('0' + (byte >> shift & 7));
    } else {
      out += c;
    }
  }
  return out + '"';
}

void appendFile(std::string& out, const FileEdit& file) {
  const std::vector<string_view> a = linesOf(file.before), b = linesOf(file.after);
  const std::vector<Change> changes = changesBetween(a, b);
  if (changes.empty()) return;

  std::string name = file.patchName.empty() ? file.file : file.patchName;
  while (!name.empty() && name[0] == '/') name.erase(0, 1);
  // A tab ends a name that has spaces in it.
  const char* end = name.find(' ') == std::string::npos ? "\n" : "\t\n";
  const std::string oldName = quotedName("a/" + name), newName = quotedName("b/" + name);
  out += "diff --git " + oldName + ' ' + newName + '\n';
  out += "--- " + oldName + end;
  out += "+++ " + newName + end;

  for (size_t first = 0; first < changes.size();) {
    // Changes whose context would touch share a hunk.
    size_t last = first;
    while (last + 1 < changes.size() && changes[last + 1].oldBegin - changes[last].oldEnd <= 2 * kContext)
      ++last;
    const size_t lead = std::min(kContext, changes[first].oldBegin);
    const size_t trail = std::min(kContext, a.size() - changes[last].oldEnd);
    const size_t oldBegin = changes[first].oldBegin - lead, newBegin = changes[first].newBegin - lead;
    out += "@@ -" + range(oldBegin, changes[last].oldEnd + trail - oldBegin) + " +" +
           range(newBegin, changes[last].newEnd + trail - newBegin) + " @@\n";
    size_t at = oldBegin;
    for (size_t i = first; i <= last; ++i) {
      for (; at < changes[i].oldBegin; ++at) appendLine(out, ' ', a[at]);
      for (; at < changes[i].oldEnd; ++at) appendLine(out, '-', a[at]);
      for (size_t j = changes[i].newBegin; j < changes[i].newEnd; ++j) appendLine(out, '+', b[j]);
    }
    for (const size_t stop = at + trail; at < stop; ++at) appendLine(out, ' ', a[at]);
    first = last + 1;
  }
}

}  // namespace

std::string unifiedDiff(const EditPlan& plan) {
  std::string out;
  for (const FileEdit& file : plan.files) appendFile(out, file);
  return out;
}

}  // namespace locktidy
