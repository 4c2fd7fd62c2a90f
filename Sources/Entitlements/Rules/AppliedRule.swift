import AppStore
import Platform

/// What a rule made of a transaction, beside the dates that Apple gives it.
public struct AppliedRule: Sendable, Equatable {
  public let transactionId: String
  /// Plain English: the end of a sentence about the transaction.
  public let words: String
}

extension StreamState {
  /// What the rules made of the transactions, in ascending order of their starts. Most have none.
  public var appliedRules: [AppliedRule] {
    let periods = Periods(self)
    let items = Dictionary(grouping: periods.registers.indices) {
      periods.registers[$0].held.transaction.purchaseName
    }
    return periods.all.indices.flatMap { index in
      let words = [
        periods.replacement(of: index), periods.twins(of: index, items),
        periods.cancellation(of: index), periods.end(of: index), periods.chargeAhead(of: index),
        periods.unknownKind(of: index),
      ]
      return words.compactMap { $0 }.map {
        AppliedRule(
          transactionId: periods.registers[index].transaction.transactionId, words: $0)
      }
    }
  }
}

extension Periods {
  /// That another transaction ended it.
  fileprivate func replacement(of index: Int) -> String? {
    let period = all[index]
    guard period.cut < .max else {
      return registers[index].isUpgraded
        ? "upgraded, but what replaced it was never told: it covers nothing" : nil
    }
    guard period.cut == period.end else { return nil }
    let other = last(startingAt: period.cut) { $0 != index && all[$0].counts }
    let name = other.map { " (transaction \(registers[$0].transaction.transactionId))" } ?? ""
    let isRenewal =
      other.map { registers[$0].reason == .renewal } ?? false
    let date = Timestamp.text(period.cut)
    if isRenewal {
      return "ended at \(date), as a renewal\(name) began inside it: the upgrade was never told"
    }
    return period.cut > period.start
      ? "ended by the upgrade of \(date)\(name)"
      : "replaced by the upgrade of \(date)\(name) before it began"
  }

  /// That other ids name the same purchase: at most ten of them.
  fileprivate func twins(of index: Int, _ items: [String?: [Int]]) -> String? {
    guard let item = registers[index].held.transaction.purchaseName, let all = items[item],
      all.count > 1
    else { return nil }
    let others = all.prefix(11).filter { $0 != index }.prefix(10)
      .map { registers[$0].transaction.transactionId }
    let more = all.count > 11 ? " and \(all.count - 11) more" : ""
    return "the same purchase as \(others.joined(separator: " and "))\(more) under another number"
  }

  /// That its revocation is not the date of its newest snapshot.
  fileprivate func cancellation(of index: Int) -> String? {
    guard let date = all[index].revocation,
      date != registers[index].transaction.revocationDate, registers[index].key.isSigned
    else { return nil }
    let text = Timestamp.text(date)
    if registers[index].cancel == date {
      return "cancelled at \(text) by version 1 or a receipt, later than what Apple signed"
    }
    return registers[index].transaction.revocationDate == nil
      ? "revoked at \(text), with another number of the same purchase"
      : "revoked at \(text), the earliest of the dates that Apple told"
  }

  /// That its expiry is not what Apple signed.
  fileprivate func end(of index: Int) -> String? {
    guard let end = registers[index].newerEnd, end != registers[index].held.expires else {
      return nil
    }
    return "expires at \(Timestamp.text(end)) by version 1 or a receipt, later than what Apple "
      + "signed"
  }

  /// That the time before it counts as paid.
  fileprivate func chargeAhead(of index: Int) -> String? {
    guard !early[index].isEmpty, registers[index].first != nil, all[index].isLive else {
      return nil
    }
    let from = Timestamp.text(early[index].lowerBound)
    return "charged before it began: the time from \(from) counts as paid, as no lapse was told"
  }

  fileprivate func unknownKind(of index: Int) -> String? {
    let transaction = registers[index].transaction
    guard transaction.isEndless, transaction.type != ProductType.autoRenewable else { return nil }
    return "of a kind that Apple does not document, without an end: it covers nothing"
  }
}
