import Configuration
import Entitlements
import JournalStore
import LedgerEngine
import Platform
import SignedData
import Simulator
import StrictJSON
import Support
import Synchronization

/// The door: whatever is brought to it, only what was signed enters (promise 3).
extension FuzzTarget {
  static let jws = FuzzTarget("jws") { input in
    let receiver = context.receiver()
    if let fault = doorFault(receiver, signedPayload: input) { return fault }
    // The parts of it, decoded and put back: the form is strict, so it is the same.
    guard let jws = try? CompactJWS(parsing: input[...]) else { return nil }
    let parts = ForgedJWS.parts(input)
    let again = ForgedJWS.joined(parts[0], ForgedJWS.url(jws.payload), ForgedJWS.url(jws.signature))
    return again == input ? nil : "two texts of the same JWS"
  }

  /// A certificate in place of the leaf, and of the intermediate, of a chain that is right.
  static let certificate = FuzzTarget("certificate") { input in
    for place in 0..<2 {
      var chain = context.chain
      chain[place] = input
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
        // Only a proven chain lets its leaf be asked for a signature.
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
    guard let root = try? JSONDocument(parsing: input).root else { return "no JSON is taken" }
    if root["signedPayload"] != nil { return genuineFault(received) }
    guard root["password"]?.string == FuzzContext.secret else { return "taken without the secret" }
    let (source, body) = content(received)
    guard source == "v1", let kept = try? JSONDocument(parsing: body).root else {
      return "what is kept cannot be read"
    }
    guard kept["password"] == nil else { return "the secret is kept" }
    guard kept.value.bytes == body else { return "what is kept is not in the one form" }
    // What is kept, with a secret again, is the same notification.
    guard case .object(let members) = kept.value else { return "no object is taken" }
    let again = JSONValue.object(members.reversed() + [("password", .string(FuzzContext.secret))])
    guard let twin = try? receiver.receive(body: again.bytes, at: FuzzContext.moment) else {
      return "what is kept is not taken again"
    }
    return content(twin).body == body ? nil : "what is kept is kept in another form"
  }

  /// A file of lines: as it was is how it is read, and each line passes the same door.
  static let lines = FuzzTarget("lines") { input in
    let pieces = input.split(separator: 0x0A, omittingEmptySubsequences: false)
    let receiver = context.receiver()
    for line in pieces.prefix(8) {
      let received = try? BatchReceive.line(
        line, receiver, at: FuzzContext.moment, limit: 262_144, keeping: nil)
      guard let received else { continue }
      guard line.last != 0x0D else { return "a line with another end is taken" }
      if content(received).source == "v2", let fault = genuineFault(received) { return fault }
      guard case .event(let event) = received.submission, event.preservesReceivedAt else {
        continue
      }
      guard event.receivedAt <= FuzzContext.moment + 300_000, event.receivedAt >= 0 else {
        return "a receive time that cannot be"
      }
    }
    return nil
  }

  /// Properly signed noise: taken, kept apart or refused, and never the end.
  static let payload = FuzzTarget("payload") { input in
    guard let signed = context.signed(input) else { return "cannot sign" }
    do throws(Refusal) {
      let received = try context.receiver().receive(
        signedPayload: signed[...], at: FuzzContext.moment)
      guard content(received).body == signed else { return "another body is kept" }
      return foldFault(received)
    } catch {
      switch error {
      case .malformed("nul_in_identifier"), .untrusted: return nil
      case .malformed, .notAdmitted, .unavailable: return "refused as \(error)"
      }
    }
  }

  // MARK: What must hold

  private static func doorFault(_ receiver: Receiver, signedPayload: [UInt8]) -> String? {
    let received = try? receiver.receive(signedPayload: signedPayload[...], at: FuzzContext.moment)
    return received.flatMap(genuineFault)
  }

  private static func content(_ received: Receiver.Received) -> (source: String, body: [UInt8]) {
    switch received.submission {
    case .event(let event): (event.source, event.body)
    case .quarantine(let item): (item.source, item.body)
    }
  }

  /// Nothing but what was once signed; its twin with the other S is as good (FIPS 186-5).
  private static func genuineFault(_ received: Receiver.Received) -> String? {
    let body = content(received).body
    let parts = ForgedJWS.parts(body)
    let isGenuine = context.genuine.contains { good in
      let theirs = ForgedJWS.parts(good)
      return theirs[0] == parts[0] && theirs[1] == parts[1]
    }
    return isGenuine ? nil : "what nobody signed is taken"
  }

  private static func foldFault(_ received: Receiver.Received) -> String? {
    guard let event = received.foldEvent else { return nil }
    var state = StreamState()
    state.evolve(event)
    guard StreamState(decoding: state.encoded()) == state else { return "a state is lost" }
    for time in [Int64.min, -1, 0, event.signedDate, .max] {
      guard let entitlement = Entitlement(state, at: time, durations: ["a": .max]) else { continue }
      if entitlement.givesAccess, entitlement.transaction == nil { return "access from nothing" }
    }
    var twice = state
    twice.evolve(event)
    guard twice.transactions == state.transactions, twice.renewal == state.renewal else {
      return "an event changes its own registers"
    }
    return nil
  }

  private static let context = FuzzContext()

  /// What all inputs meet. A receiver keeps what it has proven, so each input gets its own.
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
        environments: ["Production", "Sandbox"],
        v1SecretDigests: [SHA256.hash(Array(Self.secret.utf8))])
      self.configuration = configuration
    }

    /// With what is nested signed as well, where it is spelt out.
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
