// Runs Clang over one translation unit and hands the tree to a Unit.
#include "checker/extract/Internal.h"

namespace locktidy {

using namespace clang;
using namespace locktidy::extract;

namespace {

// Keeps the first error's text and every error's place.
class Errors : public DiagnosticConsumer {
 public:
  explicit Errors(const ExtractJob& job) : job_(job) {}

  void HandleDiagnostic(DiagnosticsEngine::Level level, const clang::Diagnostic& info) override {
    DiagnosticConsumer::HandleDiagnostic(level, info);
    if (level < DiagnosticsEngine::Error) return;
    ++count;
    SourceLocation at = info.getLocation();
    if (at.isValid()) places.push_back(at);
    if (!first.empty()) return;
    SmallString<256> text;
    info.FormatDiagnostic(text);
    if (at.isValid() && info.hasSourceManager()) {
      PresumedLoc where =
          info.getSourceManager().getPresumedLoc(info.getSourceManager().getExpansionLoc(at));
      if (where.isValid()) {
        first = relativePath(job_.root, job_.directory, where.getFilename()) + ":" +
                std::to_string(where.getLine()) + ": ";
      }
    }
    first += text.str();
  }

  uint32_t count = 0;
  std::string first;
  std::vector<SourceLocation> places;

 private:
  const ExtractJob& job_;
};

class Consumer : public ASTConsumer {
 public:
  explicit Consumer(std::function<void(ASTContext&)> finish) : finish_(std::move(finish)) {}
  void HandleTranslationUnit(ASTContext& context) override { finish_(context); }

 private:
  std::function<void(ASTContext&)> finish_;
};

class Action : public ASTFrontendAction {
 public:
  using Finish = std::function<void(ASTContext&, Preprocessor&, const PreprocessorLog&)>;
  explicit Action(Finish finish) : finish_(std::move(finish)) {}

  std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance& compiler, StringRef) override {
    Preprocessor& pp = compiler.getPreprocessor();
    if (finish_) watchPreprocessor(pp, log_);
    return std::make_unique<Consumer>([this, &pp](ASTContext& context) {
      if (finish_) finish_(context, pp, log_);
    });
  }

 private:
  Finish finish_;
  PreprocessorLog log_;
};

std::string language(const LangOptions& options) {
  if (options.CPlusPlus26) return "c++26";
  if (options.CPlusPlus23) return "c++23";
  if (options.CPlusPlus20) return "c++20";
  if (options.CPlusPlus17) return "c++17";
  if (options.CPlusPlus14) return "c++14";
  if (options.CPlusPlus11) return "c++11";
  if (options.CPlusPlus) return "c++98";
  if (options.C23) return "c23";
  if (options.C17) return "c17";
  if (options.C11) return "c11";
  if (options.C99) return "c99";
  return "c89";
}

IntrusiveRefCntPtr<llvm::vfs::FileSystem> fileSystem(const ExtractJob& job) {
  IntrusiveRefCntPtr<llvm::vfs::FileSystem> real(llvm::vfs::createPhysicalFileSystem().release());
  auto overlay = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(real);
  if (!job.overlay.empty()) {
    auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
    for (const auto& [path, text] : job.overlay)
      memory->addFile(path, 0, llvm::MemoryBuffer::getMemBufferCopy(text, path));
    overlay->pushOverlay(memory);
  }
  overlay->setCurrentWorkingDirectory(job.directory);
  return overlay;
}

// Arguments of the form @FILE stand for what is in the file.
std::vector<std::string> expanded(const ExtractJob& job, llvm::vfs::FileSystem& files) {
  if (std::ranges::none_of(
          job.arguments, [](const std::string& text) { return StringRef(text).starts_with("@"); }))
    return job.arguments;
  llvm::BumpPtrAllocator allocator;
  SmallVector<const char*, 64> raw;
  for (const std::string& text : job.arguments) raw.push_back(text.c_str());
  llvm::cl::ExpansionContext context(allocator, llvm::cl::TokenizeGNUCommandLine);
  context.setVFS(&files).setCurrentDir(job.directory);
  llvm::consumeError(context.expandResponseFiles(raw));
  return {raw.begin(), raw.end()};
}

// Parses the unit. Returns why it could not be parsed at all, or "".
std::string parse(const ExtractJob& job, Errors& errors, Action& action,
                  const std::function<void(const CompilerInvocation&)>& look) {
  auto files = fileSystem(job);
  std::vector<std::string> arguments = cleanArguments(expanded(job, *files), nullptr);
  if (arguments.empty()) return "empty compile command";
  if (!files->exists(job.file)) return (llvm::Twine("cannot open ") + job.file).str();
  std::string resources = job.resourceDir.empty() ? findResourceDir() : job.resourceDir;
  if (!resources.empty()) arguments.insert(arguments.end(), {"-resource-dir", resources});
  arguments.push_back("-fsyntax-only");

  std::vector<const char*> raw;
  for (const std::string& text : arguments) raw.push_back(text.c_str());
  DiagnosticOptions commandOptions;
  auto commandDiags = CompilerInstance::createDiagnostics(*files, commandOptions, &errors,
                                                          /*ShouldOwnClient=*/false);
  CreateInvocationOptions options;
  options.Diags = commandDiags;
  options.VFS = files;
  options.RecoverOnError = true;
  std::shared_ptr<CompilerInvocation> invocation = createInvocation(raw, std::move(options));
  if (!invocation)
    return errors.first.empty() ? "the compile command cannot be understood" : errors.first;
  // What the driver said about flags is not an error of the program.
  errors.count = 0;
  errors.first.clear();
  errors.places.clear();

  look(*invocation);
  DiagnosticOptions& diagnostics = invocation->getDiagnosticOpts();
  diagnostics.Warnings = {"no-everything"};
  diagnostics.IgnoreWarnings = true;
  diagnostics.ErrorLimit = 0;
  diagnostics.ShowCarets = false;
  FrontendOptions& frontend = invocation->getFrontendOpts();
  frontend.DisableFree = false;
  frontend.ProgramAction = frontend::ParseSyntaxOnly;
  frontend.OutputFile.clear();
  invocation->getPreprocessorOpts().ImplicitPCHInclude.clear();
  invocation->getDependencyOutputOpts() = DependencyOutputOptions();
  invocation->getLangOpts().CommentOpts.ParseAllComments = false;

  CompilerInstance compiler(invocation);
  compiler.setVirtualFileSystem(files);
  compiler.createDiagnostics(&errors, /*ShouldOwnClient=*/false);
  // A missing header is one error, not the end of all checking.
  compiler.getDiagnostics().setFatalsAsError(true);
  compiler.createFileManager();
  compiler.createSourceManager();
  if (!compiler.ExecuteAction(action) && errors.count == 0) return "Clang could not run";
  return "";
}

}  // namespace

TuFacts extractTu(const ExtractJob& job) {
  TuFacts facts;
  std::string mainFile = relativePath(job.root, job.directory, job.file), failure, lang;
  Errors errors(job);
  bool finished = false, safety = false;
  Action action([&](ASTContext& context, Preprocessor& pp, const PreprocessorLog& log) {
    Unit unit(context, pp, facts, job);
    unit.run(log, errors.places);
    finished = true;
  });
  failure = parse(job, errors, action, [&](const CompilerInvocation& invocation) {
    lang = language(invocation.getLangOpts());
    for (const std::string& warning : invocation.getDiagnosticOpts().Warnings) {
      if (StringRef(warning).starts_with("thread-safety")) safety = true;
      if (StringRef(warning).starts_with("no-thread-safety")) safety = false;
    }
  });
  if (failure.empty() && !finished)
    failure = errors.first.empty() ? "no syntax tree" : errors.first;
  auto str = [&](const std::string& text) -> Str {
    if (text.empty()) return 0;
    for (size_t i = 0; i < facts.strings.size(); ++i)
      if (facts.strings[i] == text) return i;
    facts.strings.push_back(text);
    return facts.strings.size() - 1;
  };
  if (!failure.empty()) {
    facts = TuFacts();
    facts.status = UnitStatus::Failed;
    facts.failure = str(failure);
  } else if (errors.count) {
    facts.status = UnitStatus::Degraded;
    facts.failure = str(errors.first);
  }
  facts.errors = errors.count;
  facts.mainFile = str(mainFile);
  facts.language = str(lang);
  facts.threadSafetyWarnings = safety;
  return facts;
}

std::string checkParses(const ExtractJob& job) {
  Errors errors(job);
  Action action(nullptr);
  std::string failure = parse(job, errors, action, [](const CompilerInvocation&) {});
  return failure.empty() ? errors.first : failure;
}

}  // namespace locktidy
