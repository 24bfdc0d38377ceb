"""Orders of loops: SALSA's and LOMA's searches, and the kernel that allocates and counts."""
