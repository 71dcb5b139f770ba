"""Speed beside other libraries: systems alternate within a run, so that noise affects them all."""
