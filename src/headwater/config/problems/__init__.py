"""Problems of a configuration, and how they are reported."""
