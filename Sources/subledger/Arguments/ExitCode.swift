import Configuration
import JournalStore
import LedgerQueries

/// The one table of exit codes.
enum ExitCode: Int32 {
  case good = 0
  /// A difference, a broken proof, a refused line, nothing found.
  case findings = 1
  case usage = 2
  /// Locked, disk, network: may work later.
  case unavailable = 3
  /// The data is from a newer version.
  case newer = 4

  init(_ error: StoreError) {
    switch error {
    case .newer: self = .newer
    case .brokenTail, .corrupt, .foreign, .missingWAL, .frozenMigration: self = .findings
    case .locked, .full, .io, .busy, .sql, .platform: self = .unavailable
    }
  }

  init(_ error: CommandError) {
    switch error {
    case .usage, .configuration: self = .usage
    case .store(let error): self = ExitCode(error)
    case .unavailable: self = .unavailable
    case .findings: self = .findings
    }
  }
}

/// Why a command did not do what it was asked.
enum CommandError: Error {
  case usage(String)
  case configuration(ConfigurationError)
  case store(StoreError)
  case unavailable(String)
  case findings(String)

  var text: String {
    switch self {
    case .usage(let text), .unavailable(let text), .findings(let text): text
    case .configuration(let error): error.description
    case .store(let error): error.description
    }
  }

  init(_ failure: LedgerReader.Failure) {
    switch failure {
    case .notReady: self = .unavailable("the rows are being built; ask again")
    case .ambiguous: self = .usage("two apps have this id; say which: --bundle-id ID")
    case .store(let error): self = .store(error)
    }
  }

  /// Runs a step of the store under this command's error.
  static func store<Value: ~Copyable>(
    _ step: () throws(StoreError) -> Value
  ) throws(CommandError) -> Value {
    do throws(StoreError) {
      return try step()
    } catch {
      throw .store(error)
    }
  }

  /// Runs a step that builds rows: one at a time does.
  static func building<Value>(
    _ step: () throws(StoreError) -> Value
  ) throws(CommandError) -> Value {
    do throws(StoreError) {
      return try step()
    } catch {
      guard error != .locked else {
        throw .unavailable(
          "rows are being built here already, by the daemon or another rebuild; run this again then"
        )
      }
      throw .store(error)
    }
  }

  static func read<Value>(
    _ step: () throws(LedgerReader.Failure) -> Value
  ) throws(CommandError) -> Value {
    do throws(LedgerReader.Failure) {
      return try step()
    } catch {
      throw CommandError(error)
    }
  }
}
