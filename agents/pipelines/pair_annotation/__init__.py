"""Algorithm 1 of CoSQA+: the test-driven annotation of query-code pairs."""
