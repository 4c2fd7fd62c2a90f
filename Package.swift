// swift-tools-version: 6.2
import PackageDescription

// The modules and what each may import: dependencies go one way, and a C library is imported by
// exactly one Swift target. `Tests/ArchitectureTests` checks the code against this file.

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

func module(_ name: String, _ imports: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: imports, swiftSettings: strict)
}

func tests(
  _ module: String, _ imports: [Target.Dependency] = [], fixtures: Bool = false
) -> Target {
  .testTarget(
    name: "\(module)Tests", dependencies: imports,
    resources: fixtures ? [.copy("Fixtures")] : [], swiftSettings: strict)
}

// Everything a whole ledger consists of, for targets that hold one.
let ledger: [Target.Dependency] = [
  "LedgerAudit", "LedgerQueries", "LedgerEngine", "Configuration", "JournalStore", "Entitlements",
  "AppStore", "Observability", "SignedData", "Platform", "StrictJSON", "Encoding",
]

let package = Package(
  name: "subledger",
  products: [
    .executable(name: "subledger", targets: ["subledger"]),
    // Preloaded into the program by tests of power loss and disk faults; not part of the product.
    .library(name: "RecordedDisk", type: .dynamic, targets: ["RecordedDisk"]),
  ],
  targets: [
    .executableTarget(
      name: "subledger",
      dependencies: [
        "LedgerAPI", "HTTPServer", "AppStoreStandIn", "Simulator", "Delivery", "PostgresMirror",
        "Recovery",
        "Reconciliation", "LedgerAudit", "LedgerQueries",
        "LedgerEngine", "Configuration", "PostgresJournal", "PostgresClient",
        "SharedJournalConformance", "JournalStore", "Entitlements", "AppStoreClient",
        "HTTPClient", "AppStore", "SignedData",
        "Observability", "Platform", "StrictJSON", "Encoding", "CVersion",
      ],
      swiftSettings: strict),
    // The commit that `make build` passes, as a part of the version; empty elsewhere.
    .target(
      name: "CVersion",
      cSettings: [
        .define(
          "SUBLEDGER_COMMIT", to: "\"\(Context.environment["SUBLEDGER_COMMIT"] ?? "")\"")
      ]),
    // Measures the release binary from outside; not part of the product.
    .executableTarget(
      name: "subledger-bench",
      dependencies: [
        "Simulator", "JournalStore", "AppStore", "SignedData", "Platform", "StrictJSON", "Encoding",
      ],
      path: "Tests/Bench", swiftSettings: strict),
    module(
      "LedgerAPI",
      [
        "HTTPServer", "Console", "Delivery", "LedgerQueries", "LedgerEngine", "Configuration",
        "JournalStore", "Entitlements", "AppStore", "Observability", "Platform",
        "StrictJSON",
        "Encoding",
      ]),
    module("HTTPServer", ["Platform"]),
    module("HTTPClient", ["CCurl", "Platform"]),
    module("PostgresClient", ["CPostgres", "Platform"]),
    // The shared journal of several daemons.
    module(
      "PostgresJournal",
      [
        "PostgresClient", "JournalStore", "Migrations", "AppStore", "SignedData", "Platform",
        "Encoding",
      ]),
    module("SharedJournalConformance", ["JournalStore", "AppStore", "SignedData", "Platform"]),
    module(
      "AppStoreClient",
      ["HTTPClient", "AppStore", "SignedData", "Platform", "StrictJSON", "Encoding"]),
    // Sends changes to webhooks and other receivers.
    module(
      "Delivery",
      [
        "PostgresMirror", "LedgerQueries", "LedgerEngine", "Configuration", "HTTPClient",
        "JournalStore", "Entitlements", "AppStore", "Observability", "SignedData", "Platform",
        "StrictJSON", "Encoding",
      ]),
    // Keeps rows current in a PostgreSQL database of the owner's.
    module(
      "PostgresMirror",
      [
        "PostgresClient", "Migrations", "LedgerQueries", "LedgerEngine", "Configuration",
        "JournalStore", "Entitlements", "AppStore", "Observability", "SignedData", "Platform",
        "StrictJSON", "Encoding",
      ]),
    module(
      "Recovery",
      [
        "Reconciliation", "LedgerQueries", "LedgerEngine", "AppStoreClient", "HTTPClient",
        "Configuration", "JournalStore", "AppStore", "Observability", "Platform", "StrictJSON",
        "Encoding",
      ]),
    module(
      "Reconciliation",
      [
        "LedgerQueries", "LedgerEngine", "AppStoreClient", "HTTPClient", "JournalStore",
        "Entitlements", "AppStore", "SignedData", "Platform", "StrictJSON", "Encoding",
      ]),
    // The console's pages, embedded as bytes.
    .target(name: "Console", resources: [.embedInCode("pages")], swiftSettings: strict),
    module("Simulator", ["SignedData", "Platform", "StrictJSON", "Encoding"]),
    // A local App Store Server API over the simulated customers.
    module(
      "AppStoreStandIn",
      ["HTTPServer", "Simulator", "SignedData", "Platform", "StrictJSON", "Encoding"]),
    module(
      "LedgerAudit",
      [
        "LedgerQueries", "LedgerEngine", "Configuration", "JournalStore", "Entitlements",
        "AppStore", "Observability", "SignedData", "Platform", "StrictJSON", "Encoding",
      ]),
    module(
      "LedgerQueries",
      [
        "LedgerEngine", "Configuration", "JournalStore", "Entitlements", "AppStore",
        "Observability", "SignedData", "Platform", "StrictJSON", "Encoding",
      ]),
    module(
      "LedgerEngine",
      [
        "Configuration", "JournalStore", "Entitlements", "AppStore", "Observability",
        "SignedData", "Platform", "StrictJSON", "Encoding",
      ]),
    module(
      "Configuration",
      [
        "HTTPClient", "PostgresClient", "Entitlements", "AppStore", "Observability", "SignedData",
        "Platform", "StrictJSON", "Encoding",
      ]),
    module(
      "JournalStore",
      [
        "CSQLite", "CZstd", "Migrations", "Entitlements", "AppStore", "SignedData", "Platform",
        "StrictJSON", "Encoding",
      ]),
    module("Entitlements", ["AppStore", "Encoding"]),
    module("AppStore", ["StrictJSON", "Encoding"]),
    module("SignedData", ["COpenSSL", "StrictJSON", "Encoding"]),
    module("Observability", ["Platform", "Encoding", "StrictJSON"]),
    module("StrictJSON"),
    module("Platform", ["CLinux"]),
    module("Encoding"),
    .target(
      name: "Migrations", path: "migrations",
      resources: [.embedInCode("sqlite"), .embedInCode("postgres")],
      swiftSettings: strict),
    // What several test targets share: a signing authority, forged signatures, a ledger inside the
    // test's process, a second implementation of the fold, and the built program as a process.
    .target(
      name: "Support",
      dependencies: ledger + ["Migrations", "Simulator", "CSpawn"],
      path: "Tests/Support", exclude: ["RecordedDisk", "CSpawn"], swiftSettings: strict),
    .systemLibrary(name: "CSpawn", path: "Tests/Support/CSpawn"),
    .target(name: "RecordedDisk", path: "Tests/Support/RecordedDisk"),
    tests("Encoding", ["Encoding"]),
    tests("Platform", ["Support", "Platform"]),
    tests("Observability", ["Observability", "StrictJSON"]),
    tests("StrictJSON", ["StrictJSON"]),
    tests("SignedData", ["Support", "SignedData", "Simulator", "StrictJSON", "Encoding"]),
    tests("AppStore", ["AppStore", "Simulator", "StrictJSON"]),
    tests("Entitlements", ["Support", "Entitlements", "AppStore"]),
    // The fold against lives that know what is true.
    tests("Truth", ["Support", "Entitlements", "AppStore", "StrictJSON"]),
    tests(
      "JournalStore",
      [
        "Support", "JournalStore", "Entitlements", "AppStore", "SignedData", "Platform", "Encoding",
      ]),
    tests("Configuration", ledger + ["Support", "Simulator", "HTTPClient", "PostgresClient"]),
    tests("Delivery", ledger + ["Support", "Delivery", "HTTPClient"]),
    tests("LedgerEngine", ledger + ["Support", "Simulator"], fixtures: true),
    tests("LedgerQueries", ledger + ["Support", "Simulator"], fixtures: true),
    tests("HTTPServer", ["HTTPServer", "Platform"]),
    tests("HTTPClient", ["Support", "HTTPClient", "Platform"]),
    tests("PostgresClient", ["Support", "PostgresClient", "Platform"]),
    tests(
      "PostgresJournal",
      [
        "Support", "PostgresJournal", "SharedJournalConformance", "PostgresClient", "JournalStore",
        "Migrations", "AppStore", "SignedData", "Platform",
      ]),
    tests(
      "AppStoreClient",
      [
        "Support", "AppStoreClient", "HTTPClient", "AppStore", "SignedData", "Platform",
        "StrictJSON", "Encoding",
      ]),
    tests(
      "Recovery", ["Recovery", "AppStore", "StrictJSON", "Encoding"]),
    tests(
      "Reconciliation",
      [
        "Reconciliation", "LedgerQueries", "LedgerEngine", "AppStoreClient", "Entitlements",
        "AppStore", "StrictJSON", "Encoding",
      ]),
    tests(
      "LedgerAPI", ledger + ["Support", "LedgerAPI", "HTTPServer", "Simulator"], fixtures: true),
    tests("Simulator", ["Simulator", "SignedData", "Platform", "StrictJSON", "Encoding"]),
    tests(
      "AppStoreStandIn",
      [
        "Support", "AppStoreStandIn", "HTTPServer", "Simulator", "SignedData", "Platform",
        "StrictJSON", "Encoding",
      ]),
    tests(
      "Bench",
      ["AppStore", "subledger-bench", "Simulator", "JournalStore", "Platform", "StrictJSON"]),
    tests("Architecture"),
    // The built program over real sockets.
    tests(
      "EndToEnd",
      ledger + ["Support", "subledger", "Simulator", "AppStoreClient", "HTTPClient"],
      fixtures: true),
    // Daemons on one database, as processes.
    tests("SharedJournal", ledger + ["Support", "subledger", "Simulator"]),
    tests("HostileInput", ledger + ["Support", "subledger", "Simulator"]),
    tests("Durability", ledger + ["Support", "subledger", "Simulator"]),
    // The whole ledger under a seeded scheduler; SQLite's files through a layer that can fail.
    tests("Simulation", ledger + ["Support", "CSQLite"]),
    // The parsers that untrusted input reaches, and what must hold of them; libFuzzer is linked by
    // `.ci/fuzz`.
    .target(
      name: "Fuzz",
      dependencies: ledger + ["Support", "LedgerAPI", "HTTPServer", "Simulator"],
      path: "Tests/Fuzz", exclude: ["Authority", "Corpus", "Dictionaries"], swiftSettings: strict),
    tests("Fuzz", ["Fuzz", "Simulator"]),
    .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CPostgres", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CZstd", providers: [.apt(["libzstd-dev"])]),
  ],
  swiftLanguageModes: [.v6]
)

// Building all tests takes minutes: SUBLEDGER_TEST_TARGETS="DeliveryTests EndToEndTests" leaves the
// other test targets out while one works on a part.
if let chosen = Context.environment["SUBLEDGER_TEST_TARGETS"]?.split(separator: " ") {
  package.targets.removeAll { $0.type == .test && !chosen.contains(Substring($0.name)) }
}
