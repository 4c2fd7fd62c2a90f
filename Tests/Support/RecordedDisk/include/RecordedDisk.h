/* No function to call: the library is preloaded into the program under test (LD_PRELOAD in ld.so(8))
   and configured by its environment. See RecordedDisk.c. */
