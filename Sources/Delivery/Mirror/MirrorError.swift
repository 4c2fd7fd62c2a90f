import Clients
import Platform
import Queries
import Store

/// Why a mirror does not move. All of them are tried again.
enum MirrorError: Error, CustomStringConvertible {
  case postgres(PostgresError)
  case store(LedgerError)
  /// The rows are being built, and say nothing yet.
  case notReady
  /// The tables are not there, or are those of another program.
  case schema
  /// Another daemon moved it.
  case moved
  /// Its tables are at no place of this journal that is known, and why: nothing is written until
  /// the operator says where it goes on.
  case lost(String)
  case password
  case stopped

  init(_ failure: LedgerReader.Failure) {
    switch failure {
    case .store(let error): self = .store(error)
    case .notReady, .ambiguous: self = .notReady
    }
  }

  var description: String {
    switch self {
    case .postgres(let error): error.description
    case .store(let error): error.description
    case .notReady: "the rows are being built"
    case .schema: "its tables are missing or another version's; see: subledger sink mirror-schema"
    case .moved: "another daemon writes into it"
    case .lost(let reason): reason
    case .password: "its passwordFile cannot be read"
    case .stopped: "the daemon stops"
    }
  }
}
