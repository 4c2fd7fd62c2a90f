import Clients
import Ledger
import Platform
import SignedData
import StrictJSON

/// One attempt, as it goes over the wire, and what its answer means.
struct DeliveryRequest {
  let request: ClientRequest

  /// - Parameters:
  ///   - attempt: from 1.
  ///   - replay: the number of the replay; 0 for the sink itself.
  ///   - version: of this program.
  /// - Throws: `ClientError.failed` when OpenSSL cannot sign.
  init(
    _ message: OutgoingMessage, _ attempt: Int, _ sink: Configuration.Sink, _ replay: Int64,
    version: String
  ) throws(ClientError) {
    let seconds = Clock.now() / 1000
    var fields: [(name: String, value: String)] = [
      ("content-type", "application/json"), ("user-agent", "subledger/\(version)"),
      ("webhook-id", message.id), ("subledger-attempt", "\(attempt)"),
    ]
    if replay > 0 { fields.append(("subledger-replay", "\(replay)")) }
    if !sink.secrets.isEmpty {
      var signatures: [String] = []
      do throws(SigningError) {
        for secret in sink.secrets {
          signatures.append(try secret.signature(id: message.id, seconds: seconds, message.body))
        }
      } catch {
        throw .failed("the message cannot be signed")
      }
      fields += [
        ("webhook-timestamp", "\(seconds)"),
        ("webhook-signature", signatures.joined(separator: " ")),
      ]
    }
    fields += sink.fields.map { ($0.name, $0.value.text) }
    request = ClientRequest(.post, sink.url, fields: fields, body: message.body)
  }

  /// Milliseconds until a connection is made.
  private static let connecting = 5000
  /// Bytes of an answer at most that are read so that the connection can be kept.
  private static let answerBytes = 16_384

  static func settings(_ sink: Configuration.Sink) -> ClientSettings {
    var settings = ClientSettings()
    settings.connectMilliseconds = connecting
    settings.totalMilliseconds = sink.timeoutSeconds * 1000
    (settings.bodyBytes, settings.needsBody) = (answerBytes, false)
    settings.addresses = sink.isPrivate ? .privateToo : .publicOnly
    settings.proxy = sink.proxy
    settings.authorities = sink.authorities
    settings.clientCertificate = sink.clientCertificate
    return settings
  }

  /// Milliseconds that a receiver may ask to be left alone at most.
  private static let longestWait: Int64 = 3_600_000

  /// Which of the two kinds of failure it is, if it is one.
  static func outcome(
    _ result: Result<ClientResponse, ClientError>, at now: Int64
  ) -> SinkMachine.Outcome {
    switch result {
    case .success(let response):
      switch response.status {
      case 200...299: .delivered
      case 410: .gone
      case 429, 502, 503, 504:
        .endpoint(.status(response.status), wait: wait(response.field("retry-after"), at: now))
      default: .refused(.status(response.status))
      }
    case .failure(let error):
      switch error {
      // The receiver answered, in a way that no receiver should.
      case .tooLarge, .malformed: .refused(.transport(error.description))
      default: .endpoint(.transport(error.description), wait: nil)
      }
    }
  }

  /// RFC 9110 section 10.2.3: seconds, or a date.
  private static func wait(_ field: String?, at now: Int64) -> Int64? {
    guard let field else { return nil }
    let wait =
      Int64(field).map { min($0, longestWait / 1000) * 1000 }
      ?? HTTPDate.milliseconds(field).map { $0 - now }
    return wait.map { max(0, min($0, longestWait)) }
  }

  /// The answer to a test, in words.
  static func answer(_ result: Result<ClientResponse, ClientError>) -> SinkCommand.Outcome {
    switch result {
    case .success(let response):
      .done(.object([("status", .integer(Int64(response.status)))]))
    case .failure(.address):
      .refused(
        "no answer: the receiver is in a private network; \"privateNetwork\": true of the sink "
          + "allows that")
    case .failure(let error): .refused("no answer: \(error)")
    }
  }
}
