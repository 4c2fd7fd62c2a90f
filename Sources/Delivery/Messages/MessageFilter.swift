import AppStore
import Entitlements
public import Ledger
import Platform
import Store

/// Which events a sink gets, and under which type.
struct MessageFilter {
  private let sink: Configuration.Sink
  /// Of a replay: the only customer.
  private let only: String?

  init(_ sink: Configuration.Sink, only: String? = nil) {
    self.sink = sink
    self.only = only
  }

  func passes(_ event: MessageEvent) -> Bool {
    covers(event) && canSend(event) && passes(type: MessageType.of(event))
  }

  /// Whether it may be told what an event says of requests for refunds.
  func mayTellRefunds(_ event: MessageEvent) -> Bool {
    wantsMoments && covers(event)
      && RefundNews.allCases.contains { passes(type: MessageType.of($0)) }
  }

  private func covers(_ event: MessageEvent) -> Bool {
    (only == nil || ByteSearch.areEqual(event.originalTransactionId, only))
      && sink.arrivals.contains(event.arrival.rawValue)
      && sink.environments?.contains(event.environment) ?? true
      && sink.bundleIds?.contains(exactly: event.bundleId) ?? true
  }

  /// Whether the sink may want what no event causes: what is forwarded was POSTed by Apple.
  var wantsMoments: Bool { sink.kind == .webhook }

  /// Whether it is told what customers have by name. A replay tells what events said.
  var wantsCustomers: Bool {
    wantsMoments && only == nil && passes(type: MessageKind.customer.type)
  }

  /// Whether it gets what went to quarantine.
  var wantsQuarantine: Bool { sink.forwardsQuarantine && only == nil }

  /// Whether a sink is told what time alone changes for a customer, and what another fold does.
  func passes(_ key: StreamKey, type: String) -> Bool {
    sink.environments?.contains(key.environment) ?? true
      && sink.bundleIds?.contains(exactly: key.bundleId) ?? true && passes(type: type)
  }

  func passes(type: String) -> Bool {
    sink.types?.contains { Self.matches(Array(type.utf8)[...], Array($0.utf8)[...]) } ?? true
  }

  /// Forwarded is what Apple POSTed: of version 1 only with its secret, which the journal lacks.
  /// What is said of a request for a refund is told by what becomes of the request.
  private func canSend(_ event: MessageEvent) -> Bool {
    guard sink.kind == .forward else { return !event.isRefundStatement }
    return switch event.source {
    case .v2: true
    case .v1: sink.v1Secrets[event.bundleId] != nil
    default: false
    }
  }

  /// Whether a text matches a glob, in which `*` stands for any bytes.
  static func matches(_ text: ArraySlice<UInt8>, _ glob: ArraySlice<UInt8>) -> Bool {
    var (text, glob) = (text, glob)
    var star: (glob: ArraySlice<UInt8>, text: ArraySlice<UInt8>)?
    while let byte = text.first {
      if glob.first == UInt8(ascii: "*") {
        glob = glob.dropFirst()
        star = (glob, text)
      } else if glob.first == byte {
        (text, glob) = (text.dropFirst(), glob.dropFirst())
      } else if let last = star {
        star = (last.glob, last.text.dropFirst())
        (text, glob) = (last.text.dropFirst(), last.glob)
      } else {
        return false
      }
    }
    return glob.allSatisfy { $0 == UInt8(ascii: "*") }
  }
}

extension MessageEvent {
  /// Whether the owner said it of a request for a refund.
  var isRefundStatement: Bool {
    source == .refund && RefundStatement.types.contains(notificationType)
  }
}

extension Configuration.Sink {
  /// Whether it is told what another fold changes, of some customers at least.
  public var subscribesToRecalculations: Bool {
    let filter = MessageFilter(self)
    return filter.wantsMoments && filter.passes(type: MessageKind.recalculation.type)
  }
}
