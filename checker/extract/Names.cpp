// What things are called: USRs for the linker, qualified names for models and
// display names for people.
//
// Clang's own USRs serve for everything that has linkage. Closures, local
// classes, unnamed tags and whatever is inside them get USRs made here, from
// the USR of what encloses them and the place in the file, because Clang's are
// empty or equal for different instantiations of one template.
#include "checker/extract/Internal.h"

namespace locktidy::extract {

// ---------------------------------------------------------------------------
// USRs
// ---------------------------------------------------------------------------

bool Unit::mentionsLocal(QualType type) {
  if (type.isNull()) return false;
  const void* key = type.getCanonicalType().getTypePtr();
  if (auto found = mentionsLocal_.find(key); found != mentionsLocal_.end()) return found->second;
  mentionsLocal_[key] = false;  // ends recursion
  const Type* t = type.getCanonicalType().getTypePtr();
  bool result = false;
  if (auto* tag = t->getAsTagDecl()) {
    result = needsOwnUsr(tag->getCanonicalDecl());
  } else if (auto* pointer = t->getAs<MemberPointerType>()) {
    result = mentionsLocal(pointer->getPointeeType());
  } else if (!t->getPointeeType().isNull()) {
    result = mentionsLocal(t->getPointeeType());
  } else if (auto* array = t->getAsArrayTypeUnsafe()) {
    result = mentionsLocal(array->getElementType());
  } else if (auto* proto = t->getAs<FunctionProtoType>()) {
    result = mentionsLocal(proto->getReturnType());
    for (QualType param : proto->param_types()) result = result || mentionsLocal(param);
  }
  return mentionsLocal_[key] = result;
}

bool Unit::mentionsLocal(ArrayRef<TemplateArgument> args) {
  for (const TemplateArgument& arg : args) {
    if (arg.getKind() == TemplateArgument::Type && mentionsLocal(arg.getAsType())) return true;
    if (arg.getKind() == TemplateArgument::Pack && mentionsLocal(arg.pack_elements())) return true;
  }
  return false;
}

// Clang's USR of `decl` is empty, unstable, or not its alone.
bool Unit::needsOwnUsr(const Decl* decl) {
  if (auto* tag = dyn_cast<TagDecl>(decl))
    if (!tag->getIdentifier() && !tag->getTypedefNameForAnonDecl()) return true;
  if (auto* field = dyn_cast<FieldDecl>(decl))
    if (!field->getIdentifier()) return true;
  if (auto* spec = dyn_cast<ClassTemplateSpecializationDecl>(decl))
    if (mentionsLocal(spec->getTemplateArgs().asArray())) return true;
  if (auto* function = dyn_cast<FunctionDecl>(decl)) {
    if (auto* args = function->getTemplateSpecializationArgs())
      if (mentionsLocal(args->asArray())) return true;
    for (const ParmVarDecl* param : function->parameters())
      if (mentionsLocal(param->getType())) return true;
  }
  if (auto* variable = dyn_cast<VarDecl>(decl))
    if (variable->isLocalVarDecl()) return true;
  const DeclContext* context = decl->getDeclContext();
  if (context->isFunctionOrMethod()) return true;
  if (auto* outer = dyn_cast<RecordDecl>(context)) return needsOwnUsr(outer->getCanonicalDecl());
  return false;
}

std::string Unit::ownUsr(const Decl* decl) {
  // Closures and local things hang below the function, others below the class.
  std::string outer;
  const DeclContext* context = decl->getDeclContext();
  while (context->isTransparentContext()) context = context->getParent();
  if (context->isFunctionOrMethod() || isa<RecordDecl>(context)) {
    outer = strings.text(usr(cast<Decl>(context)));
  } else if (auto* space = dyn_cast<NamespaceDecl>(context)) {
    outer = strings.text(qualifiedName(space));
    if (space->isInAnonymousNamespace())
      outer += "@" + sources.relative(
                         sources.sm.getFilename(sources.sm.getExpansionLoc(decl->getLocation())));
  }
  auto at = [&] { return sources.position(decl->getLocation()); };

  if (auto* record = dyn_cast<CXXRecordDecl>(decl); record && record->isLambda()) {
    std::string index;
    if (record->getLocation().isMacroID())
      index = (llvm::Twine("#") + llvm::Twine(record->getLambdaIndexInContext())).str();
    return (llvm::Twine("lambda@") + at() + index + "@" + outer).str();
  }
  if (auto* tag = dyn_cast<TagDecl>(decl)) {
    std::string text = outer + "@T@" + baseName(tag);
    if (auto* spec = dyn_cast<ClassTemplateSpecializationDecl>(decl))
      text += "<" + printArguments(spec->getTemplateArgs().asArray()) + ">";
    if (context->isFunctionOrMethod() || !tag->getIdentifier()) text += "@" + at();
    return text;
  }
  if (auto* field = dyn_cast<FieldDecl>(decl)) {
    auto* parent = dyn_cast<CXXRecordDecl>(field->getParent());
    if (parent && parent->isLambda())
      return outer + "@cap" + std::to_string(field->getFieldIndex());
    if (!field->getIdentifier()) return outer + "@unnamed" + std::to_string(field->getFieldIndex());
    return outer + "@FI@" + field->getName().str();
  }
  if (auto* fn = dyn_cast<FunctionDecl>(decl)) {
    std::string text = outer + "@F@" + baseName(fn);
    if (auto* args = fn->getTemplateSpecializationArgs())
      text += "<" + printArguments(args->asArray()) + ">";
    return text + "#" + typeName(fn->getType());
  }
  std::string name;
  if (auto* named = dyn_cast<NamedDecl>(decl)) name = baseName(named);
  return outer + "@" + name + "@" + at();
}

Str Unit::usr(const Decl* decl) {
  decl = decl->getCanonicalDecl();
  if (auto found = usrs_.find(decl); found != usrs_.end()) return found->second;
  std::string text;
  if (needsOwnUsr(decl)) {
    text = ownUsr(decl);
  } else {
    SmallString<256> buffer;
    if (index::generateUSRForDecl(decl, buffer) || buffer.empty())
      text = ownUsr(decl);
    else
      text = buffer.str().str();
  }
  Str id = str(text);
  // Two things must not share a USR: their types tell them apart.
  if (auto [at, fresh] = usrOwner_.try_emplace(id, decl); !fresh && at->second != decl) {
    if (auto* value = dyn_cast<ValueDecl>(decl)) text += "#" + typeName(value->getType());
    if (auto* tag = dyn_cast<TagDecl>(decl)) text += "#" + className(tag);
    if (auto* record = dyn_cast<RecordDecl>(decl->getDeclContext()))
      text += "#" + className(record);
    id = str(text);
    if (!usrOwner_.try_emplace(id, decl).second) {
      text += "@" + sources.position(decl->getLocation());
      id = str(text);
      usrOwner_.try_emplace(id, decl);
    }
  }
  return usrs_[decl] = id;
}

// ---------------------------------------------------------------------------
// Qualified names, without template arguments
// ---------------------------------------------------------------------------

std::string Unit::baseName(const NamedDecl* decl) {
  if (auto* ctor = dyn_cast<CXXConstructorDecl>(decl)) return baseName(ctor->getParent());
  if (auto* dtor = dyn_cast<CXXDestructorDecl>(decl))
    return (llvm::Twine("~") + baseName(dtor->getParent())).str();
  if (auto* conversion = dyn_cast<CXXConversionDecl>(decl))
    return (llvm::Twine("operator ") + typeName(conversion->getConversionType())).str();
  if (auto* record = dyn_cast<CXXRecordDecl>(decl); record && record->isLambda()) return "(lambda)";
  if (auto* tag = dyn_cast<TagDecl>(decl); tag && !tag->getIdentifier()) {
    if (auto* alias = tag->getTypedefNameForAnonDecl()) return alias->getName().str();
    return "(anonymous)";
  }
  if (auto* space = dyn_cast<NamespaceDecl>(decl); space && space->isAnonymousNamespace())
    return "(anonymous)";
  return decl->getDeclName().getAsString();
}

Str Unit::qualifiedName(const NamedDecl* decl) {
  decl = cast<NamedDecl>(decl->getCanonicalDecl());
  if (auto found = names_.find(decl); found != names_.end()) return found->second;
  std::string text;
  const DeclContext* context = decl->getDeclContext();
  while (context->isTransparentContext() || context->isInlineNamespace())
    context = context->getParent();
  // `extern "C"` functions are what they are called, wherever declared.
  if (context->isFunctionOrMethod()) {
    auto* around = dyn_cast<NamedDecl>(context);
    std::string outer;
    if (around) outer = strings.text(qualifiedName(around));
    size_t cut = outer.rfind("::");
    text = (cut == std::string::npos ? "" : outer.substr(0, cut + 2)) + "(anonymous)::";
  } else if (auto* named = dyn_cast<NamedDecl>(context)) {
    text = strings.text(qualifiedName(named)) + "::";
  }
  Str id = str(text + baseName(decl));
  return names_[decl] = id;
}

// ---------------------------------------------------------------------------
// Names with template arguments, for types and for people
// ---------------------------------------------------------------------------

std::string Unit::printArgument(const TemplateArgument& arg) {
  switch (arg.getKind()) {
  case TemplateArgument::Type:
    return typeName(arg.getAsType());
  case TemplateArgument::Integral: {
    if (arg.getIntegralType()->isBooleanType())
      return arg.getAsIntegral().getBoolValue() ? "true" : "false";
    return llvm::toString(arg.getAsIntegral(), 10);
  }
  case TemplateArgument::NullPtr:
    return "nullptr";
  case TemplateArgument::Declaration:
    return (llvm::Twine("&") + strings.text(qualifiedName(arg.getAsDecl()))).str();
  case TemplateArgument::Template:
  case TemplateArgument::TemplateExpansion:
    if (auto* decl = arg.getAsTemplateOrTemplatePattern().getAsTemplateDecl())
      return strings.text(qualifiedName(decl));
    [[fallthrough]];
  default: {
    std::string text;
    llvm::raw_string_ostream out(text);
    arg.print(policy, out, /*IncludeType=*/true);
    return text;
  }
  }
}

std::string Unit::printArguments(ArrayRef<TemplateArgument> args) {
  std::string text;
  for (const TemplateArgument& arg : args) {
    if (arg.getKind() == TemplateArgument::Pack) {
      if (arg.pack_size() == 0) continue;
      if (!text.empty()) text += ", ";
      text += printArguments(arg.pack_elements());
      continue;
    }
    if (!text.empty()) text += ", ";
    text += printArgument(arg);
  }
  return text;
}

// "ns::Outer<int>::"; ends in :: unless empty.
std::string Unit::scope(const DeclContext* context, bool withFile) {
  while (context->isTransparentContext() || context->isInlineNamespace())
    context = context->getParent();
  if (context->isTranslationUnit()) return "";
  if (auto* space = dyn_cast<NamespaceDecl>(context)) {
    std::string outer = scope(space->getDeclContext(), withFile);
    if (!space->isAnonymousNamespace()) return outer + space->getName().str() + "::";
    if (!withFile) return outer + "(anonymous namespace)::";
    SourceLocation at = sources.sm.getExpansionLoc(space->getLocation());
    return outer + "(anonymous namespace in " + sources.relative(sources.sm.getFilename(at)) +
           ")::";
  }
  if (auto* tag = dyn_cast<TagDecl>(context)) return className(tag) + "::";
  if (auto* fn = dyn_cast<FunctionDecl>(context)) {
    auto* method = dyn_cast<CXXMethodDecl>(fn);
    if (method && method->getParent()->isLambda()) return className(method->getParent()) + "::";
    // C has no overloads, and its parameter lists may declare the very type
    // whose scope is asked for.
    if (!ctx.getLangOpts().CPlusPlus || llvm::is_contained(displaying_, fn))
      return baseName(fn) + "()::";
    return display(fn) + "::";
  }
  return scope(context->getParent(), withFile);
}

std::string Unit::display(const FunctionDecl* fn) {
  displaying_.push_back(fn);
  std::string text = scope(fn->getDeclContext(), /*withFile=*/false) + baseName(fn);
  if (auto* args = fn->getTemplateSpecializationArgs())
    text += "<" + printArguments(args->asArray()) + ">";
  text += "(";
  bool first = true;
  for (const ParmVarDecl* param : fn->parameters()) {
    if (!first) text += ", ";
    first = false;
    text += typeName(param->getType());
  }
  if (fn->isVariadic()) text += first ? "..." : ", ...";
  text += ")";
  if (auto* method = dyn_cast<CXXMethodDecl>(fn); method && method->isConst()) text += " const";
  displaying_.pop_back();
  return text;
}

}  // namespace locktidy::extract
