// swift-tools-version: 6.2
import PackageDescription

// The house. Arrows go one way; a C library is imported by exactly one Swift target.
// `Tests/HouseTests` holds the code to what is written here.

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
  products: [.executable(name: "subledger", targets: ["subledger"])],
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
      path: "Sources/Bench", swiftSettings: strict),
    room("HTTPFront", ["SubscriptionLedger", "Platform", "StrictJSON"]),
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
      name: "TrialLedger",
      dependencies: [
        "Simulator", "SubscriptionLedger", "JournalStore", "Platform", "StrictJSON",
      ],
      path: "Tests/TrialLedger", swiftSettings: strict),
    trial(
      "UseCase",
      ["TrialLedger", "SubscriptionLedger", "JournalStore", "Entitlements", "StrictJSON"],
      fixtures: true),
    trial(
      "V1",
      [
        "TrialLedger", "SubscriptionLedger", "JournalStore", "Entitlements", "AppStore",
        "StrictJSON",
      ], fixtures: true),
    trial("House"),
    trial("Bench", ["subledger-bench", "Simulator", "JournalStore", "Platform", "StrictJSON"]),
    trial("StrictJSON", ["StrictJSON"]),
    trial("SignedData", ["SignedData", "Simulator", "StrictJSON"]),
    trial(
      "SubscriptionLedger",
      [
        "TrialLedger", "SubscriptionLedger", "JournalStore", "Entitlements", "AppStore",
        "Simulator", "SignedData", "StrictJSON",
      ]),
    trial("Entitlements", ["Entitlements", "AppStore"]),
    trial(
      "Door",
      [
        "HTTPFront", "SubscriptionLedger", "JournalStore", "Entitlements", "AppStore", "Simulator",
        "SignedData", "Platform", "StrictJSON",
      ], fixtures: true),
    trial(
      "Subledger",
      [
        "subledger", "Simulator", "SubscriptionLedger", "SignedData", "Entitlements",
        "JournalStore", "StrictJSON", "Platform",
      ], fixtures: true),
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CZstd", providers: [.apt(["libzstd-dev"])]),
  ],
  swiftLanguageModes: [.v6]
)
