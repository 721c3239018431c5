"""Reports: tables with bars and intervals, and the items behind each figure."""
