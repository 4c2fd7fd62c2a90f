import subledger

// Nothing else is here: an executable cannot be linked in two ways. This one has Swift's standard
// library in it, so that it runs without a toolchain; tests link the same objects, and share the
// library with the testing framework.
Subledger.main()
