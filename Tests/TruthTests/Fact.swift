import AppStore
import Entitlements

/// Something that Apple signed or sent about a life, as the fold reads it.
///
/// It says what was true at the moment it is of.
struct Fact {
  var moment: Int64
  var event: FoldEvent
  /// The purchases that it tells of.
  var purchases: Set<Int>
  /// Who tells of the renewal; nil if it says nothing of it.
  var renewal: Teller?

  /// Version 1 knows less of a renewal than what Apple signs.
  enum Teller { case versionOne, signed }

  /// The date by which the ledger orders it and compares it with the time that is asked about.
  var date: Int64 { event.signedDate }
}
