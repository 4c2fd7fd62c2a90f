import AppStoreSimulator
import Foundation
import Platform
import Store
import StrictJSON
import Support

/// An installation whose `customers.sqlite` has customers with a name in force, some of whom
/// claimed a purchase, were granted something or had something once; and what SQL says of them.
struct NamedCustomers {
  let installation: Installation
  /// What the view says of those who have something, before any damage.
  let answers: Set<String>

  static let count = 24

  private static let admin = "a-token-for-everything-20261128"

  /// The files of one, for copies. Files are arrays, because LeakSanitizer reports the storage of a
  /// static `Data`.
  struct Made: Sendable {
    let files: [String: [UInt8]]
    let authority: SimulatedAuthority
    let answers: Set<String>
  }

  /// A copy. Its projection is built again.
  init(_ made: Made) throws {
    let files = made.files.filter { !$0.key.hasPrefix("entitlements") && $0.key != "projections" }
    installation = try Installation(
      authority: made.authority, files: files.mapValues { Data($0) })
    answers = made.answers
    try Self.configure(installation)
  }

  static func make() throws -> Made {
    let installation = try Installation()
    try Self.configure(installation)
    let daemon = try installation.start()
    let ends = Int64(Date().timeIntervalSince1970 * 1000) + 300 * Sample.day
    for number in 0..<Self.count {
      let body = Sample.notification(number, otid: "\(70_000 + number)")
        .setting("data.transaction.purchaseDate", .integer(ends - 330 * Sample.day))
        .setting(
          "data.transaction.expiresDate", .integer(number % 4 == 3 ? ends - 320 * Sample.day : ends)
        )
      guard daemon.client().post(try installation.sign(body))?.status == 200 else {
        throw TestFailure("a POST")
      }
    }
    // Only a name that was in force leaves a row that is not.
    try daemon.command.wait(60, "the purchases") {
      try Self.active(installation).count == Self.count * 3 / 4
    }
    for number in stride(from: 0, to: Self.count, by: 4) {
      try Self.say(
        daemon, "PUT", "/v1/accounts/user-\(number)/transactions",
        "{\"originalTransactionId\":\"\(70_000 + number)\"}")
      try Self.say(
        daemon, "POST", "/v1/customers/guest-\(number)/grants?by=account",
        "{\"entitlement\":\"pro\"}")
    }
    try daemon.command.wait(60, "the customers") {
      try Self.active(installation).count == Self.count * 3 / 4 + Self.count / 4
    }
    let answers = try Self.active(installation)
    guard try daemon.stop().code == 0 else { throw TestFailure("\(daemon.log)") }
    let verified = try installation.run("verify")
    guard verified.code == 0 else { throw TestFailure("\(verified)") }
    return Made(
      files: try installation.files().mapValues { Array($0) }, authority: installation.authority,
      answers: answers)
  }

  private static func configure(_ installation: Installation) throws {
    let all = ["read", "submit", "claim", "grant", "erase"].map { JSONValue.string($0) }
    try installation.configure(with: [
      ("entitlements", .object([("pro", .array([.string("pro.*")]))])),
      ("readTokens", .array([Installation.token("admin", admin, [("may", .array(all))])])),
    ])
  }

  private static func say(
    _ daemon: RunningDaemon, _ method: String, _ path: String, _ body: String
  ) throws {
    let head =
      "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      + "Authorization: Bearer \(admin)\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
    let answer = daemon.client().send(head, Array(body.utf8))
    guard answer?.status == 200 else { throw TestFailure("\(path): \(answer?.text ?? "")") }
  }

  var file: String { installation.dataFolder.path + "/customers.sqlite" }

  /// Runs SQL on the file, as another program does.
  func execute(_ sql: String) throws {
    let connection = try SQLiteConnection.open(file, .write)
    defer { connection.close() }
    try connection.execute(sql)
  }

  /// The rows of those who have something, one text each; none while the file cannot be read.
  func active() throws -> Set<String> { try Self.active(installation) }

  private static func active(_ installation: Installation) throws -> Set<String> {
    let found = try installation.run(
      "query", "--json",
      "SELECT environment, bundle_id, customer_by, customer_id, name, basis, expires_at_ms, "
        + "product_id, original_transaction_id FROM customer_entitlement_v1 WHERE active")
    return found.code == 0 ? Set(try found.lines().map(\.value.text)) : []
  }
}
