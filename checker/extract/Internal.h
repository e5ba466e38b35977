// The parts of extraction and how they hang together:
//
//   Sources   where things are written: files, locations, anchors, macros
//   Unit      one translation unit: names, types, classes, globals, functions
//   Plan      one look at a body before it is lowered: which expression
//             constructs which object, which variables stay as initialised
//   Lowering  one body: Clang's CFG to blocks of events
#pragma once

#include "checker/extract/Extract.h"
#include "checker/extract/Pch.h"
#include "checker/model/Facts.h"
#include "checker/model/Interner.h"

// GCC 12 takes every std::string appended to for an overflow (its bug 105651).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wrestrict"
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

namespace locktidy::extract {

using namespace clang;

// ---------------------------------------------------------------------------
// Sources.cpp
// ---------------------------------------------------------------------------
class Sources {
 public:
  Sources(SourceManager& manager, const LangOptions& options, TuFacts& facts, Interner& strings,
          std::string root, std::string directory)
      : sm(manager), langOpts(options), facts_(facts), strings_(strings), root_(std::move(root)),
        directory_(std::move(directory)) {}

  // Fills TuFacts::files; before it is called no location can be made.
  void collectFiles();
  // Written in a file of the program: not a system header, not below /usr.
  bool isProgram(SourceLocation at);
  Loc loc(SourceLocation at);
  // Not valid if a macro had a part in any token of the range.
  Anchor anchor(SourceRange tokens);
  bool isWritten(SourceLocation at) const;
  // The outermost macro `at` came out of: its name, the name's token, the expansion.
  Str macroName(SourceLocation at);
  void macroAnchors(SourceLocation at, Anchor& name, Anchor& whole);
  // Identifiers between two places of one file; sorted, unique.
  std::vector<Str> identifiers(SourceRange tokens);
  // "src/a.cc:12:3" of the expansion point.
  std::string position(SourceLocation at);
  std::string relative(StringRef path) const;

  SourceManager& sm;
  const LangOptions& langOpts;

 private:
  uint32_t fileIndex(FileID id);
  bool isSystem(FileID id);

  TuFacts& facts_;
  Interner& strings_;
  std::string root_, directory_;
  llvm::DenseMap<const FileEntry*, uint32_t> index_;
  llvm::DenseMap<FileID, uint32_t> byId_;
  llvm::DenseMap<FileID, bool> system_;
};

// Below `root`: relative to it. Else absolute. No dots either way.
std::string relativePath(StringRef root, StringRef directory, StringRef path);

// Watches the preprocessor; what it saw is made into facts once parsing is over.
struct PreprocessorLog {
  struct Macro {
    std::string name;
    const MacroInfo* info;
  };
  std::vector<SourceRange> skipped;
  std::vector<Macro> macros;
  std::vector<SourceRange> comments;
};
void watchPreprocessor(Preprocessor& pp, PreprocessorLog& log);

// ---------------------------------------------------------------------------
// Unit: Names.cpp, Types.cpp, Entities.cpp, Attributes.cpp, Walk.cpp
// ---------------------------------------------------------------------------
class Unit {
 public:
  Unit(ASTContext& context, Preprocessor& preprocessor, TuFacts& facts, const ExtractJob& job);

  // Everything: walks the declarations, lowers bodies, writes the facts.
  void run(const PreprocessorLog& log, const std::vector<SourceLocation>& errors);

  // Names.
  Str usr(const Decl* decl);
  Str qualifiedName(const NamedDecl* decl);
  std::string display(const FunctionDecl* function);
  std::string baseName(const NamedDecl* decl);
  Str fieldUsr(const FieldDecl* field) { return usr(field); }

  // Types. `type` records a TypeFact and returns the type's name.
  Str type(QualType type);
  std::string typeName(QualType type);
  std::string className(const TagDecl* tag);

  // Entities: each records what its USR stands for and returns the USR.
  Str function(const FunctionDecl* function);
  Str global(const VarDecl* variable);
  void noteClass(const RecordDecl* record);
  FunctionFacts& functionFacts(const FunctionDecl* function);
  void addressTaken(const FunctionDecl* function, SourceLocation at, QualType as = QualType());
  std::vector<AttrFact> attributes(const Decl* decl);
  void alias(const TypedefNameDecl* decl);
  void initMacros(const ValueDecl* entity, const Expr* init);
  // The type specifier of a declaration as written, without cv, *, & and [].
  Anchor specifier(const DeclaratorDecl* decl);

  // Bodies found while lowering another one.
  void enqueueLambda(const LambdaExpr* lambda, Str parent);
  void enqueueClass(const CXXRecordDecl* record);
  void enqueueInitializer(const VarDecl* variable);

  Str str(StringRef text) { return strings.intern(std::string_view(text.data(), text.size())); }

  ASTContext& ctx;
  Preprocessor& pp;
  TuFacts& facts;
  Interner strings;
  Sources sources;
  PrintingPolicy policy;

 private:
  // Names.
  std::string ownUsr(const Decl* decl);
  bool needsOwnUsr(const Decl* decl);
  bool mentionsLocal(QualType type);
  bool mentionsLocal(ArrayRef<TemplateArgument> args);
  std::string scope(const DeclContext* context, bool withArguments);
  std::string printArguments(ArrayRef<TemplateArgument> args);
  std::string printArgument(const TemplateArgument& arg);
  // Types.
  std::string declare(QualType type, std::string inner);
  std::string unnamedTag(const TagDecl* tag);
  std::string prototype(const FunctionType* type, std::string inner);
  // Entities.
  void drainClasses();
  void classFact(const RecordDecl* record);
  void fillClass(const RecordDecl* record, ClassFact& fact);
  FieldFact fieldFact(const DeclaratorDecl* field);
  Path attributePath(const Expr* expr);
  // Walk.
  void walk(const DeclContext* context);
  void walkDecl(const Decl* decl);
  void walkRecord(const RecordDecl* record);
  void walkClassTemplate(const ClassTemplateDecl* decl);
  void walkFunctionTemplate(const FunctionTemplateDecl* decl);
  void walkFunction(const FunctionDecl* function);
  void walkVariable(const VarDecl* variable);
  void lower(const FunctionDecl* function);
  void lowerInitializer(const VarDecl* variable);
  void notePattern(const FunctionDecl* pattern);
  void drain();
  bool hasErrors(SourceRange range);
  void finish(const PreprocessorLog& log);

  llvm::DenseMap<const Decl*, Str> usrs_;
  std::unordered_map<Str, const Decl*> usrOwner_;
  SmallVector<const FunctionDecl*, 4> displaying_;  // ends recursion through a parameter's type
  llvm::DenseMap<const Decl*, Str> names_, classNames_;
  llvm::DenseMap<const void*, Str> types_;  // opaque canonical QualType -> name
  std::unordered_map<Str, TypeFact> typeFacts_;
  std::unordered_map<Str, ClassFact> classFacts_;
  std::unordered_map<Str, GlobalFact> globalFacts_;
  std::unordered_map<Str, FunctionFacts> functionFacts_;
  llvm::DenseMap<const Decl*, FunctionFacts*> functionsByDecl_;
  llvm::DenseSet<const Decl*> classesDone_, globalsDone_, walked_;
  std::set<std::pair<Str, uint32_t>> addressTakenSeen_;
  llvm::DenseMap<const void*, bool> mentionsLocal_;
  // Closures and local classes wait here until the body around them is done.
  std::vector<const CXXRecordDecl*> pendingClasses_;
  std::vector<const RecordDecl*> classQueue_;
  std::vector<std::pair<const LambdaExpr*, Str>> pendingLambdas_;
  std::vector<const VarDecl*> pendingInitializers_;
  llvm::DenseMap<const Decl*, Str> lambdaParent_;
  llvm::DenseSet<const FunctionDecl*> loweredPatterns_;
  std::vector<const FunctionDecl*> patterns_;
  llvm::DenseSet<const FunctionDecl*> patternSeen_;
  std::vector<SourceLocation> errors_;
};

// Not pointers only: anything whose value says where something is.
bool isPointerLike(QualType type);
// These, and integers whose declared type is one made to hold addresses.
bool carriesPointer(QualType type);
// Strips what changes neither the object nor where it is constructed.
const Expr* skipTransparent(const Expr* expr);
bool isStringLike(const Expr* expr);
// `to = from` by an operator= that only copies bytes.
bool isTrivialAssignment(const CallExpr* call, const Expr*& to, const Expr*& from);
// Calls `use` with each field an initialiser list initialises; null for a base.
void forEachInit(const Expr* list, ArrayRef<Expr*> inits,
                 llvm::function_ref<void(const FieldDecl*, const Expr*)> use);

// ---------------------------------------------------------------------------
// Plan.cpp
// ---------------------------------------------------------------------------
struct Target {
  Path path;
  const Expr* placement = nullptr;  // new (placement) T: the object is what it points to
};

struct VariableUse {
  uint32_t writes = 0;
  bool escapes = false;  // its address or a reference to it is taken
};

class Plan {
 public:
  Plan(Unit& unit, FunctionFacts& facts) : u_(unit), facts_(facts) {}

  void scan(const Stmt* body);
  void scanInitializer(const CXXCtorInitializer* init);
  void scanGlobal(const VarDecl* variable);

  // Index into FunctionFacts::locals; makes one if the variable is new.
  uint32_t local(const VarDecl* variable);
  // The slot that stands for an expression's object or value.
  uint32_t slot(const Expr* expr);
  bool isStable(const VarDecl* variable) const;
  // Writes into the facts how often each variable is written.
  void finish();

  llvm::DenseMap<const Expr*, Target> targets;
  llvm::DenseMap<const CXXNewExpr*, uint32_t> fresh;
  llvm::DenseSet<const Expr*> callees, discarded, implicit, unevaluated;
  llvm::DenseSet<const CXXBindTemporaryExpr*> elided;  // temporaries that are never made
  llvm::DenseMap<const CXXConstructExpr*, const ExplicitCastExpr*> functionalCasts;  // T(x)
  llvm::DenseMap<const CXXThrowExpr*, std::vector<const VarDecl*>> throws;
  llvm::DenseMap<const VarDecl*, VariableUse> uses;
  bool broken = false;  // contains an expression that did not compile

 private:
  void walk(const Stmt* stmt);
  void walkChildren(const Stmt* stmt);
  void declare(const VarDecl* variable, const DeclStmt* statement);
  void assignTarget(const Expr* expr, Target target);
  void assignList(const Expr* list, ArrayRef<Expr*> inits, const Target& target);
  void markElided(const Expr* source);
  void discard(const Stmt* stmt);
  void markImplicit(const Stmt* stmt);
  void markUnevaluated(const Stmt* stmt);
  void describe(const VarDecl* variable, const DeclStmt* statement, LocalInfo& info);

  Unit& u_;
  FunctionFacts& facts_;
  llvm::DenseMap<const VarDecl*, uint32_t> locals_;
  llvm::DenseMap<const Expr*, uint32_t> slots_;
  std::vector<const VarDecl*> scope_;
  size_t tryScope_ = 0;
};

// ---------------------------------------------------------------------------
// Lowering: Lowering.cpp, Statements.cpp, Calls.cpp, Paths.cpp
// ---------------------------------------------------------------------------
class Lowering {
 public:
  Lowering(Unit& unit, FunctionFacts& facts, const FunctionDecl* function);

  void run(const FunctionDecl* definition);
  // The initialiser of a variable that no function owns.
  void runInitializer(const VarDecl* variable);

 private:
  // Lowering.cpp: the graph.
  void build(const Decl* decl, Stmt* body);
  void element(const CFGElement& element);
  Branch branch(const CFGBlock& block);
  Branch condition(const Expr* expr);
  void opaque(StringRef reason);

  // Statements.cpp: one node at a time.
  void visit(const Stmt* stmt);
  void visitTree(const Stmt* stmt);
  void declaration(const VarDecl* variable);
  void memberInitializer(const CXXCtorInitializer* init);
  void returnStatement(const ReturnStmt* stmt);
  void assignment(const BinaryOperator* op);
  void increment(const UnaryOperator* op);
  void conditional(const AbstractConditionalOperator* op);
  void initList(const Expr* list, ArrayRef<Expr*> inits);
  void lambda(const LambdaExpr* lambda);
  void load(const CastExpr* cast);
  void catchVariable(const CXXCatchStmt* stmt);
  void note(const Stmt* stmt, StringRef what);

  // Calls.cpp
  void call(const CallExpr* expr);
  void construct(const CXXConstructExpr* expr);
  void inheritedConstruct(const CXXInheritedCtorInitExpr* expr);
  void newExpression(const CXXNewExpr* expr);
  void deleteExpression(const CXXDeleteExpr* expr);
  void atomicExpression(const AtomicExpr* expr);
  void atomicAccess(StringRef name, const Expr* object, const Expr* at);
  uint32_t destroy(Path self, QualType type, SourceLocation at, bool mayOverride);
  void destroyVariable(const VarDecl* variable, SourceLocation at);
  void temporaryDestructor(const CXXBindTemporaryExpr* expr);
  void cleanupFunction(const VarDecl* variable);
  Arg argument(const Expr* expr, QualType parameter);
  uint32_t emitCall(Call call, const Stmt* at);
  void placeCall(Call& call, const Expr* expr, SourceLocation name, SourceRange nameRange);
  void storeResult(const Expr* expr, uint32_t id);
  void trivialCopy(Path to, Path from, QualType type, bool initializes, const Stmt* at);
  const CXXMethodDecl* lambdaConversion(const CallExpr* expr);

  // Paths.cpp
  Path place(const Expr* expr);
  Value pointer(const Expr* expr);  // of a prvalue that is no class object
  Value value(const Expr* expr);    // of anything
  Path deref(const Value& value);
  Path declPlace(const ValueDecl* decl, const DeclRefExpr* ref);
  Path memberPlace(const MemberExpr* expr);
  Path elementPlace(const ArraySubscriptExpr* expr);
  Path target(const Expr* expr);  // where a class or array prvalue is constructed
  Str indexName(const Expr* expr);
  bool indexText(const Expr* expr, std::string& out);
  Path field(Path base, const FieldDecl* field);
  const FieldDecl* captureOf(const ValueDecl* decl);
  Path closure();

  // Events.
  Event& emit(EventKind kind, const Stmt* at);
  Event& emit(EventKind kind, SourceLocation at);
  void read(Path place, QualType type, const Stmt* at);
  void write(Path place, QualType type, StringRef op, const Stmt* at, bool rmw = false,
             bool used = false);
  void bind(Path place, Value value, const Stmt* at);
  // Initialises `place`: a Write unless it is local, then Bind or Copy.
  void initialize(Path place, QualType type, const Expr* init, const Stmt* at);

  Unit& u;
  FunctionFacts& facts;
  const FunctionDecl* function;
  Plan plan;
  Block* block = nullptr;
  SourceLocation usedAt;  // inside a default argument: the call that uses it
  llvm::DenseMap<const CXXBindTemporaryExpr*, SourceLocation> temporaryUsedAt;
  SourceLocation fallback;  // for events that nothing written stands for
  bool constantInit = false;
  llvm::DenseMap<const Expr*, uint32_t> callIds;
  llvm::DenseMap<const ValueDecl*, FieldDecl*> captures;
  FieldDecl* thisCapture = nullptr;
  llvm::DenseMap<const VarDecl*, uint32_t> initCalls;  // variable -> call that initialised it
};

}  // namespace locktidy::extract
