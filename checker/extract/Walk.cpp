// Finds what is to be lowered: every body written in a file of the program,
// template instantiations included, patterns left out.
#include "checker/extract/Internal.h"

namespace locktidy::extract {

Unit::Unit(ASTContext& context, Preprocessor& preprocessor, TuFacts& out, const ExtractJob& job)
    : ctx(context), pp(preprocessor), facts(out),
      sources(context.getSourceManager(), context.getLangOpts(), out, strings, job.root,
              job.directory),
      policy(context.getLangOpts()) {
  policy.SuppressTagKeyword = true;
  policy.SuppressInlineNamespace =
      llvm::to_underlying(PrintingPolicy::SuppressInlineNamespaceMode::All);
  policy.PrintAsCanonical = true;
  policy.SuppressDefaultTemplateArgs = false;
  policy.AnonymousTagLocations = false;
  policy.UsePreferredNames = false;
  policy.Bool = true;
}

void Unit::run(const PreprocessorLog& log, const std::vector<SourceLocation>& errors) {
  errors_ = errors;
  sources.collectFiles();
  walk(ctx.getTranslationUnitDecl());
  drain();
  drainClasses();
  finish(log);
}

void Unit::drain() {
  // Lowering a closure may find more of them.
  for (size_t c = 0, l = 0, v = 0; c < pendingClasses_.size() || l < pendingLambdas_.size() ||
                                   v < pendingInitializers_.size();) {
    if (v < pendingInitializers_.size()) {
      const VarDecl* variable = pendingInitializers_[v++];
      if (walked_.insert(variable).second) lowerInitializer(variable);
    } else if (l < pendingLambdas_.size()) {
      auto [lambda, parent] = pendingLambdas_[l++];
      const CXXRecordDecl* closure = lambda->getLambdaClass();
      const CXXMethodDecl* method = lambda->getCallOperator();
      if (!method || closure->isDependentContext()) continue;
      if (auto* generic = method->getDescribedFunctionTemplate()) {
        for (const FunctionDecl* spec : generic->specializations())
          lambdaParent_[spec->getCanonicalDecl()] = parent;
        walkFunctionTemplate(generic);
      } else {
        lambdaParent_[method->getCanonicalDecl()] = parent;
        walkFunction(method);
      }
      walkRecord(closure);  // its destructor and copies
    } else {
      walkRecord(pendingClasses_[c++]);
    }
  }
  pendingClasses_.clear();
  pendingLambdas_.clear();
  pendingInitializers_.clear();
}

void Unit::enqueueLambda(const LambdaExpr* lambda, Str parent) {
  pendingLambdas_.push_back({lambda, parent});
}

void Unit::enqueueInitializer(const VarDecl* variable) { pendingInitializers_.push_back(variable); }

void Unit::enqueueClass(const CXXRecordDecl* record) { pendingClasses_.push_back(record); }

void Unit::walk(const DeclContext* context) {
  for (const Decl* decl : context->decls()) walkDecl(decl);
}

void Unit::walkDecl(const Decl* decl) {
  if (auto* linkage = dyn_cast<LinkageSpecDecl>(decl)) return walk(linkage);
  if (auto* exported = dyn_cast<ExportDecl>(decl)) return walk(exported);
  if (!sources.isProgram(decl->getLocation())) return;
  if (auto* space = dyn_cast<NamespaceDecl>(decl)) return walk(space);
  if (auto* pattern = dyn_cast<FunctionTemplateDecl>(decl)) return walkFunctionTemplate(pattern);
  if (auto* pattern = dyn_cast<ClassTemplateDecl>(decl)) return walkClassTemplate(pattern);
  if (auto* pattern = dyn_cast<VarTemplateDecl>(decl)) {
    for (const VarDecl* spec : pattern->specializations()) walkVariable(spec);
    return;
  }
  if (auto* record = dyn_cast<RecordDecl>(decl)) return walkRecord(record);
  if (auto* fn = dyn_cast<FunctionDecl>(decl)) return walkFunction(fn);
  if (auto* variable = dyn_cast<VarDecl>(decl)) return walkVariable(variable);
  if (auto* named = dyn_cast<TypedefNameDecl>(decl)) return alias(named);
  if (auto* friendly = dyn_cast<FriendDecl>(decl)) {
    // A friend may be defined right where it is named.
    const NamedDecl* named = friendly->getFriendDecl();
    if (auto* fn = dyn_cast_or_null<FunctionDecl>(named)) return walkFunction(fn);
    if (auto* pattern = dyn_cast_or_null<FunctionTemplateDecl>(named))
      return walkFunctionTemplate(pattern);
  }
}

void Unit::walkRecord(const RecordDecl* record) {
  if (!record->isThisDeclarationADefinition() || record->isInvalidDecl()) return;
  if (!walked_.insert(record).second) return;
  if (record->isDependentContext()) {
    for (const Decl* decl : record->decls()) {
      if (auto* method = dyn_cast<FunctionDecl>(decl)) notePattern(method);
      if (auto* pattern = dyn_cast<FunctionTemplateDecl>(decl))
        notePattern(pattern->getTemplatedDecl());
      if (auto* nested = dyn_cast<RecordDecl>(decl)) walkRecord(nested);
      if (auto* nested = dyn_cast<ClassTemplateDecl>(decl)) walkRecord(nested->getTemplatedDecl());
    }
    return;
  }
  type(ctx.getCanonicalTagType(record));
  walk(record);
}

void Unit::walkClassTemplate(const ClassTemplateDecl* decl) {
  // Each redeclaration is met; its pattern may be the defining one.
  walkRecord(decl->getTemplatedDecl());
  if (!decl->isCanonicalDecl()) return;
  for (const ClassTemplateSpecializationDecl* spec : decl->specializations())
    if (spec->getSpecializationKind() != TSK_ExplicitSpecialization)
      if (const CXXRecordDecl* definition = spec->getDefinition()) walkRecord(definition);
}

void Unit::walkFunctionTemplate(const FunctionTemplateDecl* decl) {
  notePattern(decl->getTemplatedDecl());
  for (const FunctionDecl* spec : decl->specializations()) walkFunction(spec);
}

namespace {

// The conversion of a closure to a function pointer and what that points to:
// calls through it are calls of the closure's body.
bool isClosureHelper(const FunctionDecl* fn) {
  auto* method = dyn_cast<CXXMethodDecl>(fn);
  if (!method || !method->getParent()->isLambda()) return false;
  return isa<CXXConversionDecl>(method) || (method->isStatic() && method->isImplicit());
}

}  // namespace

void Unit::walkFunction(const FunctionDecl* fn) {
  if (fn->isInvalidDecl()) return;
  if (fn->isDependentContext()) return notePattern(fn);
  const FunctionDecl* definition = nullptr;
  // What is only declared is recorded by its class and by whoever calls it.
  if (!fn->isDefined(definition) || !definition->hasBody()) return;
  // A call to a trivial member is lowered as what it does to memory.
  if (definition->isImplicit() && definition->isTrivial()) return;
  if (isClosureHelper(definition)) return;
  if (definition->isInvalidDecl() || !sources.isProgram(definition->getLocation())) return;
  if (!walked_.insert(definition->getCanonicalDecl()).second) return;
  lower(definition);
}

void Unit::notePattern(const FunctionDecl* pattern) {
  if (pattern->doesThisDeclarationHaveABody() && patternSeen_.insert(pattern).second)
    patterns_.push_back(pattern);
}

void Unit::walkVariable(const VarDecl* variable) {
  if (variable->isInvalidDecl() || isa<ParmVarDecl>(variable)) return;
  if (variable->getDeclContext()->isDependentContext() || variable->getType()->isDependentType())
    return;
  if (variable->getDescribedVarTemplate() || isa<VarTemplatePartialSpecializationDecl>(variable))
    return;
  global(variable);
  if (variable->isThisDeclarationADefinition() == VarDecl::DeclarationOnly) return;
  if (walked_.insert(variable).second && variable->getInit()) {
    initMacros(variable, variable->getInit());
    lowerInitializer(variable);
  }
}

// ---------------------------------------------------------------------------
// Bodies
// ---------------------------------------------------------------------------

// Errors that left no trace in the syntax tree are found by where they are.
bool Unit::hasErrors(SourceRange range) {
  SourceManager& sm = sources.sm;
  FileIDAndOffset begin = sm.getDecomposedExpansionLoc(range.getBegin());
  FileIDAndOffset end = sm.getDecomposedExpansionLoc(range.getEnd());
  for (SourceLocation error : errors_) {
    FileIDAndOffset at = sm.getDecomposedExpansionLoc(error);
    if (at.first == begin.first && at.second >= begin.second &&
        (end.first != begin.first || at.second <= end.second))
      return true;
  }
  return false;
}

void Unit::lower(const FunctionDecl* definition) {
  FunctionFacts& out = functionFacts(definition);
  if (out.hasBody) return;
  out.hasBody = true;
  if (auto found = lambdaParent_.find(definition->getCanonicalDecl()); found != lambdaParent_.end())
    out.parent = found->second;
  if (const FunctionDecl* pattern = definition->getTemplateInstantiationPattern())
    loweredPatterns_.insert(pattern);
  const Stmt* body = definition->getBody();
  out.loc = sources.loc(definition->getLocation());
  out.bodyBegin = sources.loc(body->getBeginLoc());
  out.bodyEnd = sources.loc(body->getEndLoc());
  if (!errors_.empty() && hasErrors(definition->getSourceRange())) {
    out.opaque = true;
    out.opaqueReason = str("does not compile");
    return;
  }
  Lowering(*this, out, definition).run(definition);
}

// A variable's initialiser runs outside every function; it is lowered as a
// function of its own, named "(global initializer)". One without any events
// or calls is not kept.
void Unit::lowerInitializer(const VarDecl* variable) {
  if (!errors_.empty() && hasErrors(variable->getSourceRange())) return;
  FunctionFacts out;
  Str owner = usr(variable);
  out.usr = str(strings.text(owner) + "@init");
  out.name = str("(global initializer)");
  out.display = str((llvm::Twine("initializer of ") + strings.text(qualifiedName(variable))).str());
  out.hasBody = true;
  out.internal = !variable->isExternallyVisible();
  out.isImplicit = true;
  out.loc = sources.loc(variable->getLocation());
  out.bodyBegin = sources.loc(variable->getBeginLoc());
  out.bodyEnd = sources.loc(variable->getEndLoc());
  Lowering(*this, out, nullptr).runInitializer(variable);
  bool empty = !out.opaque && std::ranges::all_of(out.blocks, [](const Block& block) {
    return block.events.empty();
  });
  if (!empty) functionFacts_[out.usr] = std::move(out);
}

// ---------------------------------------------------------------------------
// The end: text facts, sorting, strings
// ---------------------------------------------------------------------------

void Unit::finish(const PreprocessorLog& log) {
  for (SourceRange range : log.skipped) {
    if (!sources.isProgram(range.getBegin())) continue;
    InactiveText text;
    text.begin = sources.loc(range.getBegin());
    text.endLine = sources.loc(range.getEnd()).line;
    text.names = sources.identifiers(range);
    if (text.begin.valid()) facts.inactive.push_back(std::move(text));
  }
  for (const FunctionDecl* pattern : patterns_) {
    if (loweredPatterns_.contains(pattern)) continue;
    SourceRange range = pattern->getSourceRange();
    if (!sources.isProgram(range.getBegin())) continue;
    InactiveText text;
    text.isTemplate = true;
    text.begin = sources.loc(range.getBegin());
    text.endLine = sources.loc(range.getEnd()).line;
    text.names = sources.identifiers(range);
    if (text.begin.valid()) facts.inactive.push_back(std::move(text));
  }
  for (const PreprocessorLog::Macro& macro : log.macros) {
    if (!sources.isProgram(macro.info->getDefinitionLoc())) continue;
    MacroFact fact;
    fact.name = str(macro.name);
    std::string body;
    for (const Token& token : macro.info->tokens()) {
      if (!body.empty() && token.hasLeadingSpace()) body += ' ';
      body += pp.getSpelling(token);
    }
    fact.body = str(body);
    fact.functionLike = macro.info->isFunctionLike();
    for (const IdentifierInfo* param : macro.info->params())
      fact.params.push_back(str(param->getName()));
    fact.loc = sources.loc(macro.info->getDefinitionLoc());
    facts.macros.push_back(std::move(fact));
  }
  for (SourceRange range : log.comments) {
    if (!sources.isProgram(range.getBegin())) continue;
    CommentFact fact;
    fact.loc = sources.loc(range.getBegin());
    auto [id, begin] = sources.sm.getDecomposedLoc(range.getBegin());
    unsigned end = sources.sm.getFileOffset(range.getEnd());
    fact.text = str(sources.sm.getBufferData(id).substr(begin, end - begin));
    facts.comments.push_back(fact);
  }
  auto at = [](const auto& a) { return std::make_pair(a.loc.file, a.loc.offset); };
  auto begin = [](const InactiveText& a) {
    return std::make_tuple(a.begin.file, a.begin.offset, a.isTemplate, a.endLine);
  };
  auto unique = [](auto& list, auto key) {
    std::ranges::sort(list, {}, key);
    auto tail = std::ranges::unique(list, {}, key);
    list.erase(tail.begin(), tail.end());
  };
  // A header may be read more than once.
  unique(facts.inactive, begin);
  unique(facts.macros, at);
  unique(facts.comments, at);
  auto taken = [&](const AddressTaken& a) {
    return std::make_tuple(std::string_view(strings.text(a.function)), a.loc.file, a.loc.offset);
  };
  std::ranges::sort(facts.addressTaken, {}, taken);
  unique(facts.aliases, [&](const AliasFact& a) {
    return std::make_tuple(std::string_view(strings.text(a.usr)), a.loc.file, a.loc.offset);
  });
  unique(facts.initMacros, [&](const InitMacro& m) {
    return std::make_tuple(m.name.begin.file, m.name.begin.offset, std::string_view(strings.text(m.entity)));
  });

  auto move = [&](auto& from, auto& to, auto key) {
    for (auto& [id, fact] : from) to.push_back(std::move(fact));
    std::ranges::sort(to, {},
                      [&](const auto& fact) { return std::string_view(strings.text(key(fact))); });
  };
  move(typeFacts_, facts.types, [](const TypeFact& fact) { return fact.name; });
  move(classFacts_, facts.classes, [](const ClassFact& fact) { return fact.usr; });
  move(globalFacts_, facts.globals, [](const GlobalFact& fact) { return fact.usr; });
  move(functionFacts_, facts.functions, [](const FunctionFacts& fact) { return fact.usr; });
  facts.strings.clear();
  for (size_t i = 0; i < strings.size(); ++i) facts.strings.push_back(strings.text(i));
}

}  // namespace locktidy::extract
