import AppStore
import AppStoreSimulator
import Foundation
import Glibc
import Platform
import Queries
import Store
import StrictJSON
import Support
import Testing

@testable import API
@testable import Entitlements
@testable import Ledger
@testable import SignedData

/// Seeded random changes, beyond the table of hostile inputs. None may stop the process, and
/// nothing may be journaled that was not signed.
@Suite struct MutationTests {
  private let authority: Authority
  private let configuration: Configuration
  private let seed: UInt64
  /// The attempts to make, in thousandths of 20,000; set by MUTATION_ROUNDS.
  private let share: Int

  init() throws {
    authority = try Authority.shared.get()
    let folder = try InProcessServer.newFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    configuration = try InProcessServer.configuration(in: folder, root: authority.root)
    let environment = ProcessInfo.processInfo.environment
    seed = environment["MUTATION_SEED"].flatMap { UInt64($0) } ?? 20_261_121
    share = environment["MUTATION_ROUNDS"].flatMap { Int($0) } ?? 40
    print("MUTATION_SEED=\(seed) MUTATION_ROUNDS=\(share)")
  }

  /// The event that the receiver would journal; nil for any refusal.
  private func journaled(_ receiver: Receiver, _ body: [UInt8]) -> NewEvent? {
    do throws(Refusal) {
      let received = try receiver.receive(body: body, at: Sample.purchase)
      guard case .event(let event) = received.submission else { return nil }
      return event
    } catch {
      return nil
    }
  }

  @Test func `a mutated body is refused unless it still says what was signed`() throws {
    let receiver = try Receiver(configuration)
    let good = ForgedJWS.body(try authority.fresh())
    let original = try #require(journaled(receiver, good))
    var random = SeededGenerator(seed: seed)
    for round in 0..<8 * share {
      let body = Self.mutated(good, &random, Int(random.number(in: 1...4)))
      guard let event = journaled(receiver, body) else { continue }
      // White space may differ, or an escape of the same text: the journaled body is the signed
      // one.
      #expect(event.body == original.body, "round \(round)")
    }
    #expect(journaled(receiver, good)?.body == original.body)
  }

  /// Each segment is decoded, changed and encoded strictly, so that the change passes base64url.
  @Test func `a mutated segment is refused`() throws {
    let receiver = try Receiver(configuration)
    let parts = ForgedJWS.parts(try authority.fresh())
    let decoded = try parts.map { try #require(Base64URL.decode($0)) }
    var random = SeededGenerator(seed: seed, stream: 1)
    for round in 0..<6 * share {
      let index = round % 3
      var changed = decoded
      changed[index] = Self.mutated(decoded[index], &random, Int(random.number(in: 1...3)))
      let jws = ForgedJWS.joined(
        ForgedJWS.url(changed[0]), ForgedJWS.url(changed[1]), ForgedJWS.url(changed[2]))
      let event = journaled(receiver, ForgedJWS.body(jws))
      #expect(event == nil || changed == decoded, "round \(round)")
    }
  }

  /// Certificates changed at random, under a signature by the right key.
  @Test func `a mutated certificate is untrusted`() throws {
    var random = SeededGenerator(seed: seed, stream: 2)
    let forgery = try ChainForgery(under: authority)
    let chain = try forgery.chain()
    let payload = try CompactJWS(parsing: try authority.fresh()[...]).payload
    let prover = try Prover(roots: try TrustRoots(files: [authority.root]))
    for round in 0..<4 * share {
      var changed = chain
      let index = round % 2
      changed[index] = Self.mutated(chain[index], &random, Int(random.number(in: 1...3)))
      let input = ForgedJWS.joined(ForgedJWS.url(ForgedJWS.header(changed)), ForgedJWS.url(payload))
      let jws = ForgedJWS.joined(input, ForgedJWS.url(try forgery.leafKey.sign(input)))
      let isProven = (try? prover.prove(CompactJWS(parsing: jws[...]), at: Sample.purchase)) != nil
      // Every content has two valid signatures, and chance does not find the other one.
      #expect(!isProven || changed == chain, "round \(round)")
    }
  }

  /// Well-formed DER with odd content, signed by the authority: any verdict is right.
  @Test func `odd certificates signed by the authority do not trap`() throws {
    var random = SeededGenerator(seed: seed, stream: 3)
    let forgery = try ChainForgery(under: authority)
    let chain = try forgery.chain()
    let payload = try CompactJWS(parsing: try authority.fresh()[...]).payload
    let prover = try Prover(roots: try TrustRoots(files: [authority.root]))
    for round in 0..<2 * share {
      var changed = chain
      let index = round % 2
      let key = index == 0 ? forgery.intermediateKey : forgery.rootKey
      changed[index] = try DERNode.resigned(chain[index], by: key, .sha384) { body in
        Self.mutate(&body, &random)
      }
      let input = ForgedJWS.joined(ForgedJWS.url(ForgedJWS.header(changed)), ForgedJWS.url(payload))
      let jws = ForgedJWS.joined(input, ForgedJWS.url(try forgery.leafKey.sign(input)))
      _ = try? prover.prove(try CompactJWS(parsing: jws[...]), at: Sample.purchase)
    }
  }

  /// Odd payloads with a valid signature: accepted, quarantined or refused, without a trap.
  @Test func `odd payloads signed by the authority do not trap`() throws {
    var random = SeededGenerator(seed: seed, stream: 4)
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
    for _ in 0..<2 * share {
      var notification = Sample.notification()
        .with("data.transaction.commitmentInfo", .object([]))
        .with("data.renewalInfo.isInBillingRetryPeriod", .boolean(random.chance(0.5)))
        .with("data.transaction.isUpgraded", .boolean(random.chance(0.2)))
      for _ in 0..<random.number(in: 1...6) {
        notification = notification.with(random.pick(paths), .number(random.pick(numbers)))
      }
      let jws = try authority.signed(notification)
      for now in [Sample.purchase, Int64.min, .max] {
        guard let received = try? receiver.receive(signedPayload: jws[...], at: now),
          let event = received.foldEvent(seq: 0), now == Sample.purchase
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

  // MARK: Other parsers

  @Test func `a mutated state is decoded or rejected without a trap`() throws {
    var random = SeededGenerator(seed: seed, stream: 5)
    let receiver = try Receiver(configuration)
    var whole = StreamState()
    for index in 0..<5 {
      let jws = try authority.signed(
        Sample.notification().with("data.transaction.transactionId", .string("\(index)")))
      if let event = try receiver.receive(signedPayload: jws[...], at: 0).foldEvent(seq: 0) {
        whole.evolve(event)
      }
    }
    let event = try #require(
      try receiver.receive(signedPayload: try authority.fresh()[...], at: 0).foldEvent(seq: 0))
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

  @Test func `a mutated cursor is rejected`() throws {
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

  @Test func `a parsed time is written and parsed to the same time`() throws {
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

  @Test func `random queries do not trap and yield no control characters`() {
    var random = SeededGenerator(seed: seed, stream: 8)
    let fragments = [
      "limit", "after", "=", "&", "%", "%2", "%41", "%C3%A9", "%ff", "%00", "+", "a", "==",
    ]
    for _ in 0..<50 * share {
      let text = (0..<random.number(in: 0...12)).map { _ in random.pick(fragments) }.joined()
      if let query = QueryString(text, allowed: ["limit", "after"]) {
        for name in ["limit", "after"] {
          #expect(query[name].map { value in !value.utf8.contains { $0 < 0x20 } } ?? true)
        }
      }
    }
  }

  @Test func `a random document that parses is written and parsed to the same bytes`() {
    var random = SeededGenerator(seed: seed, stream: 9)
    let fragments = [
      "{", "}", "[", "]", ":", ",", "\"a\"", "\"", "\\", "\\u00e9", "\\ud83d\\ude00", "1", "-", "0",
      "1e5", "true", "null", " ", "\u{E9}", "e\u{301}", "{\"a\":", "\"b\":1", "\u{0}",
    ]
    for _ in 0..<100 * share {
      let text = (0..<random.number(in: 0...14)).map { _ in random.pick(fragments) }.joined()
      guard let document = try? JSONDocument(parsing: Array(text.utf8)) else { continue }
      let written = document.root.value.bytes
      #expect((try? JSONDocument(parsing: written))?.root.value.bytes == written, "\(text)")
    }
  }

  // MARK: Mutations

  /// Flips, overwrites, removes, duplicates and swaps bytes.
  static func mutated(
    _ bytes: [UInt8], _ random: inout SeededGenerator, _ times: Int
  ) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<times {
      guard !bytes.isEmpty else { return [0] }
      let index = Int(random.next() % UInt64(bytes.count))
      let size = Int(random.number(in: 1...8))
      let end = min(bytes.count, index + size)
      switch random.number(in: 0...6) {
      case 0: bytes[index] ^= 1 << (random.next() % 8)
      case 1: bytes[index] = UInt8(truncatingIfNeeded: random.next())
      case 2: bytes.removeSubrange(index..<end)
      case 3: bytes.insert(contentsOf: bytes[index..<end], at: index)
      case 4: bytes.removeLast(min(bytes.count - 1, size))
      case 5: bytes[index] = [0, 0x7F, 0x80, 0xFF, 0x30, 0x22, 0x2E][Int(random.next() % 7)]
      default:
        let other = Int(random.next() % UInt64(bytes.count))
        bytes.swapAt(index, other)
      }
    }
    return bytes
  }

  /// Changes one node of a tree: its tag, its content or its children.
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
