// swift-tools-version: 6.2
import PackageDescription

// The house. Arrows go one way; a C library is imported by exactly one Swift target.
// `Tests/ArchitectureTests` holds the code to what is written here.

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

func room(_ name: String, _ imports: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: imports, swiftSettings: strict)
}

func trial(
  _ room: String, _ imports: [Target.Dependency] = [], fixtures: Bool = false
) -> Target {
  .testTarget(
    name: "\(room)Tests", dependencies: imports,
    resources: fixtures ? [.copy("Fixtures")] : [], swiftSettings: strict)
}

let package = Package(
  name: "subledger",
  products: [
    .executable(name: "subledger", targets: ["subledger"]),
    // Preloaded into the program by trials of power loss and faults: no part of it.
    .library(name: "RecordedDisk", type: .dynamic, targets: ["RecordedDisk"]),
  ],
  targets: [
    .executableTarget(
      name: "subledger",
      dependencies: [
        "HTTPFront", "Simulator", "SubscriptionLedger", "JournalStore", "Platform", "StrictJSON",
      ],
      swiftSettings: strict),
    // Measures the release binary from outside: no part of it.
    .executableTarget(
      name: "subledger-bench",
      dependencies: ["Simulator", "JournalStore", "SignedData", "Platform", "StrictJSON"],
      path: "Tests/Bench", swiftSettings: strict),
    room("HTTPFront", ["SubscriptionLedger", "Console", "Platform", "StrictJSON"]),
    // The console's pages, as bytes.
    .target(name: "Console", resources: [.embedInCode("pages")], swiftSettings: strict),
    room("Simulator", ["AppStore", "SignedData", "Platform", "StrictJSON"]),
    room(
      "SubscriptionLedger",
      ["AppStore", "SignedData", "Entitlements", "JournalStore", "Platform", "StrictJSON"]),
    room("AppStore", ["StrictJSON"]),
    room("SignedData", ["COpenSSL", "StrictJSON"]),
    room("Entitlements", ["AppStore"]),
    room("JournalStore", ["CSQLite", "CZstd", "Migrations", "SignedData", "Platform"]),
    room("StrictJSON"),
    room("Platform", ["CLinux"]),
    .target(
      name: "Migrations", path: "migrations", resources: [.embedInCode("sqlite")],
      swiftSettings: strict),
    trial("Simulator", ["Simulator", "SignedData", "Platform", "StrictJSON"]),
    trial("JournalStore", ["JournalStore", "SignedData", "Platform"]),
    trial("HTTPFront", ["HTTPFront", "Platform"]),
    // A ledger in the test's own process, for the trials that need a whole one.
    .target(
      name: "TestLedger",
      dependencies: [
        "Simulator", "SubscriptionLedger", "JournalStore", "Platform", "StrictJSON",
      ],
      path: "Tests/TestLedger", swiftSettings: strict),
    // What Apple would sign, and what an attacker would.
    .target(
      name: "Forgery", dependencies: ["Simulator", "SignedData", "StrictJSON"],
      path: "Tests/Forgery", swiftSettings: strict),
    // The parsers an outsider reaches, and what must hold of them; libFuzzer is linked by hand.
    .target(
      name: "Fuzz",
      dependencies: [
        "Forgery", "HTTPFront", "SubscriptionLedger", "Entitlements", "JournalStore", "Simulator",
        "SignedData", "Platform", "StrictJSON",
      ],
      path: "Tests/Fuzz", exclude: ["Authority", "Corpus", "Words"], swiftSettings: strict),
    trial("Fuzz", ["Fuzz", "Simulator"]),
    trial(
      "UseCase",
      ["TestLedger", "SubscriptionLedger", "JournalStore", "Entitlements", "StrictJSON"],
      fixtures: true),
    trial(
      "V1",
      [
        "TestLedger", "SubscriptionLedger", "JournalStore", "Entitlements", "AppStore",
        "StrictJSON",
      ], fixtures: true),
    trial("Architecture"),
    trial("Bench", ["subledger-bench", "Simulator", "JournalStore", "Platform", "StrictJSON"]),
    trial("StrictJSON", ["StrictJSON"]),
    trial("SignedData", ["SignedData", "Simulator", "StrictJSON"]),
    trial(
      "SubscriptionLedger",
      [
        "TestLedger", "SubscriptionLedger", "JournalStore", "Entitlements", "AppStore",
        "Simulator", "SignedData", "StrictJSON",
      ]),
    // The row worked out a second time, in the plainest way, to hold the first to.
    .target(
      name: "PlainFold", dependencies: ["Entitlements", "AppStore"], path: "Tests/PlainFold",
      swiftSettings: strict),
    trial("Entitlements", ["PlainFold", "Entitlements", "AppStore"]),
    // The whole ledger under a seeded scheduler; SQLite's files through a layer that can fail.
    trial(
      "Simulation",
      [
        "PlainFold", "TestLedger", "SubscriptionLedger", "JournalStore", "Entitlements",
        "SignedData", "StrictJSON", "CSQLite",
      ]),
    trial(
      "Door",
      [
        "Forgery", "HTTPFront", "SubscriptionLedger", "JournalStore", "Entitlements", "AppStore",
        "Simulator", "SignedData", "Platform", "StrictJSON",
      ], fixtures: true),
    .target(name: "RecordedDisk", path: "Tests/RecordedDisk"),
    trial(
      "Subledger",
      [
        "subledger", "Forgery", "Simulator", "SubscriptionLedger", "SignedData", "Entitlements",
        "JournalStore", "StrictJSON", "Platform", "CSpawn",
      ], fixtures: true),
    .systemLibrary(name: "CSpawn", path: "Tests/CSpawn"),
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CZstd", providers: [.apt(["libzstd-dev"])]),
  ],
  swiftLanguageModes: [.v6]
)
