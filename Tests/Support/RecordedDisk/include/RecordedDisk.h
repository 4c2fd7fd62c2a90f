/* Nothing to call: the library is preloaded into the program under trial (ld.so(8), LD_PRELOAD)
   and told by its environment what to do. See RecordedDisk.c. */
