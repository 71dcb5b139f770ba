"""Speed beside peers: systems take turns within one run, so that noise meets them all."""
