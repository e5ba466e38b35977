// Files, locations and the text written at them.
#include "checker/extract/Internal.h"

#include <openssl/evp.h>

namespace locktidy::extract {

namespace {

std::string sha256(StringRef bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), nullptr);
  return llvm::toHex(ArrayRef<uint8_t>(digest, size), /*LowerCase=*/true);
}

bool isSystemPath(StringRef path) {
  return path.starts_with("/usr/include/") || path.starts_with("/usr/lib/");
}

}  // namespace

std::string relativePath(StringRef root, StringRef directory, StringRef path) {
  SmallString<256> full(path);
  if (!llvm::sys::path::is_absolute(full)) {
    full = directory;
    llvm::sys::path::append(full, path);
  }
  SmallString<256> lexical = full;
  llvm::sys::path::remove_dots(lexical, /*remove_dot_dot=*/true);
  // `link/..` is not where the link is.
  if (StringRef(full).contains("/../") && !llvm::sys::fs::exists(lexical))
    llvm::sys::fs::real_path(full, lexical);
  StringRef text = lexical;
  root = root.rtrim('/');
  if (!root.empty() && text.starts_with(root) && text.size() > root.size() &&
      text[root.size()] == '/')
    return text.substr(root.size() + 1).str();
  return text.str();
}

std::string Sources::relative(StringRef path) const {
  return relativePath(root_, directory_, path);
}

void Sources::collectFiles() {
  struct Found {
    std::string path;
    const FileEntry* entry;
    const SrcMgr::ContentCache* content;
  };
  std::vector<Found> found;
  for (auto it = sm.fileinfo_begin(); it != sm.fileinfo_end(); ++it)
    found.push_back({relative(it->first.getName()), &it->first.getFileEntry(), it->second});
  std::ranges::sort(found, {}, &Found::path);

  // A file is a system file if any of its inclusions was one.
  llvm::DenseSet<const FileEntry*> system;
  for (unsigned i = 0, n = sm.local_sloc_entry_size(); i < n; ++i) {
    const SrcMgr::SLocEntry& entry = sm.getLocalSLocEntry(i);
    if (!entry.isFile()) continue;
    auto file = entry.getFile().getContentCache().OrigEntry;
    if (file && SrcMgr::isSystem(entry.getFile().getFileCharacteristic()))
      system.insert(&file->getFileEntry());
  }
  for (const Found& file : found) {
    if (auto [at, fresh] = index_.try_emplace(file.entry, facts_.files.size()); !fresh) continue;
    FileFact fact;
    fact.path = strings_.intern(file.path);
    if (auto buffer = file.content->getBufferIfLoaded())
      fact.sha256 = strings_.intern(sha256(buffer->getBuffer()));
    fact.system = system.contains(file.entry) || isSystemPath(file.path);
    facts_.files.push_back(fact);
  }
}

uint32_t Sources::fileIndex(FileID id) {
  auto [at, fresh] = byId_.try_emplace(id, kNone);
  if (fresh)
    if (const FileEntry* entry = sm.getFileEntryForID(id))
      if (auto found = index_.find(entry); found != index_.end()) at->second = found->second;
  return at->second;
}

bool Sources::isSystem(FileID id) {
  auto [at, fresh] = system_.try_emplace(id, true);
  if (!fresh) return at->second;
  OptionalFileEntryRef entry = sm.getFileEntryRefForID(id);
  bool system = !entry || SrcMgr::isSystem(sm.getSLocEntry(id).getFile().getFileCharacteristic());
  if (!system) {
    std::string path = relative(entry->getName());
    system = isSystemPath(path);
  }
  return system_[id] = system;
}

bool Sources::isProgram(SourceLocation at) {
  if (at.isInvalid()) return false;
  SourceLocation file = sm.getExpansionLoc(at);
  FileID id = sm.getFileID(file);
  if (isSystem(id)) return false;
  // `#pragma system_header` counts from its line on.
  return !sm.getSLocEntry(id).getFile().hasLineDirectives() || !sm.isInSystemHeader(file);
}

Loc Sources::loc(SourceLocation at) {
  Loc result;
  if (at.isInvalid()) return result;
  auto [id, offset] = sm.getDecomposedExpansionLoc(at);
  result.file = fileIndex(id);
  if (result.file == kNone) return Loc();
  result.offset = offset;
  result.line = sm.getLineNumber(id, offset);
  result.col = sm.getColumnNumber(id, offset);
  return result;
}

namespace {

// `>` cut from `>>` has a location of its own kind; it is written all the same.
bool isSplitToken(const SourceManager& sm, SourceLocation at) {
  return at.isMacroID() &&
         !sm.getSLocEntry(sm.getFileID(at)).getExpansion().isExpansionTokenRange();
}

}  // namespace

bool Sources::isWritten(SourceLocation at) const {
  return at.isValid() &&
         (at.isFileID() || (isSplitToken(sm, at) && sm.getSpellingLoc(at).isFileID()));
}

Anchor Sources::anchor(SourceRange tokens) {
  Anchor result;
  SourceLocation begin = tokens.getBegin(), end = tokens.getEnd();
  if (!isWritten(begin) || !isWritten(end)) return result;
  bool split = end.isMacroID();
  if (begin.isMacroID()) begin = sm.getSpellingLoc(begin);
  if (split) end = sm.getSpellingLoc(end);
  auto [beginId, beginOffset] = sm.getDecomposedLoc(begin);
  auto [endId, endOffset] = sm.getDecomposedLoc(end);
  if (beginId != endId || endOffset < beginOffset) return result;
  unsigned last = split ? 1 : Lexer::MeasureTokenLength(end, sm, langOpts);
  result.begin = loc(begin);
  if (!result.begin.valid()) return Anchor();
  result.length = endOffset + last - beginOffset;
  StringRef buffer = sm.getBufferData(beginId);
  // A macro between two written tokens would be part of the text.
  result.text = strings_.intern(std::string_view(buffer.data() + beginOffset, result.length));
  return result;
}

namespace {

// The expansion in a file that `at` came out of, or an invalid location.
SourceLocation outermostExpansion(const SourceManager& sm, SourceLocation at) {
  while (at.isMacroID()) {
    SourceLocation up = sm.getImmediateExpansionRange(at).getBegin();
    if (up.isFileID()) return at;
    at = up;
  }
  return SourceLocation();
}

}  // namespace

Str Sources::macroName(SourceLocation at) {
  if (at.isFileID() || isSplitToken(sm, at)) return 0;
  SourceLocation token = sm.getExpansionLoc(at);
  unsigned length = Lexer::MeasureTokenLength(token, sm, langOpts);
  auto [id, offset] = sm.getDecomposedLoc(token);
  return strings_.intern(std::string_view(sm.getBufferData(id).data() + offset, length));
}

void Sources::macroAnchors(SourceLocation at, Anchor& name, Anchor& whole) {
  SourceLocation out = outermostExpansion(sm, at);
  if (out.isInvalid()) return;
  CharSourceRange range = sm.getImmediateExpansionRange(out);
  name = anchor(range.getBegin());
  whole = anchor(range.getAsRange());
}

std::vector<Str> Sources::identifiers(SourceRange tokens) {
  std::vector<Str> names;
  auto [id, begin] = sm.getDecomposedExpansionLoc(tokens.getBegin());
  auto [endId, end] = sm.getDecomposedExpansionLoc(tokens.getEnd());
  if (id != endId || end <= begin) return names;
  StringRef buffer = sm.getBufferData(id);
  Lexer lexer(sm.getLocForStartOfFile(id), langOpts, buffer.begin(), buffer.begin() + begin,
              buffer.end());
  Token token;
  bool directive = false;
  while (!lexer.LexFromRawLexer(token) || !token.is(tok::eof)) {
    if (token.is(tok::eof) || sm.getFileOffset(token.getLocation()) >= end) break;
    // `#ifdef X`: X is mentioned, `ifdef` is not.
    bool keyword = directive;
    directive = token.is(tok::hash) && token.isAtStartOfLine();
    if (token.is(tok::raw_identifier) && !keyword) {
      StringRef text = token.getRawIdentifier();
      names.push_back(strings_.intern(std::string_view(text.data(), text.size())));
    }
  }
  std::ranges::sort(names, {}, [&](Str name) -> const std::string& { return strings_.text(name); });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string Sources::position(SourceLocation at) {
  Loc where = loc(at);
  if (!where.valid()) return "<built-in>";
  std::string text = strings_.text(facts_.files[where.file].path) + ":" +
                     std::to_string(where.line) + ":" + std::to_string(where.col);
  // Two things out of one macro expansion differ in where the macro spells them.
  if (at.isMacroID()) {
    auto [id, offset] = sm.getDecomposedSpellingLoc(at);
    text += "+" + std::to_string(offset);
  }
  return text;
}

}  // namespace locktidy::extract
