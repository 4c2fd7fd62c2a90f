import Testing

/// Which module may import which: Package.swift is the only list, and imports go one way.
@Suite struct ImportTests {
  private static let libraries: Set = [
    "CCurl", "CLinux", "COpenSSL", "CPostgres", "CSQLite", "CVersion", "CZlib", "CZstd",
  ]
  private static let system: Set = ["Glibc", "Synchronization"]
  /// Modules without clock, file and thread: bytes and values in, values out.
  private static let pure: Set = ["AppStore", "Entitlements", "StrictJSON"]
  /// What files of these modules must not name: the types of these folders.
  private static let impure = ["Files", "Sockets", "Threads", "Process", "Observability"].map {
    "Sources/Platform/\($0)/"
  }

  private struct Import {
    let file: Repository.File, line: Int, module: String
    var description: String { "\(file.path):\(line): \(module)" }
  }

  private static let imports: [Import] = Repository.own.flatMap { file in
    file.lines.enumerated().compactMap { number, line -> Import? in
      let tokens = line.split(separator: " ").map(String.init)
      guard let keyword = tokens.firstIndex(of: "import"), keyword <= 2, !line.hasPrefix("//"),
        let module = tokens.last, tokens.count == keyword + 2
      else { return nil }
      return Import(file: file, line: number + 1, module: module)
    }
  }

  @Test func `every module of Sources is declared in Package.swift`() {
    let folders = Set(Repository.own.map(\.target)).subtracting(["migrations"])
    #expect(folders == Set(Manifest.dependencies.keys))
    #expect(Self.imports.count > 100)
    #expect(Manifest.dependencies["HTTPServer"] == ["Platform"], "it knows no ledger")
    #expect(
      Manifest.dependencies["Clients"]?.isDisjoint(with: ["Store", "Ledger", "Queries"]) == true,
      "they know no ledger")
  }

  @Test func `modules import only what Package.swift declares`() {
    expectNone(
      Self.imports.filter { entry in
        let declared = Manifest.dependencies[entry.file.target] ?? []
        let system = Self.pure.contains(entry.file.target) ? [] : Self.system
        return !declared.union(system).contains(entry.module)
      }.map(\.description), "imports that Package.swift does not declare")
  }

  @Test func `Package.swift declares no dependency that no file imports`() {
    let used = Dictionary(grouping: Self.imports, by: \.file.target)
      .mapValues { Set($0.map(\.module)) }
    expectNone(
      Manifest.dependencies.flatMap { module, declared in
        declared.subtracting(used[module] ?? []).map { "\(module): \($0)" }
      }.sorted(), "declared and never imported")
  }

  @Test func `Foundation and Dispatch are not imported`() {
    expectNone(
      Self.imports.filter { $0.module.hasPrefix("Foundation") || $0.module == "Dispatch" }
        .map(\.description), "no Foundation")
  }

  @Test func `each C library is imported by exactly one module`() {
    for library in Self.libraries {
      let modules = Set(Self.imports.filter { $0.module == library }.map(\.file.target))
      #expect(modules.count == 1, "\(library) is imported by \(modules.sorted())")
    }
  }

  @Test func `a folder of the clients imports its own library alone`() {
    let folders = [
      "CCurl": "Sources/Clients/HTTP/", "CPostgres": "Sources/Clients/PostgreSQL/",
      "CLinux": "Sources/Platform/",
    ]
    expectNone(
      Self.imports.filter { entry in
        folders[entry.module].map { !entry.file.path.hasPrefix($0) } ?? false
      }.map(\.description), "a C library outside its folder")
  }

  @Test func `modules without clock, file and thread name nothing that has one`() {
    let types = Set(
      Repository.sources.filter { file in
        Self.impure.contains { file.path.hasPrefix($0) }
      }.flatMap(\.lines).filter { $0.hasPrefix("public ") }.compactMap {
        $0.prefixMatch(of: /public (?:final )?(?:struct|class|enum|protocol) (\w+)/)?.1
      })
    #expect(types.count > 30)
    let files = Repository.sources.filter {
      Self.pure.contains($0.target) || $0.path.hasPrefix("Sources/Platform/Encoding/")
    }
    expectNone(
      Repository.offendersInCode(files) { !types.isDisjoint(with: Repository.words($0)) },
      "pure modules")
  }

  @Test func `no pointer and no C type leaves the module that imports the library`() {
    expectNone(
      Repository.offendersInCode(Repository.own) { line in
        line.hasPrefix("public import") && Self.libraries.contains { line.hasSuffix($0) }
      }, "a C library seen from outside")
    let modules: Set = ["SignedData", "Store", "Platform", "Clients", "SharedJournal"]
    expectNone(
      // Encodings call no library: they take bytes of others.
      Repository.offendersInCode(
        Repository.own.filter {
          modules.contains($0.target) && !$0.path.hasPrefix("Sources/Platform/Encoding/")
        }
      ) { line in
        line.contains("Pointer")
          && line.contains(/\b(public|package)\b.*\b(Unsafe\w*Pointer|OpaquePointer)\b/)
      }, "a pointer in a signature that leaves its module")
  }

  @Test func `SQL is in the stores alone`() {
    let statement =
      /\b(SELECT\s.+\sFROM|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|PRAGMA\s|CREATE\s+TABLE)/
    let verbs: Set<Substring> = ["SELECT", "INSERT", "UPDATE", "DELETE", "PRAGMA", "CREATE"]
    let stores = ["Store", "SharedJournal/PostgreSQL", "Delivery/Mirror"].map { "Sources/\($0)/" }
    let elsewhere = Repository.sources
      .filter { file in !stores.contains { file.path.hasPrefix($0) } }
      .map { Repository.File(path: $0.path, text: Repository.texts[$0.path]?.strings ?? "") }
    expectNone(
      Repository.offenders(elsewhere) {
        !verbs.isDisjoint(with: Repository.words($0)) && $0.contains(statement)
      }, "SQL outside the stores")
  }

  @Test func `the fold has no clock, no randomness and no locale`() {
    let banned = ["Clock", ".random", "Date(", "gettime", "Locale", "print("]
    expectNone(
      Repository.offendersInCode(Repository.sources.filter { $0.target == "Entitlements" }) {
        line in banned.contains { line.contains($0) }
      }, "the fold must depend on events and a given time alone")
  }
}
