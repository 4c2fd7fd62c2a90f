public import Configuration
public import SignedData
public import StrictJSON

/// Proves a V2 notification whole: the outer JWS, and each nested one on its own (promise 3).
///
/// The one way a notification is proven, at the door and by `verify`. One per thread.
public final class NotificationProof {
  private let prover: Prover

  var chainHits: Int { prover.chainHits }
  var chainMisses: Int { prover.chainMisses }

  public init(_ roots: TrustRoots) throws(ConfigurationError) {
    do throws(ProofFailure) {
      prover = try Prover(roots: roots)
    } catch {
      throw ConfigurationError("a trust root is no certificate", next: "check trustRoots")
    }
  }

  /// A signedPayload that was proven; what is nested in it was not looked at yet.
  public struct Opened {
    let jws: CompactJWS
    /// The payload; nil where it is no JSON.
    public let document: JSONDocument?
    /// SHA-256 of the whole signedPayload.
    public let bodySHA256: [UInt8]
  }

  /// Proves a signedPayload.
  ///
  /// It is judged as of the date its payload claims: the signature covers the claim, Apple repeats
  /// a notification for days, and a journal is verified years later. Where it claims no usable
  /// date, as of `now`, milliseconds since 1970.
  public func open(_ signedPayload: ArraySlice<UInt8>, at now: Int64) throws(Refusal) -> Opened {
    let jws: CompactJWS
    do throws(ProofFailure) {
      jws = try CompactJWS(parsing: signedPayload)
    } catch {
      throw .malformed(error.code)
    }
    let document = try? JSONDocument(parsing: jws.payload)
    do throws(ProofFailure) {
      let date = document?.root["signedDate"]?.integer ?? now
      return Opened(
        jws: jws, document: document, bodySHA256: try prover.proveHashing(jws, at: date))
    } catch {
      switch error {
      case .malformed(let code): throw .malformed(code)
      // Nobody signed a payload of nothing: it is a JWS with a part missing.
      case .untrusted where jws.payload.isEmpty: throw .malformed("jws_segments")
      case .untrusted(let code): throw .untrusted(code)
      }
    }
  }

  /// Reads a proven payload and proves what is nested in it.
  public func notification(_ document: JSONDocument, at now: Int64) throws(Refusal) -> Notification
  {
    try Notification(document.root) { (nested, member) throws(Refusal) in
      try openNested(nested, dateMember: member, at: now)
    }
  }

  /// A nested JWS is judged as of its own date; one that is not even a JWS nobody has signed.
  private func openNested(
    _ text: ArraySlice<UInt8>, dateMember: String, at now: Int64
  ) throws(Refusal) -> JSONElement {
    let document: JSONDocument?
    do throws(ProofFailure) {
      let jws = try CompactJWS(parsing: text)
      document = try? JSONDocument(parsing: jws.payload)
      try prover.prove(jws, at: document?.root[dateMember]?.integer ?? now)
    } catch {
      throw .untrusted("nested_\(error.code)")
    }
    guard let document else { throw .notAdmitted("nested_payload") }
    return document.root
  }
}
