/// One value of a query's result, with SQLite's five types (sqlite.org/datatype3.html).
public enum QueryValue: Sendable, Equatable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])
}
