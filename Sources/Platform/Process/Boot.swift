/// Which run of the kernel this is.
public enum Boot {
  /// Another text after every boot (random(4), `boot_id`): what was written but never synced is
  /// whole for as long as it stays the same, whatever became of the process that wrote it.
  public static func id() throws(PlatformError) -> [UInt8] {
    try DurableFile.read("/proc/sys/kernel/random/boot_id", limit: 64)
  }
}
