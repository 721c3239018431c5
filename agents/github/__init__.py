"""GitHub's REST interface: within its limits, and of what is unchanged nothing twice."""
