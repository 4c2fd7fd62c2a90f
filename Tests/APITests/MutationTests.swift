import AppStore
import AppStoreSimulator
import Foundation
import StrictJSON
import Support
import Testing

@testable import Entitlements
@testable import Ledger
@testable import SignedData

/// Odd content with a valid signature, beyond the table of hostile inputs, must not stop the
/// process. What is not signed is changed at random by `FuzzTests` and `HostileNoiseTests`.
@Suite struct MutationTests {
  private let authority: Authority
  private let configuration: Configuration
  private static let seed = TestSeed.number(usual: 20_261_121)
  private static let rounds = 80

  init() throws {
    authority = try Authority.shared.get()
    let folder = try InProcessServer.newFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    configuration = try InProcessServer.configuration(in: folder, root: authority.root)
  }

  /// Well-formed DER with odd content, signed by the authority: any verdict is right.
  @Test func `odd certificates signed by the authority do not trap`() throws {
    var random = SeededGenerator(seed: Self.seed, stream: 3)
    let forgery = try ChainForgery(under: authority)
    let chain = try forgery.chain()
    let payload = try CompactJWS(parsing: try authority.fresh()[...]).payload
    let prover = try Prover(roots: try TrustRoots(files: [authority.root]))
    for round in 0..<Self.rounds {
      var changed = chain
      let index = round % 2
      let key = index == 0 ? forgery.intermediateKey : forgery.rootKey
      changed[index] = try DERNode.resigned(chain[index], by: key, .sha384) { body in
        Self.mutate(&body, &random)
      }
      let input = ForgedJWS.joined(ForgedJWS.url(ForgedJWS.header(changed)), ForgedJWS.url(payload))
      let jws = ForgedJWS.joined(input, ForgedJWS.url(try forgery.leafKey.sign(input)))
      _ = try? prover.prove(try CompactJWS(parsing: jws[...]), at: Sample.start)
    }
  }

  /// Odd payloads with a valid signature: accepted, quarantined or refused, without a trap.
  @Test func `odd payloads signed by the authority do not trap`() throws {
    var random = SeededGenerator(seed: Self.seed, stream: 4)
    let receiver = try Receiver(configuration)
    let numbers = [
      "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e300", "-1e300",
      "1e00000000000000999", "0.5", "-0", "0", "1", "4", "5e-324", "1e18", "9e15", "-9e15",
      "179769313486231570000000000000000000000000000000000000000000", "1767225600000",
    ]
    let paths = [
      "signedDate", "data.status", "data.appAppleId", "data.transaction.purchaseDate",
      "data.transaction.expiresDate", "data.transaction.signedDate", "data.transaction.price",
      "data.transaction.revocationDate", "data.transaction.revocationPercentage",
      "data.renewalInfo.signedDate", "data.renewalInfo.renewalDate", "data.transaction.offerType",
      "data.renewalInfo.gracePeriodExpiresDate", "data.renewalInfo.autoRenewStatus",
      "data.transaction.quantity", "data.renewalInfo.expirationIntent",
      "data.transaction.commitmentInfo.commitmentExpiresDate",
      "data.transaction.commitmentInfo.billingPeriodNumber",
      "data.transaction.commitmentInfo.totalBillingPeriods",
    ]
    var state = StreamState()
    for _ in 0..<Self.rounds {
      var notification = Sample.notification(1)
        .setting("data.transaction.commitmentInfo", .object([]))
        .setting("data.renewalInfo.isInBillingRetryPeriod", .boolean(random.chance(0.5)))
        .setting("data.transaction.isUpgraded", .boolean(random.chance(0.2)))
      for _ in 0..<random.number(in: 1...6) {
        notification = notification.setting(random.pick(paths), .number(random.pick(numbers)))
      }
      let jws = try authority.signed(notification)
      for now in [Sample.start, Int64.min, .max] {
        guard let received = try? receiver.receive(signedPayload: jws[...], at: now),
          let event = received.foldEvent(seq: 0), now == Sample.start
        else { continue }
        state.evolve(event)
        var alone = StreamState()
        alone.evolve(event)
        for state in [state, alone] {
          #expect(StreamState(decoding: state.encoded()) == state.withoutSeq)
          Self.evaluate(state)
        }
        if state.transactions.count > 12 { state = StreamState() }
      }
    }
  }

  private static func evaluate(_ state: StreamState) {
    for time in [Int64.min, .min + 1, -1, 0, 1, Sample.start, .max - 1, .max] {
      let entitlement = Entitlement(
        state, at: time, durations: ["pro.monthly": .max, "": .min])
      _ = entitlement?.givesAccess
    }
  }

  // MARK: Mutations

  /// Changes one node of a tree: its tag, its content or its children.
  static func mutate(_ node: inout DERNode, _ random: inout SeededGenerator) {
    if !node.children.isEmpty, random.chance(0.8) {
      let index = Int(random.next() % UInt64(node.children.count))
      return mutate(&node.children[index], &random)
    }
    switch random.number(in: 0...4) {
    case 0: node.tag = UInt8(truncatingIfNeeded: random.next()) & 0xDF | (node.tag & 0x20)
    case 1 where node.children.isEmpty:
      node.content = random.changed(node.content)
    case 2 where !node.children.isEmpty:
      node.children.remove(at: Int(random.next() % UInt64(node.children.count)))
      if node.children.isEmpty { node.content = [] }
    case 3 where !node.children.isEmpty: node.children.append(node.children[0])
    default:
      if node.children.isEmpty { node.content = [] } else { node.children.reverse() }
    }
  }
}
