import Encoding
import Foundation
import Glibc
import JournalStore
import LedgerQueries
import Simulator
import StrictJSON
import Support
import Testing

@testable import Configuration
@testable import Entitlements
@testable import LedgerAPI
@testable import LedgerEngine
@testable import SignedData

/// Beyond the table: seeded noise. Nothing of it may stop the process, and nothing may get in that
/// is not what was signed.
@Suite struct MutationTests {
  private let authority: Authority
  private let configuration: Configuration
  private let seed: UInt64
  /// Thousandths of 20,000 attempts on the receiver: DOOR_ROUNDS=1000 is all of them.
  private let share: Int

  init() throws {
    authority = try Authority.shared.get()
    let folder = try InProcessServer.newFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    configuration = try InProcessServer.configuration(in: folder, root: authority.root)
    let environment = ProcessInfo.processInfo.environment
    seed = environment["DOOR_SEED"].flatMap { UInt64($0) } ?? 20_261_121
    share = environment["DOOR_ROUNDS"].flatMap { Int($0) } ?? 40
    print("DOOR_SEED=\(seed) DOOR_ROUNDS=\(share)")
  }

  /// What the receiver journals of it; nil for any refusal.
  private func journaled(_ receiver: Receiver, _ body: [UInt8]) -> NewEvent? {
    do throws(Refusal) {
      let received = try receiver.receive(body: body, at: Sample.purchase)
      guard case .event(let event) = received.submission else { return nil }
      return event
    } catch {
      return nil
    }
  }

  @Test func changedBodies() throws {
    let receiver = try Receiver(configuration)
    let good = ForgedJWS.body(try authority.fresh())
    let original = try #require(journaled(receiver, good))
    var random = SeededGenerator(seed: seed)
    for round in 0..<8 * share {
      let body = Self.mutated(good, &random, Int(random.number(in: 1...4)))
      guard let event = journaled(receiver, body) else { continue }
      // White space, or an escape that spells the same: what is journaled is what was signed.
      #expect(event.body == original.body, "round \(round)")
    }
    #expect(journaled(receiver, good)?.body == original.body)
  }

  /// Every part decoded, changed, and put back in strict form: past the base64, into the rest.
  @Test func changedParts() throws {
    let receiver = try Receiver(configuration)
    let parts = ForgedJWS.parts(try authority.fresh())
    let decoded = try parts.map { try #require(Base64URL.decode($0)) }
    var random = SeededGenerator(seed: seed, stream: 1)
    for round in 0..<6 * share {
      let place = round % 3
      var changed = decoded
      changed[place] = Self.mutated(decoded[place], &random, Int(random.number(in: 1...3)))
      let jws = ForgedJWS.joined(
        ForgedJWS.url(changed[0]), ForgedJWS.url(changed[1]), ForgedJWS.url(changed[2]))
      let event = journaled(receiver, ForgedJWS.body(jws))
      #expect(event == nil || changed == decoded, "round \(round)")
    }
  }

  /// Certificates changed at random, under a signature by the right key.
  @Test func changedCertificates() throws {
    var random = SeededGenerator(seed: seed, stream: 2)
    let forgery = try ChainForgery(under: authority)
    let chain = try forgery.chain()
    let payload = try CompactJWS(parsing: try authority.fresh()[...]).payload
    let prover = try Prover(roots: try TrustRoots(files: [authority.root]))
    for round in 0..<4 * share {
      var changed = chain
      let place = round % 2
      changed[place] = Self.mutated(chain[place], &random, Int(random.number(in: 1...3)))
      let input = ForgedJWS.joined(ForgedJWS.url(ForgedJWS.header(changed)), ForgedJWS.url(payload))
      let jws = ForgedJWS.joined(input, ForgedJWS.url(try forgery.leafKey.sign(input)))
      let isProven = (try? prover.prove(CompactJWS(parsing: jws[...]), at: Sample.purchase)) != nil
      // Two signatures are there for every content, and nobody finds the other by chance.
      #expect(!isProven || changed == chain, "round \(round)")
    }
  }

  /// Well-formed DER with odd insides, properly signed by the authority: every answer will do.
  @Test func oddCertificatesOfTheAuthority() throws {
    var random = SeededGenerator(seed: seed, stream: 3)
    let forgery = try ChainForgery(under: authority)
    let chain = try forgery.chain()
    let payload = try CompactJWS(parsing: try authority.fresh()[...]).payload
    let prover = try Prover(roots: try TrustRoots(files: [authority.root]))
    for round in 0..<2 * share {
      var changed = chain
      let place = round % 2
      let key = place == 0 ? forgery.intermediateKey : forgery.rootKey
      changed[place] = try DERNode.resigned(chain[place], by: key, .sha384) { body in
        Self.mutate(&body, &random)
      }
      let input = ForgedJWS.joined(ForgedJWS.url(ForgedJWS.header(changed)), ForgedJWS.url(payload))
      let jws = ForgedJWS.joined(input, ForgedJWS.url(try forgery.leafKey.sign(input)))
      try? prover.prove(try CompactJWS(parsing: jws[...]), at: Sample.purchase)
    }
  }

  /// Payloads of noise under a right signature: accepted, quarantined or refused, never the end.
  @Test func oddPayloadsOfTheAuthority() throws {
    var random = SeededGenerator(seed: seed, stream: 4)
    let receiver = try Receiver(configuration)
    let numbers = [
      "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e300", "-1e300",
      "1e00000000000000999", "0.5", "-0", "0", "1", "4", "5e-324", "1e18", "9e15", "-9e15",
      "179769313486231570000000000000000000000000000000000000000000", "1767225600000",
    ]
    let places = [
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
    for _ in 0..<2 * share {
      var notification = Sample.notification()
        .with("data.transaction.commitmentInfo", .object([]))
        .with("data.renewalInfo.isInBillingRetryPeriod", .boolean(random.chance(0.5)))
        .with("data.transaction.isUpgraded", .boolean(random.chance(0.2)))
      for _ in 0..<random.number(in: 1...6) {
        notification = notification.with(random.pick(places), .number(random.pick(numbers)))
      }
      let jws = try authority.signed(notification)
      for now in [Sample.purchase, Int64.min, .max] {
        guard let received = try? receiver.receive(signedPayload: jws[...], at: now),
          let event = received.foldEvent, now == Sample.purchase
        else { continue }
        state.evolve(event)
        var alone = StreamState()
        alone.evolve(event)
        for state in [state, alone] {
          #expect(StreamState(decoding: state.encoded()) == state)
          Self.evaluate(state)
        }
        if state.transactions.count > 12 { state = StreamState() }
      }
    }
  }

  private static func evaluate(_ state: StreamState) {
    for time in [Int64.min, .min + 1, -1, 0, 1, Sample.purchase, .max - 1, .max] {
      let entitlement = Entitlement(
        state, at: time, durations: ["pro.monthly": .max, "": .min])
      _ = entitlement?.givesAccess
    }
  }

  // MARK: Other readers

  @Test func statesOfNoise() throws {
    var random = SeededGenerator(seed: seed, stream: 5)
    let receiver = try Receiver(configuration)
    var whole = StreamState()
    for index in 0..<5 {
      let jws = try authority.signed(
        Sample.notification().with("data.transaction.transactionId", .string("\(index)")))
      if let event = try receiver.receive(signedPayload: jws[...], at: 0).foldEvent {
        whole.evolve(event)
      }
    }
    let event = try #require(
      try receiver.receive(signedPayload: try authority.fresh()[...], at: 0).foldEvent)
    let encoded = whole.encoded()
    #expect(StreamState(decoding: encoded) == whole)
    for round in 0..<20 * share {
      let bytes =
        round % 3 == 0
        ? (0..<random.number(in: 0...60)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        : Self.mutated(encoded, &random, Int(random.number(in: 1...3)))
      guard var state = StreamState(decoding: round % 2 == 0 ? bytes : [2] + bytes) else {
        continue
      }
      Self.evaluate(state)
      state.evolve(event)
      Self.evaluate(state)
      _ = state.encoded()
    }
  }

  @Test func cursorsOfNoise() throws {
    var random = SeededGenerator(seed: seed, stream: 6)
    let token = configuration.readTokens[0]
    let key = StreamKey(
      environment: "Production", bundleId: "com.example.app", originalTransactionId: "a\u{1F}b")
    let good = PageCursor.text(key, for: token)
    #expect(PageCursor.key(good, for: token) == key)
    for _ in 0..<20 * share {
      let bytes = Self.mutated(Array(good.utf8), &random, 1)
      let text = String(decoding: bytes, as: UTF8.self)
      let found = PageCursor.key(text, for: token)
      #expect(found == nil || found == key && text.lowercased() == good, "\(text)")
      let noise = (0..<random.number(in: 0...80)).map { _ in
        UInt8(truncatingIfNeeded: random.next())
      }
      #expect(PageCursor.key(Hexadecimal.encode(noise), for: token) == nil)
    }
  }

  @Test func timesOfNoise() throws {
    var random = SeededGenerator(seed: seed, stream: 7)
    let letters = Array("0123456789-+:.TtZz /eE\u{0}é".unicodeScalars).map(Character.init)
    let good = Array("2026-01-31T10:00:00.123+05:30")
    for round in 0..<50 * share {
      var text = good
      if round % 2 == 0 { text = (0..<random.number(in: 0...30)).map { _ in random.pick(letters) } }
      for _ in 0..<random.number(in: 0...3) where !text.isEmpty {
        text[Int(random.next() % UInt64(text.count))] = random.pick(letters)
      }
      if let time = Timestamp.parse(String(text)) {
        #expect(Timestamp.parse(Timestamp.text(time)) == time, "\(String(text))")
      }
    }
    for time in [
      Int64.min, .min + 1, .min / 2, -62_167_219_200_001, -1, 0, 253_402_300_800_000, .max,
    ] {
      let text = Timestamp.text(time)
      #expect(!text.isEmpty)
      _ = Timestamp.parse(text)
      #expect(Timestamp.parse(String(time)) == time)
    }
    let days = ["2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "2026-00-10", "2026-12-32"]
    #expect(days.map { Timestamp.parse($0) != nil } == [true, false, false, true, false, false])
    #expect(Timestamp.parse("2026-01-01T00:00:00.\(String(repeating: "9", count: 5000))Z") != nil)
  }

  @Test func queriesOfNoise() {
    var random = SeededGenerator(seed: seed, stream: 8)
    let pieces = [
      "limit", "after", "=", "&", "%", "%2", "%41", "%C3%A9", "%ff", "%00", "+", "a", "==",
    ]
    for _ in 0..<50 * share {
      let text = (0..<random.number(in: 0...12)).map { _ in random.pick(pieces) }.joined()
      if let query = QueryString(text, allowed: ["limit", "after"]) {
        for name in ["limit", "after"] {
          #expect(query[name].map { value in !value.utf8.contains { $0 < 0x20 } } ?? true)
        }
      }
    }
  }

  @Test func documentsOfNoise() {
    var random = SeededGenerator(seed: seed, stream: 9)
    let pieces = [
      "{", "}", "[", "]", ":", ",", "\"a\"", "\"", "\\", "\\u00e9", "\\ud83d\\ude00", "1", "-", "0",
      "1e5", "true", "null", " ", "\u{E9}", "e\u{301}", "{\"a\":", "\"b\":1", "\u{0}",
    ]
    for _ in 0..<100 * share {
      let text = (0..<random.number(in: 0...14)).map { _ in random.pick(pieces) }.joined()
      guard let document = try? JSONDocument(parsing: Array(text.utf8)) else { continue }
      let written = document.root.value.bytes
      #expect((try? JSONDocument(parsing: written))?.root.value.bytes == written, "\(text)")
    }
  }

  // MARK: Noise

  /// Flips, overwrites, drops, doubles and moves bytes.
  static func mutated(
    _ bytes: [UInt8], _ random: inout SeededGenerator, _ times: Int
  ) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<times {
      guard !bytes.isEmpty else { return [0] }
      let place = Int(random.next() % UInt64(bytes.count))
      let size = Int(random.number(in: 1...8))
      let end = min(bytes.count, place + size)
      switch random.number(in: 0...6) {
      case 0: bytes[place] ^= 1 << (random.next() % 8)
      case 1: bytes[place] = UInt8(truncatingIfNeeded: random.next())
      case 2: bytes.removeSubrange(place..<end)
      case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
      case 4: bytes.removeLast(min(bytes.count - 1, size))
      case 5: bytes[place] = [0, 0x7F, 0x80, 0xFF, 0x30, 0x22, 0x2E][Int(random.next() % 7)]
      default:
        let other = Int(random.next() % UInt64(bytes.count))
        bytes.swapAt(place, other)
      }
    }
    return bytes
  }

  /// Changes one node of a tree: its tag, its contents, or which children it has.
  static func mutate(_ node: inout DERNode, _ random: inout SeededGenerator) {
    if !node.children.isEmpty, random.chance(0.8) {
      let index = Int(random.next() % UInt64(node.children.count))
      return mutate(&node.children[index], &random)
    }
    switch random.number(in: 0...4) {
    case 0: node.tag = UInt8(truncatingIfNeeded: random.next()) & 0xDF | (node.tag & 0x20)
    case 1 where node.children.isEmpty:
      node.content = mutated(node.content, &random, 2)
    case 2 where !node.children.isEmpty:
      node.children.remove(at: Int(random.next() % UInt64(node.children.count)))
      if node.children.isEmpty { node.content = [] }
    case 3 where !node.children.isEmpty: node.children.append(node.children[0])
    default:
      if node.children.isEmpty { node.content = [] } else { node.children.reverse() }
    }
  }
}
