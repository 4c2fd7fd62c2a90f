import AppStoreSimulator
import Platform
import StrictJSON
import Support

/// Lives of simulated customers, and everything that Apple signs about them: notifications of both
/// versions, what apps hold, receipts, and the answers of the App Store Server API.
struct MixedLives {
  static let app = SimulatedApp(
    bundleId: TestLedger.bundleId, appAppleId: TestLedger.appAppleId)
  static let secret = "secret-of-mixed-lives"
  /// Nothing is signed later, milliseconds since 1970.
  static let end: Int64 = 1_780_000_000_000

  private let notifications: [SimulatedNotification]
  private var chance: SplitMix64
  private let signer: MessageSigner

  /// - Parameter number: of the first customer; each has ids of its own.
  init(customers: Int, from number: Int, seed: UInt64) throws {
    chance = SplitMix64(seed: seed)
    signer = try SharedAuthority.signer(v1Secret: Self.secret)
    var fleet = Fleet(
      app: Self.app, customers: customers - customers / 3, days: 400, end: Self.end, seed: seed)
    fleet.first = number
    for _ in 0..<customers / 3 {
      fleet.lifecycles.append(Lifecycle.all[Int(chance.below(Int64(Lifecycle.all.count)))])
    }
    notifications = fleet.notifications()
  }

  /// The lines of one way on which a ledger learns, with the dates on which Apple signed them.
  mutating func lines(
    _ kinds: Set<SimulatedMessage.Kind>, answers: Bool
  ) throws -> [(date: Int64, line: [UInt8])] {
    var lines = try SimulatedMessage.all(kinds, of: notifications, app: Self.app)
      .map { (date: $0.date, line: try signer.body($0)) }
    if answers { lines += try self.answers() }
    return lines
  }

  /// The notifications again, as Apple's history returns them: signed anew.
  func history() throws -> [[UInt8]] {
    try notifications.map { try signer.body(SimulatedMessage($0)) }
  }

  /// What Apple answers about each customer at up to two moments.
  private mutating func answers() throws -> [(date: Int64, line: [UInt8])] {
    var lines: [(date: Int64, line: [UInt8])] = []
    let groups = Dictionary(grouping: notifications) { $0.appTransactionId ?? "" }
    for (customer, own) in groups.sorted(by: { $0.key < $1.key }) where !customer.isEmpty {
      guard let first = own.first?.signedDate else { continue }
      for _ in 0..<chance.below(3) {
        let moment = first + chance.below(Self.end - first + 1)
        guard let known = CustomerAccount(own, with: customer, at: moment) else { continue }
        for (index, transaction) in known.transactions.enumerated() {
          let date = moment + Int64(index)
          lines.append((date, try line("signedTransactionInfo", transaction.signed(at: date))))
        }
        for renewal in known.renewals {
          lines.append((moment, try line("signedRenewalInfo", renewal.signed(at: moment))))
        }
      }
    }
    return lines
  }

  private func line(_ name: String, _ payload: JSONValue) throws -> [UInt8] {
    let jws = String(decoding: try SharedAuthority.sign(payload: payload), as: UTF8.self)
    return JSONValue.object([
      (
        "body",
        .object([
          (name, .string(jws)), ("bundleId", .string(Self.app.bundleId)),
          ("environment", .string(Self.app.environment)),
        ])
      )
    ]).bytes
  }
}
