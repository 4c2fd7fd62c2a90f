import Foundation
import StrictJSON
import Support
import Testing

/// Everything that the simulator makes beside version 2 notifications, ingested.
@Suite struct MessageKindTests {
  private static let secret = "secret-of-message-kinds"

  private static func installation() throws -> Installation {
    let installation = try Installation()
    let file = installation.folder.appending(path: "app.secret")
    try Data((secret + "\n").utf8).write(to: file)
    chmod(file.path, 0o600)
    guard case .object(let members) = Installation.app() else { return installation }
    try installation.configure(
      apps: [.object(members + [("v1SharedSecretFile", .string(file.path))])],
      with: [
        (
          "trustRoots",
          .array([.string(installation.folder.appending(path: "authority/root.der").path)])
        )
      ])
    return installation
  }

  /// Ingests what the simulator makes of the kinds, and returns all rows.
  private func rows(
    _ kinds: String, _ more: [String] = []
  ) throws -> (Installation, [String: JSONElement]) {
    let installation = try Self.installation()
    let file = installation.folder.appending(path: "messages").path
    let made = try installation.launch(
      [
        "simulate", "run", "--authority", installation.folder.appending(path: "authority").path,
        "--fleet", "24", "--days", "400", "--shuffle", "--kinds", kinds,
        "--v1-secret-file", installation.folder.appending(path: "app.secret").path,
        "--output", file,
      ] + more
    ).finish()
    #expect(made.code == 0, "\(made)")
    let ingested = try installation.run("ingest", file, "--json", "--skip-bad")
    // Renewal information that comes before its transaction is refused; it is told again.
    let again = try installation.run("ingest", file, "--json")
    #expect(again.code == 0, "\(ingested) \(again)")
    #expect(try installation.verify().code == 0)
    let daemon = try installation.start()
    defer { _ = try? daemon.stop() }
    let items = try #require(daemon.client().get("/v1/entitlements?limit=500")?.json)
    var rows: [String: JSONElement] = [:]
    for row in items["items"]?.elements ?? [] {
      rows[row["original_transaction_id"]?.string ?? ""] = row
    }
    return (installation, rows)
  }

  /// Of a row, what says something about the customer.
  private static func facts(_ row: JSONElement?) -> [String] {
    let names = [
      "status", "gives_access", "product_id", "transaction_id", "expires_at", "revoked_at",
      "auto_renew", "pending_product_id", "ownership",
    ]
    return names.map { name in
      "\(name)=" + String(decoding: row?[name]?.text ?? [], as: UTF8.self)
    }
  }

  @Test func `beside all notifications, other evidence of the same changes no row`() throws {
    let (_, plain) = try rows("notifications")
    let (installation, all) = try rows(
      "notifications,v1,transactions,receipts", ["--receipt-digest", "both"])
    #expect(plain.count > 20 && Set(all.keys) == Set(plain.keys))
    for (id, row) in plain { #expect(Self.facts(all[id]) == Self.facts(row), "\(id)") }
    let sources = Set(try installation.events().compactMap { $0["source"]?.string })
    #expect(sources.isSuperset(of: ["v2", "v1"]), "\(sources)")
  }

  @Test(arguments: ["v1", "transactions", "receipts"])
  func `each kind alone makes rows`(kind: String) throws {
    let (installation, rows) = try rows(kind)
    #expect(rows.count > 10)
    let sources = Set(try installation.events().compactMap { $0["source"]?.string })
    let expected: Set<String> =
      switch kind {
      case "transactions": ["transaction", "renewal"]
      case "receipts": ["receipt"]
      default: ["v1"]
      }
    #expect(sources == expected)
    guard kind == "v1" else { return }
    // Every receipt in them is proven, and says the same.
    let report = try installation.verify().report
    #expect(!report.value.text.contains("differ from the receipt"), "\(report.value.text)")
  }

  @Test func `receipts of 2,000 purchases are ingested`() throws {
    let installation = try Self.installation()
    let file = installation.folder.appending(path: "messages").path
    let made = try installation.launch([
      "simulate", "run", "--authority", installation.folder.appending(path: "authority").path,
      "--lifecycle", "cancel", "--kinds", "receipts", "--receipt-records", "2000", "--output", file,
    ]).finish()
    #expect(made.code == 0, "\(made)")
    let ingested = try installation.run("ingest", file, "--json")
    #expect(ingested.code == 0, "\(ingested)")
    #expect(try installation.verify().code == 0)
  }
}
