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

/// - Parameter computes: whether the tests themselves compute much. Others wait for processes, files
///   and sockets, and are built without optimization in a release build too: in a third of the time.
/// - Parameter isLarge: whether it is compiled on several processors, because nothing is left to
///   build beside it.
func tests(
  _ module: String, _ imports: [Target.Dependency] = [], fixtures: Bool = false,
  computes: Bool = false, isLarge: Bool = false
) -> Target {
  let parallel = isLarge ? ["-no-whole-module-optimization", "-enable-batch-mode"] : []
  return .testTarget(
    name: "\(module)Tests", dependencies: imports,
    resources: fixtures ? [.copy("Fixtures")] : [],
    swiftSettings: strict
      + (computes
        ? [] : [.unsafeFlags(["-Onone"] + parallel, .when(configuration: .release))]))
}

// The pages that `subledger help operating` prints. A folder inside a catalog of documentation is no
// resource; its files are.
let operatingPages = [
  "install", "containers", "kubernetes", "run", "connect", "recover", "backends", "customers",
  "queries", "finance", "accounts", "refunds", "privacy", "webhooks", "forward", "mirror",
  "monitor", "faults", "backup", "prove", "rules", "shared-journal", "simulate", "format",
]

// Everything a whole ledger consists of, for targets that hold one.
let ledger: [Target.Dependency] = [
  "Audit", "Queries", "Ledger", "Clients", "Store", "Entitlements", "AppStore", "SignedData",
  "Platform", "StrictJSON",
]

let package = Package(
  name: "subledger",
  products: [
    .executable(name: "subledger", targets: ["Program"]),
    // Preloaded into the program by tests of power loss and disk faults; not part of the product.
    .library(name: "RecordedDisk", type: .dynamic, targets: ["RecordedDisk"]),
  ],
  targets: [
    // Swift's standard library is linked into the program: it runs without a toolchain. That is an
    // option of the linker alone, so that tests link the same objects.
    .executableTarget(
      name: "Program", dependencies: ["subledger"], swiftSettings: strict,
      linkerSettings: [.unsafeFlags(["-static-stdlib"])]),
    .target(
      name: "subledger",
      dependencies: [
        "API", "HTTPServer", "AppStoreSimulator", "Delivery", "Recovery", "SharedJournal", "Audit",
        "Queries", "Ledger", "Clients", "Store", "Entitlements", "AppStore", "SignedData",
        "Platform", "StrictJSON", "CVersion",
      ],
      resources: operatingPages.map { .embedInCode("subledger.docc/operating/\($0).md") },
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
        "AppStoreSimulator", "Store", "AppStore", "SignedData", "Platform", "StrictJSON",
      ],
      path: "Tests/Bench", swiftSettings: strict),
    // Routes, answers, and the console's pages, embedded as bytes.
    .target(
      name: "API",
      dependencies: [
        "HTTPServer", "Delivery", "Queries", "Ledger", "Store", "Entitlements", "AppStore",
        "Platform", "StrictJSON",
      ],
      resources: [.embedInCode("Console/pages")], swiftSettings: strict),
    // Knows no ledger.
    module("HTTPServer", ["Platform"]),
    // HTTP, PostgreSQL, and Apple's App Store Server API. Knows no ledger.
    module(
      "Clients", ["CCurl", "CPostgres", "AppStore", "SignedData", "Platform", "StrictJSON"]),
    // One journal for several daemons.
    module(
      "SharedJournal", ["Clients", "Store", "Migrations", "AppStore", "SignedData", "Platform"]),
    // Sends changes to webhooks and other receivers, and keeps rows current in PostgreSQL.
    module(
      "Delivery",
      [
        "Queries", "Ledger", "Clients", "Store", "Migrations", "Entitlements", "AppStore",
        "SignedData", "Platform", "StrictJSON",
      ]),
    // Asks Apple for what is missing, and compares customers with what Apple says.
    module(
      "Recovery",
      [
        "Queries", "Ledger", "Clients", "Store", "Entitlements", "AppStore", "SignedData",
        "Platform", "StrictJSON",
      ]),
    // A local App Store: signs, posts, answers its API.
    module(
      "AppStoreSimulator", ["HTTPServer", "Clients", "SignedData", "Platform", "StrictJSON"]),
    module(
      "Audit",
      [
        "Queries", "Ledger", "Store", "Entitlements", "AppStore", "SignedData", "Platform",
        "StrictJSON",
      ]),
    module(
      "Queries",
      [
        "Ledger", "Store", "Entitlements", "AppStore", "SignedData", "Platform", "StrictJSON",
      ]),
    module(
      "Ledger",
      [
        "Clients", "Store", "Entitlements", "AppStore", "SignedData", "Platform", "StrictJSON",
      ]),
    // Its reports are embedded as bytes, and how Apple's are compared with the ledger.
    .target(
      name: "Store",
      dependencies: [
        "CSQLite", "CZstd", "Migrations", "Entitlements", "AppStore", "SignedData", "Platform",
        "StrictJSON",
      ],
      resources: [.embedInCode("Query/Reports"), .embedInCode("Query/Comparison")],
      swiftSettings: strict),
    module("Entitlements", ["AppStore", "Platform"]),
    module("AppStore", ["StrictJSON", "Platform"]),
    module("SignedData", ["COpenSSL", "StrictJSON", "Platform"]),
    module("Platform", ["CLinux", "CZlib", "StrictJSON"]),
    module("StrictJSON"),
    .target(
      name: "Migrations", path: "migrations",
      resources: [.embedInCode("sqlite"), .embedInCode("postgres")],
      swiftSettings: strict),
    // What several test targets share: a signing authority, forged signatures, a ledger inside the
    // test's process, a second implementation of the fold, and the built program as a process.
    .target(
      name: "Support",
      dependencies: ledger + ["Migrations", "AppStoreSimulator", "CSpawn"],
      path: "Tests/Support", exclude: ["RecordedDisk", "CSpawn"], swiftSettings: strict),
    .systemLibrary(name: "CSpawn", path: "Tests/Support/CSpawn"),
    .target(name: "RecordedDisk", path: "Tests/Support/RecordedDisk"),
    tests("Platform", ["Support", "Platform", "StrictJSON"]),
    tests("StrictJSON", ["StrictJSON"]),
    tests("SignedData", ["Support", "SignedData", "AppStoreSimulator", "StrictJSON", "Platform"]),
    tests("AppStore", ["AppStore", "AppStoreSimulator", "StrictJSON"]),
    tests("Entitlements", ["Support", "Entitlements", "AppStore"], computes: true),
    // The fold against lives that know what is true.
    tests("Truth", ["Support", "Entitlements", "AppStore", "StrictJSON"], computes: true),
    tests("Store", ["Support"] + ledger),
    tests("Ledger", ledger + ["Support", "AppStoreSimulator"], fixtures: true, computes: true),
    tests("Queries", ledger + ["Support", "AppStoreSimulator"], fixtures: true),
    tests("Delivery", ledger + ["Support", "Delivery"]),
    tests("HTTPServer", ["HTTPServer", "Platform"]),
    tests(
      "Clients",
      [
        "Support", "Clients", "Entitlements", "AppStore", "SignedData", "Platform", "StrictJSON",
      ]),
    tests("Recovery", ledger + ["Support", "AppStoreSimulator", "Recovery"]),
    tests("API", ledger + ["Support", "API", "HTTPServer", "AppStoreSimulator"], fixtures: true),
    tests(
      "AppStoreSimulator",
      [
        "Support", "AppStoreSimulator", "HTTPServer", "Clients", "SignedData", "Platform",
        "StrictJSON",
      ]),
    tests(
      "Bench",
      ["AppStore", "subledger-bench", "AppStoreSimulator", "Store", "Platform", "StrictJSON"]),
    tests("Architecture", computes: true),
    // The built program over real sockets.
    tests(
      "EndToEnd", ledger + ["Support", "subledger", "HTTPServer", "AppStoreSimulator"],
      fixtures: true, isLarge: true),
    // PostgreSQL, and daemons on one database, as processes.
    tests(
      "SharedJournal",
      ledger + ["Support", "subledger", "SharedJournal", "Migrations", "AppStoreSimulator"]),
    tests(
      "HostileInput", ledger + ["Support", "subledger", "subledger-bench", "AppStoreSimulator"]),
    tests("Durability", ledger + ["Support", "subledger", "AppStoreSimulator"], computes: true),
    // The whole ledger under a seeded scheduler; SQLite's files through a layer that can fail.
    tests("Simulation", ledger + ["Support", "AppStoreSimulator", "CSQLite"], computes: true),
    // The parsers that untrusted input reaches, and what must hold of them; libFuzzer is linked by
    // `.ci/fuzz`.
    .target(
      name: "Fuzz",
      dependencies: ledger + ["Support", "API", "HTTPServer", "AppStoreSimulator"],
      path: "Tests/Fuzz", exclude: ["Authority", "Corpus", "Dictionaries"], swiftSettings: strict),
    tests("Fuzz", ["Support", "Fuzz", "AppStoreSimulator"]),
    .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CPostgres", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CZstd", providers: [.apt(["libzstd-dev"])]),
  ],
  swiftLanguageModes: [.v6]
)

// Building all tests takes minutes: SUBLEDGER_TEST_TARGETS="DeliveryTests EndToEndTests" leaves out the
// other test targets, and what only they need.
if let chosen = Context.environment["SUBLEDGER_TEST_TARGETS"]?.split(separator: " ") {
  package.targets.removeAll { $0.type == .test && !chosen.contains(Substring($0.name)) }
  let needed = Set(
    package.targets.filter { $0.type == .test }.flatMap(\.dependencies).compactMap { needed in
      if case .byNameItem(let name, _) = needed { name } else { nil }
    })
  package.targets.removeAll {
    ["subledger-bench", "Fuzz"].contains($0.name) && !needed.contains($0.name)
  }
}
