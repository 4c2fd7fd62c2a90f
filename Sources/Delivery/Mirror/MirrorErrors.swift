import Clients
import Platform
import Queries

// Why a mirror does not move. All of it is tried again.

extension LedgerError.Code {
  /// Its tables are at no place of this journal that is known: nothing is written until the
  /// operator says where it goes on.
  static let mirrorLost = Self("mirror_lost")
}

extension LedgerError {
  /// `detail` is the SQLSTATE, or empty.
  static func postgres(_ error: PostgresError) -> LedgerError {
    LedgerError(
      .unavailable, .temporary, error.description, detail: error.state?.code ?? "")
  }

  /// The rows are being built, and say nothing yet.
  static let rowsNotReady = LedgerError(.notReady, .temporary, "the rows are being built")

  /// The tables are not there, or are those of another program.
  static let mirrorTables = unavailable(
    "its tables are missing or another version's; see: subledger sink mirror-schema")

  /// Another daemon moved it.
  static let mirrorMoved = unavailable("another daemon writes into it")

  static func mirrorLost(_ reason: String) -> LedgerError {
    LedgerError(.mirrorLost, .damaged, reason)
  }

  static let mirrorPassword = unavailable("its passwordFile cannot be read")
}
