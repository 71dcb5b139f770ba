"""§5: training, from text files to a model directory."""
