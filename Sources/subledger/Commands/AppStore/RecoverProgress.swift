import Recovery

/// Prints the progress of `recover`: days, notifications, rate, and the time that is left if the
/// other days are like those before.
final class RecoverProgress {
  private let accounts: Int
  private var accountsDone = 0
  private let reporter = ProgressReporter("recover", counting: "notifications")
  private var listedBefore: Int64 = 0
  private var listed: Int64 = 0

  init(accounts: Int) { self.accounts = accounts }

  func show(_ step: HistoryRecovery.Step) {
    listed = listedBefore + step.listed
    reporter.show(listed) { seconds, rate in
      let share = self.share(step)
      let left = share > 0.01 ? seconds / share - seconds : nil
      let time = left.map { ", \(DurationText.text(Int64($0) * 1000)) left" } ?? ""
      return
        "day \(step.slicesDone) of \(step.slices), \(CountText.of(self.listed, "notifications")), "
        + "\(step.recovered) recovered\(rate.map { ", \($0)/s" } ?? "")\(time)"
    }
  }

  func finishAccount() {
    accountsDone += 1
    listedBefore = listed
  }

  /// How much is done, from 0 to 1.
  private func share(_ step: HistoryRecovery.Step) -> Double {
    let part = Double(step.slicesDone) / Double(max(1, step.slices))
    return (Double(accountsDone) + part) / Double(max(1, accounts))
  }
}
