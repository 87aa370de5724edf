"""The conformance suite: cases as data, run through real Delta tables."""
