#ifndef SUBLEDGER_CVERSION_H
#define SUBLEDGER_CVERSION_H

/// The commit that the program was built from, as Package.swift passes it; empty if it is not known.
/// It is compiled here, so that a new commit compiles one short file and no Swift.
const char *_Nonnull subledger_commit(void);

#endif
