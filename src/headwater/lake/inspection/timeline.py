"""The timeline of the table at an address, with its folder."""

from functools import cached_property

from headwater.errors import TableUnsupportedError
from headwater.lake.layout import TableAddress
from headwater.lake.table_folder import TableFolder
from headwater.lake.timeline.file_layout import LAYOUT
from headwater.lake.timeline.files import FileReader, FileTimeline


class TableTimeline(FileTimeline):
    """A snapshot of a timeline.

    Raises `TableNotFoundError`, `TableUnsupportedError` for table versions below 8, and `LakeError`.
    """

    def __init__(self, address: TableAddress) -> None:
        self.folder = TableFolder(address)
        properties = self.folder.properties
        if properties.read_number("layout_version", LAYOUT) < LAYOUT:
            version = properties.read("table_version", "unknown")
            raise TableUnsupportedError(
                f"{address.path}: only Spark can read a timeline of table version {version}",
                hint="after an upgrade, Hudi 1.x writes it as version 9",
            )
        super().__init__(FileReader(address.path, self.folder, properties))

    @cached_property
    def zone(self) -> str:
        """The zone of instants, `UTC` or `LOCAL`."""
        return self.folder.properties.read("timezone", "LOCAL").upper()
