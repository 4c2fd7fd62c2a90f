/// The current run of the kernel.
public enum Boot {
  /// The identifier of this boot, in ASCII (random(4), `boot_id`); it differs after every boot.
  ///
  /// While it is the same, unsynced writes of a process that has ended are still in the page cache
  /// and not lost.
  ///
  /// - Throws: `LedgerError.system` when /proc is not mounted or cannot be read.
  public static func id() throws(LedgerError) -> [UInt8] {
    try DurableFile.read("/proc/sys/kernel/random/boot_id", limit: 64)
  }
}
