// Findings for people: code frames as rustc draws them, then the proof, the
// assumptions and a preview of the fix.
//
//   warning: MESSAGE  [RULE CODE]
//     --> FILE:LINE:COLUMN
//      |
//   31 |   mutable std::mutex mu_;
//      |                      ^^^ LABEL
//
// Everything is laid out on rows of display cells (Row), so that tabs, wide
// characters and odd bytes keep carets where they belong, and so that nothing
// from a source file can reach the terminal as a control sequence.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>

#include "checker/report/Report.h"

namespace locktidy {
namespace {

constexpr size_t kTab = 4;
constexpr size_t kMaxFrames = 6;     // of sections, per finding
constexpr size_t kPerVerdict = 2;    // of these, per verdict
constexpr size_t kMaxAccesses = 3;   // per section
constexpr size_t kMaxHunks = 3;      // of the fix preview
constexpr size_t kMaxHunkLines = 6;  // per side
constexpr uintmax_t kMaxSource = 64u << 20;
constexpr size_t npos = std::string::npos;

// ---------------------------------------------------------------------------
// Cells
enum class Style : uint8_t { Plain, Bold, Gutter, Note, Warning, Error, Secondary, Added, Removed };

const char* escapeOf(Style style) {
  static constexpr const char* kEscapes[] = {"",           "\033[1m",    "\033[1;34m",
                                             "\033[1;36m", "\033[1;33m", "\033[1;31m",
                                             "\033[1;34m", "\033[32m",   "\033[31m"};
  return kEscapes[static_cast<size_t>(style)];
}

Style styleOf(Level level) {
  return level == Level::Error ? Style::Error : level == Level::Warning ? Style::Warning : Style::Note;
}

struct Glyph {
  std::string text;
  size_t width = 1;
};

bool within(uint32_t c, std::initializer_list<std::pair<uint32_t, uint32_t>> ranges) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [c](auto range) { return c >= range.first && c <= range.second; });
}

// Takes one character off `text` at `at`. What is not UTF-8, and what would
// steer the terminal (controls, bidirectional overrides), gets a stand-in.
Glyph nextGlyph(std::string_view text, size_t& at) {
  static const std::string kReplacement = "\xEF\xBF\xBD";
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) {
    ++at;
    if (first == 0x7f) return {"\xE2\x90\xA1"};
    // U+2400 + c is the picture of the control character c.
    if (first < 0x20) return {std::string("\xE2\x90") + static_cast<char>(0x80 + first)};
    return {std::string(1, static_cast<char>(first))};
  }
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  uint32_t code = first & (0x7f >> length);
  bool good = first >= 0xc2 && first <= 0xf4 && at + length <= text.size();
  for (size_t i = 1; good && i < length; ++i) {
    good = (byte(at + i) & 0xc0) == 0x80;
    code = code << 6 | (byte(at + i) & 0x3f);
  }
  if (!good || code < kLeast[length] || code > 0x10ffff || within(code, {{0xd800, 0xdfff}})) {
    ++at;
    return {kReplacement};
  }
  Glyph glyph{std::string(text.substr(at, length))};
  at += length;
  if (within(code, {{0x80, 0x9f}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}}))
    return {kReplacement};
  if (within(code, {{0x300, 0x36f},
                    {0x483, 0x489},
                    {0x591, 0x5bd},
                    {0x610, 0x61a},
                    {0x64b, 0x65f},
                    {0x1ab0, 0x1aff},
                    {0x1dc0, 0x1dff},
                    {0x200b, 0x200d},
                    {0x20d0, 0x20ff},
                    {0xfe00, 0xfe0f},
                    {0xfe20, 0xfe2f},
                    {0xfeff, 0xfeff}}))
    glyph.width = 0;
  else if (within(code, {{0x1100, 0x115f},
                         {0x2e80, 0x303e},
                         {0x3041, 0xa4cf},
                         {0xac00, 0xd7a3},
                         {0xf900, 0xfaff},
                         {0xfe30, 0xfe6f},
                         {0xff00, 0xff60},
                         {0xffe0, 0xffe6},
                         {0x1f300, 0x1f64f},
                         {0x1f900, 0x1f9ff},
                         {0x20000, 0x3fffd}}))
    glyph.width = 2;
  return glyph;
}

size_t widthOf(std::string_view text) {
  size_t width = 0;
  for (size_t at = 0; at < text.size();) width += nextGlyph(text, at).width;
  return width;
}

// One line of output.
class Row {
 public:
  size_t size() const { return cells_.size(); }

  // Text from `column` on, over what is there.
  void put(size_t column, std::string_view text, Style style = Style::Plain) {
    for (size_t at = 0; at < text.size();) column = putGlyph(column, nextGlyph(text, at), style);
  }
  void add(std::string_view text, Style style = Style::Plain) { put(size(), text, style); }

  size_t putGlyph(size_t column, const Glyph& glyph, Style style) {
    if (glyph.width == 0) {  // combines with the cell before
      if (column > 0 && column <= size()) cells_[column - 1].text += glyph.text;
      return column;
    }
    if (size() < column + glyph.width) cells_.resize(column + glyph.width, Cell{" ", Style::Plain});
    cells_[column] = {glyph.text, style};
    for (size_t i = 1; i < glyph.width; ++i) cells_[column + i] = {"", style};
    return column + glyph.width;
  }

  // Appends cells [from, to) of `other`; an ellipsis stands for what is cut off.
  void addWindow(const Row& other, size_t from, size_t to) {
    const size_t first = from + (from > 0 ? 1 : 0);                 // behind the ellipsis
    const size_t last = to < other.size() ? to - 1 : other.size();  // before it
    for (size_t i = from; i < std::min(to, other.size()); ++i) {
      // Half of a wide character cannot be shown.
      const bool secondHalf = other.cells_[i].text.empty();
      const bool firstHalf = i + 1 < other.size() && other.cells_[i + 1].text.empty();
      if (i < first || i >= last) {
        cells_.push_back({"…", Style::Gutter});
      } else if ((secondHalf && i == first) || (firstHalf && i + 1 >= last)) {
        cells_.push_back({" ", Style::Plain});
      } else {
        cells_.push_back(other.cells_[i]);
      }
    }
  }

  void flush(std::string& out, bool color) const {
    size_t end = cells_.size();
    while (end > 0 && cells_[end - 1].text == " ") --end;
    Style now = Style::Plain;
    for (size_t i = 0; i < end; ++i) {
      const Style style = cells_[i].text == " " ? now : cells_[i].style;
      if (color && style != now) {
        if (now != Style::Plain) out += "\033[0m";
        out += escapeOf(style);
        now = style;
      }
      out += cells_[i].text;
    }
    if (now != Style::Plain) out += "\033[0m";
    out += '\n';
  }

 private:
  struct Cell {
    std::string text;
    Style style;
  };
  std::vector<Cell> cells_;
};

// A source line on cells, and where each of its bytes went.
struct SourceRow {
  Row row;
  std::vector<size_t> column;  // of byte i; one more for the end

  explicit SourceRow(std::string_view line, Style style = Style::Plain) {
    size_t at = 0, column = 0;
    while (at < line.size()) {
      const size_t begin = at;
      size_t next;
      if (line[at] == '\t') {
        ++at;
        next = column - column % kTab + kTab;
        row.put(column, std::string(next - column, ' '), style);
      } else {
        next = row.putGlyph(column, nextGlyph(line, at), style);
      }
      this->column.insert(this->column.end(), at - begin, column);
      column = next;
    }
    this->column.push_back(column);
  }
  size_t columnOf(size_t byte) const { return column[std::min(byte, column.size() - 1)]; }
};

// Breaks at spaces into lines of at most `width` cells (longer words stick out).
std::vector<std::string> wrap(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  std::string line;
  size_t used = 0;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const size_t wordWidth = widthOf(word);
    if (!line.empty() && used + 1 + wordWidth > width) {
      lines.push_back(std::move(line));
      line.clear();
      used = 0;
    }
    if (!line.empty()) {
      line += ' ';
      ++used;
    }
    line += word;
    used += wordWidth;
    at = end + 1;
  }
  lines.push_back(std::move(line));
  return lines;
}

// ---------------------------------------------------------------------------
// Sources
struct Source {
  std::string text;
  std::vector<size_t> starts;  // of each line

  // Without its line end; nothing if there is no such line.
  std::optional<std::string_view> line(uint32_t number) const {
    if (number == 0 || number > starts.size()) return std::nullopt;
    const size_t begin = starts[number - 1];
    size_t end = number < starts.size() ? starts[number] : text.size();
    if (end > begin && text[end - 1] == '\n') --end;
    if (end > begin && text[end - 1] == '\r') --end;
    return std::string_view(text).substr(begin, end - begin);
  }
};

class Sources {
 public:
  explicit Sources(std::string root) : root_(std::move(root)) {}

  const Source* get(const std::string& file) {
    const auto [entry, fresh] = files_.try_emplace(file);
    if (fresh) entry->second = load(file);
    return entry->second ? &*entry->second : nullptr;
  }

 private:
  std::optional<Source> load(const std::string& file) const {
    if (file.empty() || file.find('\0') != npos) return std::nullopt;
    const std::filesystem::path path = std::filesystem::path(root_) / file;
    std::error_code error;
    // Reading a pipe or a device could take for ever.
    if (!std::filesystem::is_regular_file(path, error) ||
        std::filesystem::file_size(path, error) > kMaxSource || error)
      return std::nullopt;
    std::ifstream in(path, std::ios::binary);
    if (!in) return std::nullopt;
    Source source;
    source.text.assign(std::istreambuf_iterator<char>(in), {});
    source.starts.push_back(0);
    for (size_t at = 0; (at = source.text.find('\n', at)) != npos;) source.starts.push_back(++at);
    if (source.starts.back() == source.text.size()) source.starts.pop_back();
    return source;
  }

  std::string root_;
  std::map<std::string, std::optional<Source>> files_;
};

// ---------------------------------------------------------------------------
// Frames
struct Mark {
  uint32_t line = 0, column = 0, length = 0;
  bool primary = true;  // ^^^ or ---
  std::string label;
};

struct Frame {
  Place at;
  bool context = false;  // show the line above too
  std::vector<Mark> marks;
};

bool samePlace(const Place& a, const Place& b) {
  return a.file == b.file && a.line == b.line && a.column == b.column;
}

std::string nameOf(const Place& at) {
  return at.file + ':' + std::to_string(at.line) + ':' + std::to_string(at.column);
}

std::string counted(size_t n, const char* one, const char* many) {
  return std::to_string(n) + ' ' + (n == 1 ? one : many);
}

std::string sectionLabel(const SectionNote& section) {
  std::string label = section.verdict.empty() ? "section" : section.verdict + " section";
  if (!section.reason.empty()) label += ": " + section.reason;
  return label;
}

// Where the reader of the section sees the access: itself, or the call to it.
const Place& shownPlace(const AccessNote& access) {
  return access.chain.empty() || !access.chain.front().at.valid() ? access.at : access.chain.front().at;
}

std::string accessLabel(const AccessNote& access, const SectionNote& section) {
  std::string label = access.kind.empty() ? "access" : access.kind;
  if (!access.via.empty()) {
    label += ": " + access.via;
  } else if (!access.path.empty()) {
    label += " of `" + access.path + "`";
  }
  std::string way;
  for (const CallStep& step : access.chain) {
    if (step.function.empty() || step.function == section.function) continue;
    way += (way.empty() ? " through " : " → ") + step.function;
  }
  label += way;
  if (access.at.valid() && !samePlace(shownPlace(access), access.at))
    label += " (" + access.at.file + ':' + std::to_string(access.at.line) + ')';
  return label;
}

Mark markAt(const Place& at, bool primary, std::string label) {
  return {at.line, at.column, at.length, primary, std::move(label)};
}

// Adds the accesses of `section` to the frame of its file, or as frames behind it.
void addAccesses(const SectionNote& section, size_t frame, std::vector<Frame>& frames) {
  size_t taken = 0;
  for (const AccessNote& access : section.accesses) {
    const Place& at = shownPlace(access);
    if (!at.valid() || samePlace(at, section.at)) continue;
    if (++taken > kMaxAccesses) return;
    Mark mark = markAt(at, false, accessLabel(access, section));
    if (at.file == frames[frame].at.file) {
      frames[frame].marks.push_back(std::move(mark));
    } else {
      frames.push_back({at, false, {std::move(mark)}});
    }
  }
}

std::vector<Frame> framesOf(const Finding& finding, std::vector<const SectionNote*>& left) {
  std::vector<Frame> frames;
  if (!finding.at.valid()) return frames;
  frames.push_back({finding.at, false, {markAt(finding.at, true, finding.label)}});
  const Place& lock = finding.lock.at;
  if (lock.valid() && (lock.file != finding.at.file || lock.line != finding.at.line)) {
    std::string label = "`" + finding.lock.name + "` declared here";
    frames.push_back({lock, false, {markAt(lock, false, std::move(label))}});
  }

  std::map<std::string, size_t> shownOf;
  size_t shown = 0;
  for (const SectionNote& section : finding.sections) {
    if (samePlace(section.at, finding.at)) {
      // The finding is at this very section: its accesses explain the carets.
      std::string& label = frames.front().marks.front().label;
      if (label.empty()) label = sectionLabel(section);
      addAccesses(section, 0, frames);
      continue;
    }
    size_t& ofVerdict = shownOf[section.verdict];
    if (!section.at.valid() || shown == kMaxFrames || ofVerdict == kPerVerdict) {
      left.push_back(&section);
      continue;
    }
    ++shown;
    ++ofVerdict;
    frames.push_back({section.at, true, {markAt(section.at, true, sectionLabel(section))}});
    addAccesses(section, frames.size() - 1, frames);
  }
  return frames;
}

// ---------------------------------------------------------------------------
class Writer {
 public:
  Writer(const TextOptions& options, std::string& out)
      : options_(options),
        out_(out),
        sources_(options.root),
        width_(options.width <= 0 ? npos / 2 : static_cast<size_t>(std::max(options.width, 40))) {}

  void finding(const Finding& finding) {
    level_ = styleOf(finding.level);
    Row head;
    head.add(toString(finding.level), level_);
    head.add(": " + finding.message, Style::Bold);
    head.add("  [" + finding.rule + (finding.code.empty() ? "" : " " + finding.code) + "]");
    emit(head);

    std::vector<const SectionNote*> left;
    const std::vector<Frame> frames = framesOf(finding, left);
    gutter_ = 1;
    for (const Frame& frame : frames)
      for (uint32_t line : linesOf(frame)) gutter_ = std::max(gutter_, std::to_string(line).size());
    for (size_t i = 0; i < frames.size(); ++i) this->frame(frames[i], i == 0);

    more(left);
    clauses("because", finding.because);
    const bool numbered = finding.safety == Safety::Likely && !finding.fix.empty();
    if (!numbered) clauses("assumes", finding.assumes);
    if (!finding.evidence.empty() && finding.evidence != "static") clauses("evidence", {finding.evidence});
    if (!finding.fix.empty()) fix(finding, numbered);
    for (const std::string& help : finding.help)
      if (help.rfind("locktidy ", 0) != 0) note("help", {help});
    commands(finding);
  }

 private:
  void emit(const Row& row) { row.flush(out_, options_.color); }

  // The lines of `frame` that can be shown, sorted.
  std::set<uint32_t> linesOf(const Frame& frame) {
    std::set<uint32_t> lines;
    const Source* source = sources_.get(frame.at.file);
    if (!source || !source->line(frame.at.line)) return lines;
    for (const Mark& mark : frame.marks)
      if (source->line(mark.line)) lines.insert(mark.line);
    const auto above = source->line(frame.at.line - 1);
    if (frame.context && above && above->find_first_not_of(" \t") != npos) lines.insert(frame.at.line - 1);
    // A gap of one line costs as much as the line.
    for (uint32_t line : std::vector<uint32_t>(lines.begin(), lines.end()))
      if (lines.count(line + 2) && !lines.count(line + 1)) lines.insert(line + 1);
    return lines;
  }

  Row gutter(const std::string& number = "") const {
    Row row;
    row.put(gutter_ - std::min(gutter_, number.size()), number, Style::Gutter);
    row.put(gutter_ + 1, "|", Style::Gutter);
    return row;
  }
  size_t room() const { return width_ - gutter_ - 3; }

  void frame(const Frame& frame, bool first) {
    const std::set<uint32_t> lines = linesOf(frame);
    Row where;
    where.put(gutter_, first ? "-->" : ":::", Style::Gutter);
    where.add(" " + nameOf(frame.at));
    if (lines.empty()) {  // the file is gone or shorter now: words only
      if (!frame.marks.front().label.empty()) where.add("  " + frame.marks.front().label);
      emit(where);
      return;
    }
    emit(where);
    emit(gutter());
    const Source& source = *sources_.get(frame.at.file);
    uint32_t before = 0;
    for (uint32_t line : lines) {
      if (before && line != before + 1) {
        Row gap;
        gap.add("...", Style::Gutter);
        emit(gap);
      }
      before = line;
      sourceLine(line, *source.line(line), frame.marks);
    }
    emit(gutter());
  }

  struct Span {
    size_t begin, end;  // cells
    bool primary;
    std::vector<std::string> labels;
  };

  void sourceLine(uint32_t number, std::string_view text, const std::vector<Mark>& marks) {
    const SourceRow source(text);
    std::vector<Span> spans;
    for (const Mark& mark : marks) {
      if (mark.line != number) continue;
      const size_t byte = std::min<size_t>(mark.column ? mark.column - 1 : 0, text.size());
      const size_t begin = source.columnOf(byte);
      const size_t end = std::max(begin + 1, source.columnOf(byte + std::max<size_t>(mark.length, 1)));
      auto same =
          std::find_if(spans.begin(), spans.end(), [&](const Span& span) { return span.begin == begin; });
      if (same == spans.end()) same = spans.insert(spans.end(), Span{begin, end, mark.primary, {}});
      same->end = std::max(same->end, end);
      same->primary |= mark.primary;
      const bool known =
          std::find(same->labels.begin(), same->labels.end(), mark.label) != same->labels.end();
      if (!mark.label.empty() && !known) same->labels.push_back(mark.label);
    }
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });

    // Which cells of a long line are shown: those with the first mark.
    size_t from = 0;
    if (source.row.size() > room() && !spans.empty())
      from = windowStart(spans.front().begin, spans.front().end);
    Row row = gutter(std::to_string(number));
    row.add(" ");
    row.addWindow(source.row, from, from + std::min(room(), npos / 2));
    emit(row);
    for (Span& span : spans) {
      span.begin = std::min(span.begin - std::min(span.begin, from), room() - 1);
      span.end = std::clamp(span.end - std::min(span.end, from), span.begin + 1, room());
    }
    if (!spans.empty()) labels(spans);
  }

  size_t windowStart(size_t begin, size_t end) const {
    if (end + 1 <= room()) return 0;
    return begin - std::min(begin, room() / 3);
  }

  // The row of carets with the last mark's label, then the other labels on rows
  // of their own, joined to their marks by bars.
  void labels(const std::vector<Span>& spans) {
    const size_t left = gutter_ + 3;
    Row row = gutter();
    size_t end = 0;
    for (int primary = 0; primary < 2; ++primary) {
      for (const Span& span : spans) {
        if (span.primary != (primary == 1)) continue;
        row.put(left + span.begin, std::string(span.end - span.begin, span.primary ? '^' : '-'),
                styleOf(span));
        end = std::max(end, span.end);
      }
    }
    const Span& last = spans.back();
    const std::string label = joined(last);
    // A label that does not fit beside its caret goes below, where there is room.
    const bool beside = end + 1 + std::min<size_t>(widthOf(label), 24) <= room();
    if (beside && !label.empty()) {
      const std::vector<std::string> lines = wrap(label, room() - end - 1);
      row.put(left + end + 1, lines.front(), styleOf(last));
      emit(row);
      for (size_t i = 1; i < lines.size(); ++i) {
        Row next = bars(spans, spans.size() - 1);
        next.put(left + end + 1, lines[i], styleOf(last));
        emit(next);
      }
    } else {
      emit(row);
    }

    bool joinedYet = false;
    for (size_t i = spans.size() - (beside || label.empty() ? 1 : 0); i-- > 0;) {
      const std::string text = joined(spans[i]);
      if (text.empty()) continue;
      const size_t size = widthOf(text);
      const bool fits = spans[i].begin + std::min<size_t>(size, 24) <= room();
      const size_t column = fits ? spans[i].begin : room() - std::min(size, room());
      if (fits && !joinedYet) emit(bars(spans, i + 1));
      joinedYet |= fits;
      for (const std::string& line : wrap(text, room() - column)) {
        Row next = fits ? bars(spans, i) : gutter();
        next.put(left + column, line, styleOf(spans[i]));
        emit(next);
      }
    }
  }

  // A row with bars below the first `count` marks that still wait for a label.
  Row bars(const std::vector<Span>& spans, size_t count) const {
    Row row = gutter();
    for (size_t i = 0; i < count; ++i)
      if (!spans[i].labels.empty()) row.put(gutter_ + 3 + spans[i].begin, "|", styleOf(spans[i]));
    return row;
  }

  static std::string joined(const Span& span) {
    std::string out;
    for (const std::string& label : span.labels) out += (out.empty() ? "" : "; ") + label;
    return out;
  }
  Style styleOf(const Span& span) const { return span.primary ? level_ : Style::Secondary; }
  static Style styleOf(Level level) { return locktidy::styleOf(level); }

  // "   = TITLE: first line", further lines aligned below it.
  void note(const std::string& title, const std::vector<std::string>& paragraphs) {
    const size_t indent = gutter_ + 1 + 2 + widthOf(title) + 2;
    bool first = true;
    for (const std::string& paragraph : paragraphs) {
      for (const std::string& line : wrap(paragraph, width_ > indent + 20 ? width_ - indent : 20)) {
        Row row;
        if (first) {
          row.put(gutter_ + 1, "=", Style::Gutter);
          row.put(gutter_ + 3, title, Style::Bold);
          row.add(":");
        }
        row.put(indent, line);
        emit(row);
        first = false;
      }
    }
  }

  // "   = TITLE (DETAIL): text", for a title that is too long to align below.
  void wideNote(const std::string& title, const std::string& detail, const std::string& text) {
    const std::string head = " " + detail + (text.empty() ? "" : ": " + text);
    const size_t indent = gutter_ + 5;
    bool first = true;
    for (const std::string& line : wrap(title + head, width_ - indent)) {
      Row row;
      if (first) {
        row.put(gutter_ + 1, "=", Style::Gutter);
        row.put(gutter_ + 3, title, Style::Bold);
        row.add(line.substr(std::min(title.size(), line.size())));
      } else {
        row.put(indent, line);
      }
      emit(row);
      first = false;
    }
  }

  void clauses(const std::string& title, std::vector<std::string> list) {
    for (size_t i = 0; i < list.size(); ++i) {
      while (!list[i].empty() && std::string_view(".; ").find(list[i].back()) != npos) list[i].pop_back();
      list[i] += i + 1 == list.size() ? "." : ";";
    }
    note(title, list);
  }

  void more(const std::vector<const SectionNote*>& left) {
    if (left.empty()) return;
    std::vector<std::pair<std::string, size_t>> counts;  // in the order of the sections
    for (const SectionNote* section : left) {
      const std::string verdict = section->verdict.empty() ? "other" : section->verdict;
      const auto found =
          std::find_if(counts.begin(), counts.end(), [&](auto& c) { return c.first == verdict; });
      if (found == counts.end()) {
        counts.emplace_back(verdict, 1);
      } else {
        ++found->second;
      }
    }
    std::string text;
    for (const auto& [verdict, n] : counts)
      text += (text.empty() ? "" : ", ") + std::to_string(n) + ' ' + verdict;
    note("sections", {std::to_string(left.size()) + " more (" + text + ")"});
  }

  // What to run next, on one line: a rule's own commands and those that always work.
  void commands(const Finding& finding) {
    std::string text;
    const auto add = [&](const std::string& command) { text += (text.empty() ? "" : "  ·  ") + command; };
    const auto given = [&](const std::string& prefix) {
      return std::any_of(finding.help.begin(), finding.help.end(),
                         [&](const std::string& help) { return help.rfind(prefix, 0) == 0; });
    };
    if (!finding.id.empty() && !given("locktidy explain ")) add("locktidy explain " + finding.id);
    for (const std::string& help : finding.help)
      if (help.rfind("locktidy ", 0) == 0) add(help);
    if (!finding.lock.name.empty() && !given("locktidy why "))
      add("locktidy why " + quoted(finding.lock.name));
    if (!text.empty()) note("help", {text});
  }

  static std::string quoted(const std::string& word) {
    const auto plain = [](unsigned char c) {
      return std::isalnum(c) || c >= 0x80 || std::string_view("_:./-").find(static_cast<char>(c)) != npos;
    };
    if (std::all_of(word.begin(), word.end(), plain)) return word;
    std::string out = "'";
    for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
  }

  // -------------------------------------------------------------------------
  // Fix preview
  struct Hunk {
    std::vector<std::string> removed, added;
    size_t edits = 0;
  };

  static std::vector<std::string> splitLines(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      lines.emplace_back(line);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
  }

  static Hunk hunk(std::string_view before, std::string_view after, size_t edits) {
    Hunk hunk{splitLines(before), splitLines(after), edits};
    auto& [removed, added, n] = hunk;
    while (!removed.empty() && !added.empty() && removed.back() == added.back()) {
      removed.pop_back();
      added.pop_back();
    }
    size_t same = 0;
    while (same < std::min(removed.size(), added.size()) && removed[same] == added[same]) ++same;
    removed.erase(removed.begin(), removed.begin() + static_cast<ptrdiff_t>(same));
    added.erase(added.begin(), added.begin() + static_cast<ptrdiff_t>(same));
    return hunk;
  }

  // Edits of one file (sorted, each once) as changed lines; edits on one line
  // are one change. Where the file is gone or differs, only the edited text.
  std::vector<Hunk> hunks(const std::vector<const Edit*>& edits, const Source* source) {
    std::vector<Hunk> out;
    const auto fits = [&](const Edit* edit) {
      return source && edit->offset <= source->text.size() && edit->length == edit->oldText.size() &&
             source->text.compare(edit->offset, edit->length, edit->oldText) == 0;
    };
    if (!std::all_of(edits.begin(), edits.end(), fits)) {
      for (const Edit* edit : edits) out.push_back(hunk(edit->oldText, edit->newText, 1));
      return out;
    }
    const std::string& text = source->text;
    for (size_t i = 0; i < edits.size();) {
      const size_t before = edits[i]->offset ? text.rfind('\n', edits[i]->offset - 1) : npos;
      const size_t begin = before == npos ? 0 : before + 1;
      std::string after;
      size_t copied = begin, lineEnd = begin, first = i;
      for (; i < edits.size() && (i == first || edits[i]->offset < lineEnd); ++i) {
        const size_t offset = std::max<size_t>(edits[i]->offset, copied);
        const size_t end = edits[i]->offset + edits[i]->length;
        after.append(text, copied, offset - copied);
        after += edits[i]->newText;
        copied = std::max(copied, end);
        const bool wholeLine = edits[i]->length > 0 && text[end - 1] == '\n';
        const size_t newline = wholeLine ? end - 1 : text.find('\n', end);
        lineEnd = std::max(lineEnd, newline == npos ? text.size() : newline + 1);
      }
      if (lineEnd > copied) after.append(text, copied, lineEnd - copied);
      out.push_back(hunk(std::string_view(text).substr(begin, lineEnd - begin), after, i - first));
    }
    return out;
  }

  void previewLines(const std::vector<std::string>& lines, const std::vector<std::string>& others,
                    bool added) {
    const Style style = added ? Style::Added : Style::Removed;
    const size_t left = gutter_ + 3 + 2;
    const size_t space = width_ - left;
    for (size_t i = 0; i < lines.size() && i < kMaxHunkLines; ++i) {
      const SourceRow source(lines[i], style);
      size_t from = 0;
      if (source.row.size() > space && i < others.size()) {
        const auto differ =
            std::mismatch(lines[i].begin(), lines[i].end(), others[i].begin(), others[i].end());
        const size_t column = source.columnOf(static_cast<size_t>(differ.first - lines[i].begin()));
        if (column + 20 > space) from = column - std::min(column, space / 3);
      }
      Row row;
      row.put(gutter_ + 3, "|", Style::Gutter);
      row.add(added ? "+" : "-", style);
      row.addWindow(source.row, from, from + std::min(space, npos / 2));
      emit(row);
    }
    if (lines.size() > kMaxHunkLines)
      previewNote("… " + counted(lines.size() - kMaxHunkLines, "more line", "more lines"));
  }

  void previewNote(const std::string& text) {
    Row row;
    row.put(gutter_ + 3, "|", Style::Gutter);
    row.add(" " + text);
    emit(row);
  }

  void fix(const Finding& finding, bool numbered) {
    const Fix& fix = finding.fix;
    struct FileFix {
      std::vector<const Edit*> edits;
      std::set<std::string> headers;
    };
    std::map<std::string, FileFix> files;
    for (const Edit& edit : fix.edits) files[edit.file].edits.push_back(&edit);
    for (const IncludeEdit& include : fix.includes) {
      const Source* source = sources_.get(include.file);
      if (source && placeInclude(source->text, include.header).present) continue;
      files[include.file].headers.insert(include.header);
    }
    size_t total = 0;
    for (auto& [file, change] : files) {
      const auto key = [](const Edit* e) { return std::tie(e->offset, e->length, e->newText); };
      auto& edits = change.edits;
      std::sort(edits.begin(), edits.end(), [&](auto* a, auto* b) { return key(a) < key(b); });
      edits.erase(std::unique(edits.begin(), edits.end(), [&](auto* a, auto* b) { return key(a) == key(b); }),
                  edits.end());
      total += edits.size() + change.headers.size();
    }

    const std::string detail = "(" + std::string(toString(fix.safety)) + ", " +
                               counted(total, "edit", "edits") + " in " +
                               counted(files.size(), "file", "files") + ")";
    std::string text = fix.title;
    if (numbered && !finding.assumes.empty())
      text += (text.empty() ? "" : "; ") + counted(finding.assumes.size(), "assumption", "assumptions");
    wideNote("fix", detail, text);
    if (numbered) {
      for (size_t i = 0; i < finding.assumes.size(); ++i) {
        const std::string number = std::to_string(i + 1) + ". ";
        const size_t indent = gutter_ + 3 + number.size();
        bool first = true;
        for (const std::string& line : wrap(finding.assumes[i], width_ - indent)) {
          Row row;
          if (first) row.put(gutter_ + 3, number);
          row.put(indent, line);
          emit(row);
          first = false;
        }
      }
    }

    size_t shown = 0, shownHunks = 0;
    for (const auto& [file, change] : files) {
      if (!options_.showFix || shownHunks >= kMaxHunks) break;
      previewNote(file);
      for (const std::string& header : change.headers) {
        previewLines({"#include " + header}, {}, true);
        ++shown;
      }
      for (const Hunk& hunk : hunks(change.edits, sources_.get(file))) {
        if (shownHunks >= kMaxHunks) break;
        ++shownHunks;
        shown += hunk.edits;
        previewLines(hunk.removed, hunk.added, false);
        previewLines(hunk.added, hunk.removed, true);
      }
    }
    if (shown >= total) return;
    std::string rest = "… " + std::to_string(total - shown) +
                       (shown        ? " more"
                        : total == 1 ? " edit"
                                     : " edits");
    // No command applies a candidate.
    if (!finding.id.empty() && fix.safety != Safety::Candidate)
      rest += std::string(":  locktidy fix --diff") + (fix.safety == Safety::Likely ? " --unsafe" : "") +
              " --only " + finding.id;
    previewNote(rest);
  }

  const TextOptions& options_;
  std::string& out_;
  Sources sources_;
  size_t width_;
  size_t gutter_ = 1;
  Style level_ = Style::Warning;
};

}  // namespace

std::string emitText(const Result& result, const TextOptions& options) {
  std::string out;
  TextOptions used = options;
  if (used.root.empty()) used.root = result.root;
  Writer writer(used, out);
  size_t shown = result.findings.size();
  if (options.maxFindings > 0) shown = std::min<size_t>(shown, static_cast<size_t>(options.maxFindings));
  for (size_t i = 0; i < shown; ++i) {
    if (i) out += '\n';
    writer.finding(result.findings[i]);
  }
  if (shown < result.findings.size())
    out += "\n… " + counted(result.findings.size() - shown, "more finding", "more findings") +
           ": --max-findings 0\n";
  return out;
}

}  // namespace locktidy
