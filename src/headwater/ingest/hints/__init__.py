"""What objects of another dialect look like, and the option that reads them."""
