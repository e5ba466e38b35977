// What only the preprocessor sees: skipped #if branches, macros, comments.
#include "checker/extract/Internal.h"

namespace locktidy::extract {

namespace {

class Watcher : public PPCallbacks {
 public:
  Watcher(SourceManager& sm, PreprocessorLog& log) : sm_(sm), log_(log) {}

  void SourceRangeSkipped(SourceRange range, SourceLocation) override {
    if (isCandidate(range.getBegin())) log_.skipped.push_back(range);
  }

  void MacroDefined(const Token& name, const MacroDirective* directive) override {
    const MacroInfo* info = directive->getMacroInfo();
    if (info->getNumTokens() == 0 || !isCandidate(info->getDefinitionLoc())) return;
    log_.macros.push_back({name.getIdentifierInfo()->getName().str(), info});
  }

 private:
  // Cheap first sieve; Sources::isProgram decides later.
  bool isCandidate(SourceLocation at) {
    return at.isFileID() && !sm_.isInSystemHeader(at) && !sm_.isWrittenInBuiltinFile(at) &&
           !sm_.isWrittenInCommandLineFile(at);
  }

  SourceManager& sm_;
  PreprocessorLog& log_;
};

class Comments : public CommentHandler {
 public:
  explicit Comments(PreprocessorLog& log) : log_(log) {}

  bool HandleComment(Preprocessor& pp, SourceRange range) override {
    SourceManager& sm = pp.getSourceManager();
    if (sm.isInSystemHeader(range.getBegin())) return false;
    auto [id, begin] = sm.getDecomposedLoc(range.getBegin());
    unsigned end = sm.getFileOffset(range.getEnd());
    StringRef text = sm.getBufferData(id).substr(begin, end - begin);
    if (text.contains("locktidy") || text.contains("NOLINT")) log_.comments.push_back(range);
    return false;
  }

 private:
  PreprocessorLog& log_;
};

}  // namespace

void watchPreprocessor(Preprocessor& pp, PreprocessorLog& log) {
  pp.addPPCallbacks(std::make_unique<Watcher>(pp.getSourceManager(), log));
  // Lives as long as the preprocessor, which does not own its handlers.
  static thread_local std::unique_ptr<Comments> handler;
  handler = std::make_unique<Comments>(log);
  pp.addCommentHandler(handler.get());
}

}  // namespace locktidy::extract
