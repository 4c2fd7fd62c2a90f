import CPostgres

/// The notices of one connection. libpq calls back with them while it reads answers.
final class NoticeList {
  /// A server may send any number of them; a caller asks whether there is a warning.
  private static let limit = 100

  private(set) var notices: [PostgresNotice] = []

  /// Removes and returns the notices so far.
  func take() -> [PostgresNotice] {
    defer { notices = [] }
    return notices
  }

  private func receive(_ result: OpaquePointer?) {
    let field = { (code: Int32) in
      PQresultErrorField(result, code).map { String(cString: $0) }
    }
    // A warning is kept whatever came before it.
    let notice = PostgresNotice(
      severity: field(subledger_severity_field) ?? "WARNING",
      state: field(subledger_state_field).flatMap { SQLState($0) })
    if notices.count < Self.limit || notice.isWarning && !notices.contains(where: \.isWarning) {
      notices.append(notice)
    }
  }

  /// Without a receiver libpq prints notices, with values, to standard error.
  ///
  /// The list must live as long as `handle`.
  func receive(from handle: OpaquePointer) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    _ = PQsetNoticeReceiver(
      handle,
      { context, result in
        guard let context else { return }
        Unmanaged<NoticeList>.fromOpaque(context).takeUnretainedValue().receive(result)
      }, context)
  }
}
