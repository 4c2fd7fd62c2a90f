import CLinux

/// Memory that the process has freed.
public enum FreeMemory {
  /// Gives free memory back to the system (malloc_trim(3)). Otherwise the C library keeps what lies
  /// between memory that is in use.
  public static func release() { _ = malloc_trim(0) }
}
