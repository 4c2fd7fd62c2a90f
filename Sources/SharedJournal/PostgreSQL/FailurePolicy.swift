import Clients
import Platform
import Store

// What an error of the server means for an append.
//
// | SQLSTATE or state                                  | before COMMIT was sent | afterwards |
// |----------------------------------------------------|------------------------|------------|
// | no connection, lost, deadline passed               | notNow                 | unknown    |
// | 08* connection, 57P0* shut down, 40003             | notNow                 | unknown    |
// | 40* serialization, deadlock; 55* lock not available | notNow                | notNow     |
// | 25006 read-only, 53* resources, 57P03 starting     | notNow                 | notNow     |
// | 23505 a uuid, place or version is taken            | diverged               | diverged   |
// | 22012 the head is not where it was (`moveHead`)    | diverged               | diverged   |
// | SL001, SL005, other 23*                            | broken                 | broken     |
// | 28* rights, 3D* database, 3F* schema, 42*          | refused                | refused    |
// | all else                                           | notNow                 | notNow     |
//
// "Afterwards" is from the moment at which the pipeline that ends with COMMIT was begun. An error
// that the server names for a statement before COMMIT ended the SQL transaction, so it is known not
// to be committed; but one that ends the session may come from a pooler, which knows less.

enum FailurePolicy {
  static func beforeCommit(_ error: PostgresError) -> LedgerError {
    switch error {
    case .connect(let reason): .sharedNotNow(state: reason)
    case .timeout: .sharedNotNow(state: "timeout")
    case .lost: .sharedNotNow(state: "connection lost")
    case .unexpected(let what): .sharedBroken(state: what)
    case .refused(let state), .statement(let state): judge(state)
    }
  }

  static func afterCommit(_ error: PostgresError) -> LedgerError {
    switch error {
    case .timeout: .sharedUnknown(state: "timeout")
    case .lost: .sharedUnknown(state: "connection lost")
    case .statement(let state) where endsSession(state): .sharedUnknown(state: state.code)
    default: beforeCommit(error)
    }
  }

  private static func endsSession(_ state: SQLState) -> Bool {
    state.code == "40003" || state.category == "08"
      || state.code.hasPrefix("57P") && state.code != "57P03"
  }

  private static func judge(_ state: SQLState) -> LedgerError {
    switch (state.category, state.code) {
    case (_, "23505"), (_, "22012"): .sharedDiverged
    case ("23", _), ("SL", _): .sharedBroken(state: state.code)
    case ("28", _), ("3D", _), ("3F", _), ("42", _): .sharedRefused(state: state.code)
    default: .sharedNotNow(state: state.code)
    }
  }
}
