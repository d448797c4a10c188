"""Judges what AWS answers about a bucket and its queue: decisions only, no requests."""
