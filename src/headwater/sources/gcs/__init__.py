"""Google Cloud Storage, with notifications in Pub/Sub.

gRPC's support for forks is off: with it, a process that is started while another thread is inside gRPC may
die before its first instruction, as Spark's JVM did in one of eight starts with messages waiting. No process
of headwater uses gRPC after a fork.
"""

from headwater.config.environment import set_default

# Before gRPC is loaded.
set_default("GRPC_ENABLE_FORK_SUPPORT", "0")
