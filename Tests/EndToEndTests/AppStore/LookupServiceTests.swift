import Foundation
import StrictJSON
import Support
import Testing

/// `lookup` against a local App Store, whose notifications the daemon has received.
@Suite struct LookupServiceTests {
  /// Sixty days of twenty customers, two of them in the Sandbox, all received by the daemon.
  private final class Setting: ConnectedInstallation {
    init() throws {
      try super.init(["--customers", "20", "--days", "60", "--behind", "60"])
      let report = try store.control(#"{"advance":\#(60 * 86_400_000)}"#)
      #expect(report["production"]?["failures"]?.integer == 0, "all were received")
    }

    /// The newest transaction of the first customer in an environment, as Apple signed it.
    func transaction(_ environment: String) throws -> JSONElement {
      let events = try installation.events("--environment", environment, "--limit", "1000")
      let ids = events.compactMap { $0["original_transaction_id"]?.string }
      let finished = try installation.launch([
        "history", try #require(ids.first), "--raw", "--json", "--environment", environment,
        "--config", installation.config.path,
      ]).finish()
      let payloads = try finished.lines().compactMap { $0["payload"]?["data"] }
      return try #require(payloads.compactMap { $0["signedTransactionInfo"] }.last, "\(finished)")
    }

    /// Looks an id up; the exit code must be this.
    func found(_ id: String, _ code: Int32 = 0) throws -> [JSONElement] {
      let finished = try installation.launch([
        "lookup", id, "--json", "--config", installation.config.path,
      ]).finish()
      #expect(finished.code == code, "\(finished)")
      return try finished.lines()
    }
  }

  @Test func `an order, a transaction and an app transaction lead to the journaled customer`()
    throws
  {
    let setting = try Setting()
    let transaction = try setting.transaction("Production")
    let original = try #require(transaction["originalTransactionId"]?.string)
    let id = try #require(transaction["transactionId"]?.string)
    let customer = try #require(transaction["appTransactionId"]?.string)
    for (text, kind) in [(id, "transaction"), (original, "transaction"), ("M" + id, "order")] {
      let lines = try setting.found(text)
      #expect(lines.count == 1 && lines[0]["kind"]?.string == kind, "\(text)")
      #expect(lines[0]["original_transaction_id"]?.string == original)
      #expect(lines[0]["environment"]?.string == "Production")
      #expect(lines[0]["journaled"]?.boolean == true)
      // Apple is asked only for what the journal cannot answer.
      #expect(lines[0]["transactions"]?.integer == (kind == "order" ? 1 : nil))
    }
    let all = try setting.found(customer)
    let own = try #require(all.first { $0["original_transaction_id"]?.string == original })
    #expect(all.allSatisfy { $0["journaled"]?.boolean == true })
    let command = try #require(own["history"]?.string).split(separator: " ").map(String.init)
    let history = try setting.installation.launch(Array(command.dropFirst())).finish()
    #expect(history.code == 0 && history.output.contains("#"), "\(history)")
    #expect(try setting.store.requests("sandbox").isEmpty, "Production knew all of them")
    #expect(try setting.found("MUNKNOWN", 1).isEmpty)
    #expect(try setting.found("1", 1).isEmpty)
  }

  @Test func `a customer of the Sandbox is found after Production, released or not`() throws {
    let setting = try Setting()
    let transaction = try setting.transaction("Sandbox")
    // The journal does not know an app transaction id as one of a purchase.
    let id = try #require(transaction["appTransactionId"]?.string)
    for (released, requests) in [(true, 1), (false, 3)] {
      if !released { try setting.store.control(#"{"neverReleased":true}"#) }
      let lines = try setting.found(id)
      #expect(lines.map { $0["environment"]?.string } == ["Sandbox"])
      #expect(lines.first?["journaled"]?.boolean == true)
      #expect(
        lines.first?["original_transaction_id"]?.string
          == transaction["originalTransactionId"]?.string)
      let asked = try setting.store.requests("production").values.reduce(0, +)
      #expect(asked == requests, "\(asked): a refused token is sent a second time")
    }
    // Whether Production knows this one cannot be told.
    #expect(try setting.found("1", 3).isEmpty)
  }
}
