import Foundation
import StrictJSON
import Support
import Testing

/// `receipt --ask` against the local verifyReceipt.
@Suite struct VerifyReceiptTests {
  private static let secret = "canary-of-the-shared-secret-4714"

  /// An App Store, and an installation that asks it about receipts.
  private struct Asked {
    let installation: Installation
    let store: RunningAppStore
    let file: URL

    init(_ arguments: [String] = ["--customers", "12"]) throws {
      installation = try Installation()
      file = installation.folder.appending(path: "receipt")
      store = try RunningAppStore(
        installation.folder.appending(path: "authority"), arguments, in: installation)
      try configure()
    }

    func configure(_ secrets: [String] = []) throws {
      var app = Installation.app()
      if !secrets.isEmpty, case .object(let members) = app {
        let path = installation.folder.appending(path: "app.secret")
        try Data((secrets.joined(separator: "\n") + "\n").utf8).write(to: path)
        chmod(path.path, 0o600)
        app = .object(members + [("v1SharedSecretFile", .string(path.path))])
      }
      let addresses = ["production", "sandbox"].map {
        ($0, JSONValue.optional(store.description[$0]?.string))
      }
      try installation.configure(
        apps: [app],
        with: [
          ("verifyReceipt", .object(addresses)),
          ("trustRoots", .array([.optional(store.description["root"]?.string)])),
        ])
    }

    func get(_ path: String, _ environment: String = "production") throws -> JSONElement {
      let address = store.description[environment]?.string
      let port = try #require(address?.split(separator: ":").last.flatMap { UInt16($0) })
      return try #require(Client(port: port).get(path, token: nil)?.json)
    }

    /// The ids of the customers.
    func customers(_ environment: String = "production") throws -> [String] {
      try get("/app", environment)["appTransactionIds"]?.elements.compactMap(\.string) ?? []
    }

    /// Puts the receipt of a customer into the file.
    func hold(_ customer: String, _ environment: String = "production") throws {
      let receipt = try get("/app/\(customer)", environment)["receipt"]?.string
      try Data(try #require(receipt).utf8).write(to: file)
    }

    func ask() throws -> (code: Int32, asked: JSONElement?, result: CommandResult) {
      let result = try installation.run("receipt", file.path, "--ask", "--json")
      #expect(!result.output.contains(VerifyReceiptTests.secret))
      #expect(!result.errors.contains(VerifyReceiptTests.secret))
      return (result.code, result.code == 3 ? nil : try result.lines().first?["asked"], result)
    }
  }

  @Test func `Apple agrees with the offline reading of every customer's receipt`() throws {
    let asked = try Asked()
    for environment in ["production", "sandbox"] {
      let customers = try asked.customers(environment)
      #expect(customers.count >= (environment == "production" ? 12 : 1))
      for customer in customers {
        try asked.hold(customer, environment)
        let answer = try asked.ask()
        #expect(answer.code == 0, "\(answer.result)")
        #expect(answer.asked?["status"]?.integer == 0)
        #expect(answer.asked?["agrees"]?.boolean == true)
        #expect(answer.asked?["environment"]?.string?.lowercased() == environment)
      }
    }
    // Production is asked first about each, and alone about its own.
    let counts = try ["production", "sandbox"].map { environment in
      (
        try asked.store.requests(environment)["POST /verifyReceipt"] ?? 0,
        Int64(try asked.customers(environment).count)
      )
    }
    #expect(counts[0].0 == counts[0].1 + counts[1].1 && counts[1].0 == counts[1].1, "\(counts)")
  }

  @Test func `a secret is sent only where Apple asks for one, and both are tried`() throws {
    let asked = try Asked(["--customers", "0", "--lifecycle", "cancel"])
    try asked.hold(try #require(try asked.customers().first))
    try asked.store.control(#"{"receiptSecret":"\#(Self.secret)"}"#)
    let without = try asked.ask()
    #expect(without.code == 1 && without.asked?["status"]?.integer == 21004, "\(without)")
    #expect(without.asked?["agrees"]?.kind == .null)
    #expect(without.asked?["explanation"]?.string?.contains("v1SharedSecretFile") == true)
    for secrets in [[Self.secret], ["the-old-one", Self.secret]] {
      try asked.configure(secrets)
      let before = try asked.store.requests("production")["POST /verifyReceipt"] ?? 0
      let answer = try asked.ask()
      #expect(answer.code == 0 && answer.asked?["agrees"]?.boolean == true, "\(answer.result)")
      let after = try asked.store.requests("production")["POST /verifyReceipt"] ?? 0
      #expect(after - before == Int64(secrets.count + 1))
    }
    try asked.configure(["the-old-one", "another"])
    #expect(try asked.ask().asked?["status"]?.integer == 21004)
  }

  @Test func `every status is explained, and the temporary ones are asked again`() throws {
    let asked = try Asked(["--customers", "0", "--lifecycle", "cancel"])
    try asked.hold(try #require(try asked.customers().first))
    var explanations: Set<String> = []
    for status in [21000, 21001, 21003, 21004, 21008, 21010, 21999] {
      try asked.store.control(#"{"receiptStatus":\#(status)}"#)
      let answer = try asked.ask()
      #expect(answer.code == 1 && answer.asked?["status"]?.integer == Int64(status), "\(status)")
      explanations.insert(answer.asked?["explanation"]?.string ?? "")
    }
    #expect(explanations.count == 7 && explanations.allSatisfy { $0.count > 10 })
    // Production says sandbox, and the sandbox the same.
    try asked.store.control(#"{"receiptStatus":21007}"#)
    #expect(try asked.ask().asked?["environment"]?.string == "Sandbox")
    // Final, as Apple says.
    try asked.store.control(#"{"receiptStatus":21150,"receiptRetryable":false}"#)
    #expect(try asked.ask().asked?["status"]?.integer == 21150)
    let before = try asked.store.requests("production")["POST /verifyReceipt"] ?? 0
    try asked.store.control(#"{"receiptStatus":21199,"receiptRetryable":true}"#)
    let temporary = try asked.ask()
    #expect(temporary.code == 3 && temporary.result.errors.contains("21199"), "\(temporary)")
    let after = try asked.store.requests("production")["POST /verifyReceipt"] ?? 0
    #expect(after - before == 3)
    // Text is for people.
    try asked.store.control(#"{"receiptStatus":21010}"#)
    let text = try asked.installation.run("receipt", asked.file.path, "--ask")
    #expect(text.output.contains("answers 21010: the account"), "\(text)")
  }

  @Test func `what Apple reads in another way is named`() throws {
    let asked = try Asked(["--customers", "0", "--lifecycle", "cancel,one-time"])
    let customer = try #require(try asked.customers().first)
    try asked.hold(customer)
    let other = try ScriptedServer { _ in
      [.response(200, #"{"status":0,"receipt":{"bundle_id":"com.example.other","in_app":[]}}"#)]
    }
    try asked.installation.configure(with: [
      (
        "verifyReceipt",
        .object([("production", .string(other.address))])
      ), ("trustRoots", .array([.optional(asked.store.description["root"]?.string)])),
    ])
    let answer = try asked.ask()
    #expect(answer.code == 1 && answer.asked?["agrees"]?.boolean == false, "\(answer.result)")
    let fields = answer.asked?["differences"]?.elements.compactMap { $0["field"]?.string } ?? []
    #expect(fields.contains("bundle_id") && fields.contains("transaction_id"), "\(fields)")
    let text = try asked.installation.run("receipt", asked.file.path, "--ask")
    #expect(text.output.contains("DIFFERS: bundle_id is com.example.app here"), "\(text)")
  }

  @Test
  func `an Apple that cannot be reached is exit code 3, and nobody is asked without the flag`()
    throws
  {
    let asked = try Asked(["--customers", "0", "--lifecycle", "cancel"])
    try asked.hold(try #require(try asked.customers().first))
    #expect(try asked.installation.run("receipt", asked.file.path).code == 0)
    #expect(try asked.store.requests("production")["POST /verifyReceipt"] == nil)
    try asked.store.control(
      #"{"faults":[{"kind":"html-503","path":"/verifyReceipt"}]}"#)
    let failed = try asked.ask()
    #expect(failed.code == 3 && failed.result.errors.contains("503"), "\(failed.result)")
    for kind in ["html-200", "cut-body", "wrong-types", "gzip", "redirect"] {
      try asked.store.control(#"{"faults":[{"kind":"\#(kind)","path":"/verifyReceipt"}]}"#)
      #expect(try asked.ask().code == 3, "\(kind)")
    }
  }
}
