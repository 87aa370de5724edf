"""The heart: changes and state in, write sets out. Pure: no session, no Delta, no clock, no files."""
