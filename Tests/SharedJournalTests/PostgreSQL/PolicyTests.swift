import Clients
import Store
import Testing

@testable import SharedJournal

/// What each SQLSTATE means.
@Suite struct PolicyTests {
  @Test(arguments: [
    ("40001", "notNow", "notNow"), ("40P01", "notNow", "notNow"), ("55P03", "notNow", "notNow"),
    ("40003", "notNow", "unknown"), ("08006", "notNow", "unknown"), ("57P01", "notNow", "unknown"),
    ("57P02", "notNow", "unknown"), ("57P03", "notNow", "notNow"), ("25P03", "notNow", "notNow"),
    ("25006", "notNow", "notNow"), ("53300", "notNow", "notNow"), ("53100", "notNow", "notNow"),
    ("57014", "notNow", "notNow"), ("XX000", "notNow", "notNow"), ("22012", "diverged", "diverged"),
    ("23505", "diverged", "diverged"), ("SL001", "broken", "broken"),
    ("SL005", "broken", "broken"), ("23514", "broken", "broken"), ("28P01", "refused", "refused"),
    ("3D000", "refused", "refused"), ("3F000", "refused", "refused"),
    ("42501", "refused", "refused"), ("42P01", "refused", "refused"),
  ])
  func `a SQLSTATE is judged before and after COMMIT was sent`(
    code: String, before: String, after: String
  ) throws {
    let error = PostgresError.statement(try #require(SQLState(code)))
    #expect(name(FailurePolicy.beforeCommit(error)) == before)
    #expect(name(FailurePolicy.afterCommit(error)) == after)
  }

  @Test func `a lost connection is unknown only after COMMIT was sent`() {
    for error in [PostgresError.lost, .timeout] {
      #expect(name(FailurePolicy.beforeCommit(error)) == "notNow")
      #expect(name(FailurePolicy.afterCommit(error)) == "unknown")
    }
    #expect(name(FailurePolicy.beforeCommit(.connect("x"))) == "notNow")
  }

  private func name(_ error: SharedJournalError) -> String {
    "\(error)".isEmpty ? "" : Mirror(reflecting: error).children.first?.label ?? "diverged"
  }

  @Test(arguments: ["", "plain", "\0", "a\0b\u{10FFFF}c\u{10FFFF}\0", "é🙂"])
  func `every text comes back from its stored form`(text: String) {
    let stored = StoredText.encode(text)
    #expect(!stored.unicodeScalars.contains("\0"))
    #expect(StoredText.decode(stored) == text)
  }
}
