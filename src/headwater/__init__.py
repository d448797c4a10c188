"""headwater: keeps Apache Hudi tables equal to the objects in a bucket.

The public Python API is what `__all__` names; everything else is internal.
"""

__version__ = "0.1.0"

__all__ = ["__version__"]
