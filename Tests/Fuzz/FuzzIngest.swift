import AppStore
import AppStoreSimulator
import Entitlements
import Ledger
import Platform
import SignedData
import Store
import StrictJSON
import Support
import Synchronization

/// Ingest: whatever the input, only what was signed is accepted (promise 3).
extension FuzzTarget {
  static let jws = FuzzTarget("jws") { input in
    let receiver = context.receiver()
    if let fault = ingestFault(receiver, signedPayload: input) { return fault }
    // The form is strict: decoding and encoding the parts gives the same text.
    guard let jws = try? CompactJWS(parsing: input[...]) else { return nil }
    let parts = ForgedJWS.parts(input)
    let again = ForgedJWS.joined(parts[0], ForgedJWS.url(jws.payload), ForgedJWS.url(jws.signature))
    return again == input ? nil : "two texts of the same JWS"
  }

  /// A certificate in place of the leaf, and of the intermediate, of a valid chain.
  static let certificate = FuzzTarget("certificate") { input in
    for index in 0..<2 {
      var chain = context.chain
      chain[index] = input
      let header = ForgedJWS.header(chain)
      let input = ForgedJWS.joined(ForgedJWS.url(header), ForgedJWS.url(Array("{}".utf8)))
      let jws = ForgedJWS.joined(input, ForgedJWS.url([UInt8](repeating: 1, count: 64)))
      guard let parsed = try? CompactJWS(parsing: jws[...]), let prover = context.prover() else {
        return "no prover"
      }
      do throws(ProofFailure) {
        try prover.prove(parsed, at: FuzzContext.moment)
        return "proven without a signature"
      } catch {
        // The signature is checked only under a proven chain.
        if error == .untrusted("signature"), chain != context.chain { return "a chain is proven" }
        guard case .untrusted = error else { return "a certificate is malformed: \(error)" }
      }
    }
    return nil
  }

  static let v1 = FuzzTarget("v1") { input in
    let receiver = context.receiver()
    guard let received = try? receiver.receive(body: input, at: FuzzContext.moment) else {
      return nil
    }
    guard let root = try? JSONDocument(parsing: input).root else {
      return "a body that is not JSON is accepted"
    }
    if root["signedPayload"] != nil { return genuineFault(received) }
    guard root["password"]?.string == FuzzContext.secret else {
      return "accepted without the secret"
    }
    let (source, body) = content(received)
    guard source == "v1", let stored = try? JSONDocument(parsing: body).root else {
      return "the stored body cannot be parsed"
    }
    guard stored["password"] == nil else { return "the secret is stored" }
    guard stored.value.bytes == body else { return "the stored body is not canonical" }
    // The stored body with the secret added is the same notification.
    guard case .object(let members) = stored.value else {
      return "a body that is not an object is accepted"
    }
    let again = JSONValue.object(members.reversed() + [("password", .string(FuzzContext.secret))])
    guard let second = try? receiver.receive(body: again.bytes, at: FuzzContext.moment) else {
      return "the stored body is refused"
    }
    return content(second).body == body ? nil : "the stored body changes its form"
  }

  /// A file of lines: each line passes the same ingest path.
  static let lines = FuzzTarget("lines") { input in
    let lines = input.split(separator: 0x0A, omittingEmptySubsequences: false)
    let receiver = context.receiver()
    for line in lines.prefix(8) {
      let parts = try? BatchReceive.receive(
        line: line, receiver, at: FuzzContext.moment, limit: 262_144, verifying: nil)
      guard let received = parts?.first else { continue }
      guard line.last != 0x0D else { return "a line with another line end is accepted" }
      if content(received).source == "v2", let fault = genuineFault(received) { return fault }
      guard case .event(let event) = received.submission, event.preservesReceivedAt else {
        continue
      }
      guard event.receivedAt <= FuzzContext.moment + 300_000, event.receivedAt >= 0 else {
        return "an impossible receive time"
      }
    }
    return nil
  }

  /// Properly signed noise: accepted or quarantined, refused only for a nested JWS that is not
  /// proven, and never a crash.
  static let payload = FuzzTarget("payload") { input in
    guard let signed = context.signed(input) else { return "cannot sign" }
    do throws(Refusal) {
      let received = try context.receiver().receive(
        signedPayload: signed[...], at: FuzzContext.moment)
      guard content(received).body == signed else { return "another body is stored" }
      return foldFault(received)
    } catch {
      if case .untrusted = error { return nil }
      return "refused as \(error)"
    }
  }

  // MARK: Assertions

  private static func ingestFault(_ receiver: Receiver, signedPayload: [UInt8]) -> String? {
    let received = try? receiver.receive(signedPayload: signedPayload[...], at: FuzzContext.moment)
    return received.flatMap(genuineFault)
  }

  private static func content(
    _ received: Receiver.Received
  ) -> (source: EventSource, body: [UInt8]) {
    switch received.submission {
    case .event(let event): (event.source, event.body)
    case .quarantine(let item): (item.source, item.body)
    case .statement: (.account, [])
    }
  }

  /// Only signed input is accepted. The second valid S value of a signature counts too (FIPS
  /// 186-5).
  private static func genuineFault(_ received: Receiver.Received) -> String? {
    let body = content(received).body
    let parts = ForgedJWS.parts(body)
    let isGenuine = context.genuine.contains { good in
      let theirs = ForgedJWS.parts(good)
      return theirs[0] == parts[0] && theirs[1] == parts[1]
    }
    return isGenuine ? nil : "an unsigned notification is accepted"
  }

  private static func foldFault(_ received: Receiver.Received) -> String? {
    guard let event = received.foldEvent(seq: 0) else { return nil }
    var state = StreamState()
    state.evolve(event)
    guard StreamState(decoding: state.encoded()) == state.withoutSeq else {
      return "a state is lost"
    }
    for time in [Int64.min, -1, 0, event.signedDate, .max] {
      guard
        let entitlement = EntitlementRow(state, by: .current)
          .entitlement(at: time, durations: ["a": .max])
      else { continue }
      if entitlement.givesAccess, entitlement.purchase == nil { return "access from nothing" }
    }
    var twice = state
    twice.evolve(event)
    guard twice.transactions == state.transactions, twice.renewal == state.renewal else {
      return "an event changes its own registers"
    }
    return nil
  }

  private static let context = FuzzContext()

  /// The fixtures of all inputs. A receiver caches proven chains, so each input gets its own
  /// receiver.
  private struct FuzzContext: Sendable {
    static let moment: Int64 = 1_767_225_600_000
    static let secret = "fuzz-secret"

    let chain: [[UInt8]]
    let authority: SimulatedAuthority
    let genuine: [[UInt8]]
    let configuration: Configuration?

    init() {
      genuine = (1...3).map { FuzzFiles.read("genuine-\($0).jws") }
      guard let authority = try? SimulatedAuthority.load(from: FuzzFiles.authority),
        var configuration = try? Configuration(),
        let roots = try? TrustRoots(files: [authority.root])
      else { preconditionFailure("the authority beside this file cannot be read") }
      (self.authority, chain) = (authority, authority.chain)
      configuration.trustRoots = roots
      configuration.apps["com.example.app"] = Configuration.App(
        bundleId: "com.example.app", appAppleId: 123_456_789,
        environments: Set(Environment.all),
        v1SecretDigests: [SHA256.hash(Array(Self.secret.utf8))])
      self.configuration = configuration
    }

    /// Signs a payload, and first the transaction and renewal info that it has in plain.
    func signed(_ payload: [UInt8]) -> [UInt8]? {
      let root = try? JSONDocument(parsing: payload).root
      guard let root, root["data"]?["transaction"] != nil else {
        return try? authority.sign(payload: payload)
      }
      return try? authority.signedPayload(root.value)
    }

    func prover() -> Prover? { configuration.flatMap { try? Prover(roots: $0.trustRoots) } }

    func receiver() -> Receiver {
      guard let configuration, let receiver = try? Receiver(configuration) else {
        preconditionFailure("no receiver")
      }
      return receiver
    }
  }
}
