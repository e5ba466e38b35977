// Facts about things that have a name: functions, globals, classes.
#include "checker/extract/Internal.h"

namespace locktidy::extract {

Anchor Unit::specifier(const DeclaratorDecl* decl) {
  TypeSourceInfo* info = decl->getTypeSourceInfo();
  if (!info) return Anchor();
  TypeLoc loc = info->getTypeLoc();
  while (true) {
    loc = loc.getUnqualifiedLoc();
    bool declarator = loc.getAs<PointerTypeLoc>() || loc.getAs<ReferenceTypeLoc>() ||
                      loc.getAs<ArrayTypeLoc>() || loc.getAs<ParenTypeLoc>() ||
                      loc.getAs<AttributedTypeLoc>() || loc.getAs<MacroQualifiedTypeLoc>() ||
                      loc.getAs<MemberPointerTypeLoc>();
    if (!declarator) break;
    loc = loc.getNextTypeLoc();
  }
  return sources.anchor(loc.getSourceRange());
}

// ---------------------------------------------------------------------------
// Functions
// ---------------------------------------------------------------------------

FunctionFacts& Unit::functionFacts(const FunctionDecl* fn) {
  const FunctionDecl* canonical = fn->getCanonicalDecl();
  if (auto found = functionsByDecl_.find(canonical); found != functionsByDecl_.end())
    return *found->second;
  Str id = usr(canonical);
  FunctionFacts& facts = functionFacts_[id];
  functionsByDecl_[canonical] = &facts;
  facts.usr = id;
  facts.name = qualifiedName(fn);
  // Nobody reads the full spelling of a library's function.
  bool program = sources.isProgram(fn->getLocation());
  facts.display = program ? str(display(fn)) : facts.name;
  facts.signature = type(fn->getType());

  // The declaration with the body says most; failing that, the last one.
  const FunctionDecl* best = nullptr;
  if (!fn->isDefined(best)) best = fn->getMostRecentDecl();
  auto* method = dyn_cast<CXXMethodDecl>(fn);
  if (method) {
    facts.owner = usr(method->getParent());
    facts.ownerType = type(ctx.getCanonicalTagType(method->getParent()));
    facts.isStatic = method->isStatic();
    facts.isConst = method->isConst();
    facts.isCtor = isa<CXXConstructorDecl>(fn);
    facts.isDtor = isa<CXXDestructorDecl>(fn);
    facts.isVirtual = method->isVirtual();
    facts.isPure = method->isPureVirtual();
    facts.isFinal = method->hasAttr<FinalAttr>() || method->getParent()->hasAttr<FinalAttr>();
    facts.isLambda = method->getParent()->isLambda();
    for (const CXXMethodDecl* base : method->overridden_methods())
      facts.overrides.push_back(function(base));
  } else {
    facts.isStatic = fn->getStorageClass() == SC_Static;
  }
  facts.internal = !fn->isExternallyVisible();
  facts.isImplicit = fn->isImplicit();
  facts.isDefaulted = fn->isDefaulted();
  facts.isTemplateInstance =
      fn->isTemplateInstantiation() || fn->getTemplateInstantiationPattern() != nullptr;
  facts.isMain = fn->isMain();
  if (auto* proto = fn->getType()->getAs<FunctionProtoType>()) {
    ExceptionSpecificationType spec = proto->getExceptionSpecType();
    facts.isNoexcept = spec == EST_BasicNoexcept || spec == EST_NoexceptTrue ||
                       spec == EST_DynamicNone || spec == EST_NoThrow;
  }
  facts.isVariadic = fn->isVariadic();
  facts.inSystemHeader = !program;
  for (const ParmVarDecl* param : best->parameters()) {
    ParamInfo info;
    info.name = str(param->getName());
    QualType paramType = param->getType();
    info.type = type(paramType);
    info.isRef = paramType->isReferenceType();
    info.isPtr = isPointerLike(paramType) && !info.isRef;
    info.isClass = paramType->isRecordType();
    QualType pointee = paramType->getPointeeType();
    info.pointeeConst = !pointee.isNull() && pointee.isConstQualified();
    if (!facts.inSystemHeader && !best->isImplicit()) {
      info.typeText = specifier(param);
      for (const FunctionDecl* other : fn->redecls()) {
        unsigned index = param->getFunctionScopeIndex();
        if (other == best || other->isImplicit() || index >= other->getNumParams()) continue;
        info.moreDeclared |= info.otherTypeText.valid();
        info.otherTypeText = specifier(other->getParamDecl(index));
        info.moreDeclared |= !info.otherTypeText.valid();
      }
    }
    facts.params.push_back(info);
  }
  QualType result = fn->getReturnType();
  facts.returnType = type(result);
  facts.returnsRef = result->isReferenceType();
  facts.returnsPtr = isPointerLike(result) && !facts.returnsRef;
  facts.returnsClass = result->isRecordType();
  facts.attrs = attributes(fn->getMostRecentDecl());
  if (fn->isNoReturn() && std::ranges::none_of(facts.attrs, [&](const AttrFact& attr) {
        return strings.text(attr.kind) == "noreturn";
      })) {
    AttrFact noreturn;
    noreturn.kind = str("noreturn");
    facts.attrs.push_back(noreturn);
  }
  facts.loc = sources.loc(best->getLocation());
  return facts;
}

Str Unit::function(const FunctionDecl* fn) { return functionFacts(fn).usr; }

void Unit::addressTaken(const FunctionDecl* fn, SourceLocation at, QualType as) {
  AddressTaken fact;
  fact.function = function(fn);
  fact.signature = type(as.isNull() ? fn->getType() : as);
  fact.loc = sources.loc(at);
  if (addressTakenSeen_.insert({fact.function, fact.loc.offset ^ (fact.loc.file << 24)}).second)
    facts.addressTaken.push_back(fact);
}

// ---------------------------------------------------------------------------
// Globals
// ---------------------------------------------------------------------------

Str Unit::global(const VarDecl* variable) {
  variable = variable->getCanonicalDecl();
  Str id = usr(variable);
  if (!globalsDone_.insert(variable).second) return id;
  GlobalFact fact;
  fact.usr = id;
  fact.name = qualifiedName(variable);
  fact.type = type(variable->getType());
  QualType held = variable->getType();
  fact.isConst = ctx.getBaseElementType(held).isConstQualified();
  fact.isVolatile = held.isVolatileQualified();
  fact.isThreadLocal = variable->getTLSKind() != VarDecl::TLS_None;
  fact.isStaticLocal = variable->isStaticLocal();
  fact.internal = !variable->isExternallyVisible();
  if (auto* owner = dyn_cast<FunctionDecl>(variable->getDeclContext())) fact.function = usr(owner);
  const VarDecl* definition = variable->getDefinition();
  const VarDecl* best = definition ? definition : variable->getMostRecentDecl();
  fact.attrs = attributes(variable->getMostRecentDecl());
  fact.loc = sources.loc(best->getLocation());
  if (sources.isProgram(best->getLocation())) {
    fact.typeText = specifier(best);
    for (const VarDecl* other : variable->redecls())
      if (other != best) fact.otherTypeTexts.push_back(specifier(other));
  }
  globalFacts_[id] = std::move(fact);
  return id;
}

void Unit::alias(const TypedefNameDecl* decl) {
  if (decl->isInvalidDecl() || decl->isImplicit() || decl->getDeclContext()->isDependentContext() ||
      decl->getUnderlyingType()->isDependentType())
    return;
  AliasFact fact;
  fact.usr = usr(decl);
  fact.name = qualifiedName(decl);
  fact.type = type(decl->getUnderlyingType());
  fact.loc = sources.loc(decl->getLocation());
  if (TypeSourceInfo* written = decl->getTypeSourceInfo())
    fact.typeText = sources.anchor(written->getTypeLoc().getUnqualifiedLoc().getSourceRange());
  if (fact.loc.valid()) facts.aliases.push_back(fact);
}

// `entity` is initialised by `init`: are macros written there?
void Unit::initMacros(const ValueDecl* entity, const Expr* init) {
  if (!init) return;
  SourceLocation at = init->getBeginLoc();
  if (at.isMacroID() && !init->getSourceRange().isInvalid()) {
    InitMacro fact;
    fact.entity = usr(entity);
    Anchor whole;
    sources.macroAnchors(at, fact.name, whole);
    if (fact.name.valid()) return facts.initMacros.push_back(fact);
  }
  auto* list = dyn_cast<InitListExpr>(init->IgnoreImplicit());
  if (!list) return;
  if (list->isSyntacticForm() && list->getSemanticForm()) list = list->getSemanticForm();
  if (const RecordDecl* record = list->getType()->getAsRecordDecl()) {
    unsigned i = 0;
    for (const FieldDecl* field : record->fields()) {
      if (field->isUnnamedBitField()) continue;
      if (i < list->getNumInits()) initMacros(field, list->getInit(i++));
    }
  } else {
    constexpr unsigned kMaxElements = 64;  // tables of constants are long, locks in them few
    for (unsigned i = 0; i < list->getNumInits() && i < kMaxElements; ++i) initMacros(entity, list->getInit(i));
  }
}

// ---------------------------------------------------------------------------
// Classes
// ---------------------------------------------------------------------------

FieldFact Unit::fieldFact(const DeclaratorDecl* decl) {
  FieldFact fact;
  QualType held = decl->getType();
  fact.usr = usr(decl);
  fact.name = str(decl->getName());
  fact.type = type(held);
  fact.isRef = held->isReferenceType();
  fact.isPtr = isPointerLike(held) && !fact.isRef;
  fact.isConst = ctx.getBaseElementType(held).isConstQualified();
  fact.isVolatile = held.isVolatileQualified();
  fact.isStatic = isa<VarDecl>(decl);
  if (auto* field = dyn_cast<FieldDecl>(decl)) {
    fact.isMutable = field->isMutable();
    fact.isBitField = field->isBitField();
  }
  fact.attrs = attributes(decl);
  fact.loc = sources.loc(decl->getLocation());
  // A capture has a type that is written nowhere.
  auto* closure = dyn_cast<CXXRecordDecl>(decl->getDeclContext());
  if (!closure || !closure->isLambda()) fact.typeText = specifier(decl);
  return fact;
}

// Only noted here: one class mentions the next, and the chain is long.
void Unit::noteClass(const RecordDecl* record) {
  if (classesDone_.insert(record->getCanonicalDecl()).second) classQueue_.push_back(record);
}

void Unit::drainClasses() {
  for (size_t i = 0; i < classQueue_.size(); ++i) classFact(classQueue_[i]);
  classQueue_.clear();
}

void Unit::classFact(const RecordDecl* record) {
  const RecordDecl* definition = record->getDefinition();
  ClassFact fact;
  fact.usr = usr(record);
  fact.name = qualifiedName(record);
  fact.type = type(ctx.getCanonicalTagType(record));
  fact.isUnion = record->isUnion();
  const RecordDecl* best = definition ? definition : record;
  fact.loc = sources.loc(best->getLocation());
  fact.inSystemHeader = !sources.isProgram(best->getLocation());
  fact.inHeader = sources.sm.getFileID(sources.sm.getExpansionLoc(best->getLocation())) !=
                  sources.sm.getMainFileID();
  fact.internal = !record->isExternallyVisible();
  fact.isTemplateInstance = isa<ClassTemplateSpecializationDecl>(record);
  if (auto* cxx = dyn_cast<CXXRecordDecl>(record)) {
    fact.isLambda = cxx->isLambda();
    fact.isTemplateInstance |= cxx->getTemplateInstantiationPattern() != nullptr;
  }
  if (definition && !definition->isInvalidDecl() && !definition->isDependentContext())
    fillClass(definition, fact);
  classFacts_[fact.usr] = std::move(fact);
}

void Unit::fillClass(const RecordDecl* record, ClassFact& fact) {
  auto* cxx = dyn_cast<CXXRecordDecl>(record);
  fact.attrs = attributes(record);
  if (cxx) {
    for (const CXXBaseSpecifier& base : cxx->bases()) fact.bases.push_back(type(base.getType()));
    fact.isFinal = cxx->hasAttr<FinalAttr>();
    fact.isAbstract = cxx->isAbstract();
    fact.triviallyCopyable = cxx->isTriviallyCopyable();
    for (const CXXConstructorDecl* ctor : cxx->ctors()) {
      if (ctor->isTrivial() || ctor->isDeleted()) continue;
      if (ctor->isCopyConstructor()) fact.copyCtor = usr(ctor);
      if (ctor->isMoveConstructor()) fact.moveCtor = usr(ctor);
    }
    for (const CXXMethodDecl* method : cxx->methods()) {
      if (method->isTrivial() || method->isDeleted()) continue;
      if (method->isCopyAssignmentOperator()) fact.copyAssign = usr(method);
      if (method->isMoveAssignmentOperator()) fact.moveAssign = usr(method);
    }
    if (auto* dtor = cxx->getDestructor(); dtor && !dtor->isTrivial()) fact.dtor = usr(dtor);
  } else {
    fact.triviallyCopyable = true;
  }
  if (fact.inSystemHeader) return;

  std::vector<const ValueDecl*> captured;
  if (fact.isLambda) {
    llvm::DenseMap<const ValueDecl*, FieldDecl*> map;
    FieldDecl* self = nullptr;
    cxx->getCaptureFields(map, self);
    captured.resize(std::distance(cxx->field_begin(), cxx->field_end()));
    for (auto [value, field] : map) captured[field->getFieldIndex()] = value;
    for (const FieldDecl* field : cxx->fields()) {
      FieldFact made = fieldFact(field);
      const ValueDecl* value = captured[field->getFieldIndex()];
      made.name = field == self ? str("this") : value ? str(value->getName()) : 0;
      fact.captures.push_back(made.usr);
      fact.fields.push_back(std::move(made));
    }
  }
  for (const Decl* decl : record->decls()) {
    if (auto* field = dyn_cast<FieldDecl>(decl); field && !fact.isLambda) {
      fact.fields.push_back(fieldFact(field));
    } else if (auto* variable = dyn_cast<VarDecl>(decl);
               variable && variable->isStaticDataMember()) {
      fact.fields.push_back(fieldFact(variable));
      global(variable);
    } else if (auto* method = dyn_cast<CXXMethodDecl>(decl)) {
      // Deleted members can never run, trivial ones are not calls.
      bool helper = fact.isLambda && method->isImplicit() &&
                    (isa<CXXConversionDecl>(method) || method->isStatic());
      if (!helper && !method->isDeleted() && !(method->isImplicit() && method->isTrivial()))
        fact.methods.push_back(function(method));
    } else if (auto* pattern = dyn_cast<FunctionTemplateDecl>(decl)) {
      for (const FunctionDecl* spec : pattern->specializations())
        if (!spec->isDependentContext()) fact.methods.push_back(function(spec));
    } else if (auto* friendly = dyn_cast<FriendDecl>(decl)) {
      if (TypeSourceInfo* info = friendly->getFriendType()) {
        if (auto* tag = info->getType()->getAsTagDecl()) fact.friends.push_back(usr(tag));
      } else if (auto* fn = dyn_cast_or_null<FunctionDecl>(friendly->getFriendDecl())) {
        fact.friends.push_back(function(fn));
      } else if (friendly->getFriendDecl()) {
        fact.friends.push_back(usr(friendly->getFriendDecl()));
      }
    }
  }
}

}  // namespace locktidy::extract
