// A shared library that is no PJRT plugin.

extern "C" int NoPjrtApi() { return 0; }
