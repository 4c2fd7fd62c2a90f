import AppStore
import Entitlements
import Platform

/// A request for a refund in plain words.
extension RefundRequest {
  /// What was asked for, until when Apple waits, what was done, and how it ended, as of a time in
  /// milliseconds since 1970; the end of a sentence.
  func words(at time: Int64) -> String {
    let why = reason.map { " (\(VisibleText.of($0)))" } ?? ""
    let waits = time < deadline ? "waits" : "waited"
    return "a refund of \(VisibleText.of(transactionId)) was asked for\(why), and Apple \(waits) "
      + "until \(Timestamp.text(deadline)): \(done(at: time))"
      + (outcome.map { "; Apple \($0.words)" } ?? "")
  }

  private func done(at time: Int64) -> String {
    switch state(at: time) {
    case .waiting: "nothing is decided yet"
    case .answered:
      "Apple took \(sent), as \(decidingPolicy.map { "the policy \($0)" } ?? "the backend") had it"
    case .declinedToAnswer: "nothing is sent (\(withholding?.name ?? ""))"
    case .refused: "Apple refused what it was told"
    case .missed: "it was told nothing that it took"
    case .closed: "it decided before it was told anything"
    }
  }

  private var sent: String {
    sendings.last?.information.preference?.rawValue ?? "what was sent, without a preference"
  }
}

extension RefundRequest.Outcome {
  fileprivate var words: String {
    switch self {
    case .refunded: "refunded it"
    case .declined: "declined"
    case .reversed: "refunded it, and charged it again"
    }
  }
}
