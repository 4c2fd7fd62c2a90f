import Clients
import Platform
import Store
import Testing

@testable import SharedJournal

/// What each SQLSTATE means.
@Suite struct PolicyTests {
  @Test(arguments: [
    ("40001", "not_now", "not_now"), ("40P01", "not_now", "not_now"),
    ("55P03", "not_now", "not_now"),
    ("40003", "not_now", "unknown"), ("08006", "not_now", "unknown"),
    ("57P01", "not_now", "unknown"),
    ("57P02", "not_now", "unknown"), ("57P03", "not_now", "not_now"),
    ("25P03", "not_now", "not_now"),
    ("25006", "not_now", "not_now"), ("53300", "not_now", "not_now"),
    ("53100", "not_now", "not_now"),
    ("57014", "not_now", "not_now"), ("XX000", "not_now", "not_now"),
    ("22012", "diverged", "diverged"),
    ("23505", "diverged", "diverged"), ("SL001", "broken", "broken"),
    ("SL005", "broken", "broken"), ("23514", "broken", "broken"), ("28P01", "refused", "refused"),
    ("3D000", "refused", "refused"), ("3F000", "refused", "refused"),
    ("42501", "refused", "refused"), ("42P01", "refused", "refused"),
  ])
  func `a SQLSTATE is judged before and after COMMIT was sent`(
    code: String, before: String, after: String
  ) throws {
    let error = PostgresError.statement(try #require(SQLState(code)))
    #expect(FailurePolicy.beforeCommit(error).code == LedgerError.Code("shared_\(before)"))
    #expect(FailurePolicy.afterCommit(error).code == LedgerError.Code("shared_\(after)"))
  }

  @Test func `a lost connection is unknown only after COMMIT was sent`() {
    for error in [PostgresError.lost, .timeout] {
      #expect(FailurePolicy.beforeCommit(error).code == .sharedNotNow)
      #expect(FailurePolicy.afterCommit(error).code == .sharedUnknown)
    }
    #expect(FailurePolicy.beforeCommit(.connect("x")).code == .sharedNotNow)
  }

  @Test(arguments: ["", "plain", "\0", "a\0b\u{10FFFF}c\u{10FFFF}\0", "é🙂"])
  func `every text comes back from its stored form`(text: String) {
    let stored = StoredText.encode(text)
    #expect(!stored.unicodeScalars.contains("\0"))
    #expect(StoredText.decode(stored) == text)
  }
}
