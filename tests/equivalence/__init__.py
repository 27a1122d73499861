"""Our trees against those of other libraries, on data where all must agree."""
