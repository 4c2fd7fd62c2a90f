import CSQLite
import CZstd

/// The versions of the libraries that write the data files, as loaded at run time.
public enum StoreLibraries {
  public static var sqlite: String { String(cString: sqlite3_libversion()) }
  public static var zstd: String { String(cString: ZSTD_versionString()) }
}
