import AppStore

/// What is told of a request for a refund. The raw value is part of the type of a message.
public enum RefundNews: String, Sendable, CaseIterable {
  /// Apple asks.
  case opened
  /// Three hours are left, and nothing is decided.
  case due
  /// Apple took what was sent.
  case answered
  /// The deadline passed before.
  case missed
  /// Apple decided, or decided otherwise than before.
  case closed
}

extension RefundRequest {
  /// What became of it since an earlier state of it, in the order in which it is told.
  ///
  /// - Parameter before: nil if it was not there.
  public func news(since before: RefundRequest?) -> [RefundNews] {
    let reached = milestones.subtracting(before?.milestones ?? [])
    return RefundNews.allCases.filter { news in
      switch news {
      case .opened: before == nil
      case .due: reached.contains(.due)
      case .answered: isAnswered && before?.isAnswered != true
      case .missed: reached.contains(.missed)
      case .closed: outcome != nil && outcome?.name != before?.outcome?.name
      }
    }
  }

  private var isAnswered: Bool { state(at: .min) == .answered }
}
