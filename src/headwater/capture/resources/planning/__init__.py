"""What a source needs against what is there: decisions only, nobody is asked."""
