import Testing

/// Who may know whom: arrows go one way, and each C library has one door.
@Suite struct ImportTests {
  private static let libraries: Set = ["CLinux", "COpenSSL", "CSQLite", "CZstd"]
  private static let system: Set = ["Glibc", "Synchronization"]
  private static let allowed: [String: Set<String>] = [
    "subledger": [
      "HTTPFront", "Simulator", "SubscriptionLedger", "JournalStore", "Platform", "StrictJSON",
    ],
    "HTTPFront": ["SubscriptionLedger", "Console", "Platform", "StrictJSON"],
    "Console": [],
    "Simulator": ["AppStore", "SignedData", "Platform", "StrictJSON"],
    "SubscriptionLedger": [
      "AppStore", "SignedData", "Entitlements", "JournalStore", "Platform", "StrictJSON",
    ],
    "AppStore": ["StrictJSON"],
    "SignedData": ["COpenSSL", "StrictJSON"],
    "Entitlements": ["AppStore"],
    "JournalStore": ["CSQLite", "CZstd", "Migrations", "SignedData", "Platform"],
    "StrictJSON": [],
    "Platform": ["CLinux"],
    "migrations": [],
  ]
  /// Pure: bytes and values in, values out; no clock, no file, no thread.
  private static let pure: Set = ["AppStore", "Entitlements", "StrictJSON"]

  private struct Import {
    let file: Repository.File, line: Int, module: String
    var place: String { "\(file.path):\(line): \(module)" }
  }

  private static let imports: [Import] = Repository.own.flatMap { file in
    file.lines.enumerated().compactMap { number, line -> Import? in
      let words = line.split(separator: " ").map(String.init)
      guard let word = words.firstIndex(of: "import"), word <= 2, !line.hasPrefix("//"),
        let module = words.last, words.count == word + 2
      else { return nil }
      return Import(file: file, line: number + 1, module: module)
    }
  }

  private func expectNone(
    _ offenders: [String], _ rule: String, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(
      offenders.isEmpty, "\(rule):\n\(offenders.joined(separator: "\n"))",
      sourceLocation: sourceLocation)
  }

  @Test func everyRoomIsKnown() {
    #expect(Set(Repository.own.map(\.room)) == Set(Self.allowed.keys))
    #expect(Self.imports.count > 100)
  }

  @Test func roomsImportWhatTheHouseAllows() {
    expectNone(
      Self.imports.filter { entry in
        let rooms = Self.allowed[entry.file.room] ?? []
        let system = Self.pure.contains(entry.file.room) ? [] : Self.system
        return !rooms.union(system).contains(entry.module)
      }.map(\.place), "imports outside the house's arrows")
  }

  @Test func foundationIsNowhere() {
    expectNone(
      Self.imports.filter { $0.module.hasPrefix("Foundation") || $0.module == "Dispatch" }
        .map(\.place), "no Foundation")
  }

  @Test func eachLibraryIsImportedOnce() {
    for library in Self.libraries {
      let rooms = Set(Self.imports.filter { $0.module == library }.map(\.file.room))
      #expect(rooms.count == 1, "\(library) is imported by \(rooms.sorted())")
    }
  }

  /// A C library's import stays inside: `public import` would hand its types on.
  @Test func librariesAreNotHandedOn() {
    expectNone(
      Repository.offendersInCode(Repository.own) { line in
        line.hasPrefix("public import") && Self.libraries.contains { line.hasSuffix($0) }
      }, "a C library seen from outside")
    let rooms: Set = ["SignedData", "JournalStore", "Platform"]
    expectNone(
      Repository.offendersInCode(Repository.own.filter { rooms.contains($0.room) }) { line in
        line.contains(/\b(public|package)\b.*\b(Unsafe\w*Pointer|OpaquePointer)\b/)
      }, "a pointer in a signature that leaves its room")
  }

  @Test func sqlIsInTheStoreAlone() {
    let statement =
      /\b(SELECT\s.+\sFROM|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|PRAGMA\s|CREATE\s+TABLE)/
    let elsewhere = Repository.sources.filter { $0.room != "JournalStore" }
      .map { Repository.File(path: $0.path, text: Repository.texts[$0.path]?.strings ?? "") }
    expectNone(Repository.offenders(elsewhere) { $0.contains(statement) }, "SQL outside the store")
  }

  /// The fold has no clock, no randomness, no locale.
  @Test func theFoldIsPure() {
    let words = ["Clock", ".random", "Date(", "gettime", "Locale", "print("]
    expectNone(
      Repository.offendersInCode(Repository.sources.filter { $0.room == "Entitlements" }) { line in
        words.contains { line.contains($0) }
      }, "the fold must depend on events and a given time alone")
  }
}
