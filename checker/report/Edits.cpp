// From fixes to whole new file contents, in memory.
#include <openssl/evp.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "checker/report/Report.h"

namespace locktidy {
namespace {

namespace fs = std::filesystem;

// An edit that was taken, and who asked for it first.
struct Taken {
  size_t offset, length;
  std::string newText;
  std::string group;
  size_t end() const { return offset + length; }
};

struct FileState {
  std::string name;  // the least of the names it was given
  std::string patchName;
  std::string before;
  std::string sha256;        // of `before`, once asked for
  std::vector<Taken> edits;  // sorted by offset, insertions first
  std::set<std::string> headers;
};

bool comesBefore(const Taken& a, const Taken& b) {
  return a.offset != b.offset ? a.offset < b.offset : a.length < b.length;
}

bool conflict(const Taken& a, const Taken& b) {
  // Two insertions at one place: nobody knows which goes first. An insertion at
  // either end of a replaced range is no conflict.
  if (a.length == 0 && b.length == 0) return a.offset == b.offset;
  return a.offset < b.end() && b.offset < a.end();
}

bool isHeader(const std::string& header) {
  const size_t n = header.size();
  const bool closed =
      n > 2 && ((header[0] == '<' && header[n - 1] == '>') || (header[0] == '"' && header[n - 1] == '"'));
  return closed && header.substr(1, n - 2).find_first_of("<>\"\r\n") == std::string::npos;
}

class Planner {
 public:
  explicit Planner(const std::string& root) : root_(root.empty() ? "." : root) {
    std::error_code error;
    realRoot_ = fs::canonical(root_, error);
    if (error) realRoot_ = root_;
  }

  // Takes the fixes of one group, or none of them and says why.
  bool take(const std::string& group, const std::vector<const Fix*>& fixes, std::string& reason) {
    std::map<std::string, FileState> staged;  // copies of the states this group touches
    const auto stage = [&](const std::string& name) -> FileState* {
      FileState* state = open(name, reason);
      if (!state) return nullptr;
      return &staged.try_emplace(realOf_[name], *state).first->second;
    };
    for (const Fix* fix : fixes) {
      for (const Edit& edit : fix->edits) {
        FileState* state = stage(edit.file);
        if (!state || !check(*state, edit, reason) || !add(*state, edit, group, reason)) return false;
      }
      for (const IncludeEdit& include : fix->includes) {
        FileState* state = stage(include.file);
        if (!state) return false;
        if (!isHeader(include.header)) {
          reason = "bad header name " + include.header;
          return false;
        }
        state->headers.insert(include.header);
      }
    }
    for (auto& [real, state] : staged) files_[real] = std::move(state);
    return true;
  }

  std::vector<FileEdit> finish() {
    std::vector<FileEdit> out;
    for (auto& [real, state] : files_) {
      FileEdit file{state.name, state.before, applied(state), state.patchName};
      if (file.before != file.after) out.push_back(std::move(file));
    }
    std::sort(out.begin(), out.end(), [](const FileEdit& a, const FileEdit& b) { return a.file < b.file; });
    return out;
  }

 private:
  // Keyed by the real path: a header reached by two names is edited once.
  FileState* open(const std::string& name, std::string& reason) {
    std::error_code error;
    std::string& real = realOf_[name];
    if (real.empty()) {
      const fs::path path = fs::canonical(root_ / name, error);
      if (!error) real = path.string();
    }
    const auto known = files_.find(real);
    if (!real.empty() && known != files_.end()) {
      known->second.name = std::min(known->second.name, name);
      return &known->second;
    }
    if (!error && !real.empty() && !fs::is_regular_file(real, error) && !error) {
      reason = "cannot read " + name + ": not a regular file";
      return nullptr;
    }
    std::ifstream in;
    if (!error) in.open(real, std::ios::binary);
    if (error || !in) {
      reason = "cannot read " + name + ": " + (error ? error.message() : std::string("no permission"));
      return nullptr;
    }
    FileState state;
    state.name = name;
    state.before.assign(std::istreambuf_iterator<char>(in), {});
    // Git does not patch through symbolic links, so a patch names the real file.
    const fs::path relative = fs::path(real).lexically_relative(realRoot_);
    const bool below = !relative.empty() && *relative.begin() != "..";
    state.patchName = below ? relative.string() : fs::path(real).relative_path().string();
    return &files_.emplace(real, std::move(state)).first->second;
  }

  static bool check(FileState& state, const Edit& edit, std::string& reason) {
    if (!edit.sha256.empty()) {
      if (state.sha256.empty()) state.sha256 = sha256Hex(state.before);
      if (state.sha256 != edit.sha256) {
        reason = edit.file + " changed since it was analysed";
        return false;
      }
    }
    const size_t size = state.before.size();
    if (edit.length != edit.oldText.size() || edit.offset > size || edit.length > size - edit.offset ||
        state.before.compare(edit.offset, edit.length, edit.oldText) != 0) {
      const size_t end = edit.oldText.find_first_of("\r\n");
      reason = edit.file + ':' + std::to_string(edit.line) + " does not read `" +
               edit.oldText.substr(0, end) + (end == std::string::npos ? "" : "…") + "` any more";
      return false;
    }
    return true;
  }

  static bool add(FileState& state, const Edit& edit, const std::string& group, std::string& reason) {
    Taken taken{edit.offset, edit.length, edit.newText, group};
    for (const Taken& other : state.edits) {
      if (other.offset == taken.offset && other.length == taken.length && other.newText == taken.newText)
        return true;
      if (!conflict(other, taken)) continue;
      reason = "overlaps " + (other.group == group ? std::string("itself") : "an edit of " + other.group) +
               " at " + edit.file + ':' + std::to_string(edit.line);
      return false;
    }
    state.edits.insert(std::upper_bound(state.edits.begin(), state.edits.end(), taken, comesBefore),
                       std::move(taken));
    return true;
  }

  // Includes go into the edited text, one by one: each sees those before it.
  static std::string applied(const FileState& state) {
    std::string out;
    size_t copied = 0;
    for (const Taken& edit : state.edits) {
      out.append(state.before, copied, edit.offset - copied);
      out += edit.newText;
      copied = edit.end();
    }
    out.append(state.before, copied);
    size_t limit = state.edits.empty() ? std::string::npos : state.edits.front().offset;
    for (const std::string& header : state.headers) {
      const IncludePlace place = placeInclude(out, header, limit);
      if (place.present) continue;
      out.insert(place.offset, place.text);
      if (limit != std::string::npos) limit += place.text.size();
    }
    return out;
  }

  fs::path root_, realRoot_;
  std::map<std::string, std::string> realOf_;  // name -> real path
  std::map<std::string, FileState> files_;     // by real path
};

}  // namespace

EditPlan planEdits(const std::vector<Fix>& fixes, const std::string& root) {
  std::vector<std::pair<std::string, std::vector<const Fix*>>> groups;  // in order of first use
  std::map<std::string, size_t> numberOf;
  for (const Fix& fix : fixes) {
    if (fix.empty()) continue;
    if (fix.group.empty()) {
      groups.push_back({fix.title, {&fix}});
      continue;
    }
    const auto [entry, fresh] = numberOf.try_emplace(fix.group, groups.size());
    if (fresh) groups.push_back({fix.group, {}});
    groups[entry->second].second.push_back(&fix);
  }

  EditPlan plan;
  Planner planner(root);
  for (const auto& [name, members] : groups) {
    std::string reason;
    if (planner.take(name, members, reason)) {
      plan.applied.push_back(name);
    } else {
      plan.refused.emplace_back(name, reason);
    }
  }
  plan.files = planner.finish();
  return plan;
}

std::string sha256Hex(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr) != 1) return {};
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (unsigned int i = 0; i < size; ++i) {
    out += kDigits[digest[i] >> 4];
    out += kDigits[digest[i] & 15];
  }
  return out;
}

}  // namespace locktidy
