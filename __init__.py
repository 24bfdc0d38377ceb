"""accnn: a compiler for DNN accelerators that proves every program by running it."""
