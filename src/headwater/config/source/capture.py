"""`capture:`"""

from pydantic import ByteSize, Field

from headwater.config.section import ByteCount, Section


class CaptureConfig(Section):
    """Limits at which a batch of notifications is committed to the events table."""

    batch_seconds: float = Field(
        0.5, ge=0, le=900, description="Age of the oldest message that closes a batch, in seconds."
    )
    batch_bytes: ByteCount = Field(
        ByteSize(64 * 1024 * 1024), description="Size of message bodies that closes a batch."
    )
    min_sync_interval: float = Field(
        0, ge=0, le=86_400, description="Minimum interval between the starts of two commits, in seconds."
    )
