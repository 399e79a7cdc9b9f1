"""The server that a bulk load builds a graph in, beside the one that answers until the graph is whole."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ..progress.phases import Progress, silent
from .bulk_import import offline_import
from .bulk_import.import_output import Imported
from .embedded import BOLT_PORT, HTTP_PORT, EmbeddedServer
from .files import graph_files
from .processes import admin_tool

if TYPE_CHECKING:
    from .bulk_import.import_files import ImportFiles


class Incoming(EmbeddedServer):
    """``<home_dir>/incoming/servers/<name>``: a folder, a lock and ports of its own, none of them its target's.

    On Linux it does not outlive whoever works with it: its importer ends with the call, and its server with the main
    thread, when it was started there.
    """

    usual_ports = (0, 0)

    def __init__(self, target: EmbeddedServer) -> None:
        super().__init__(target.name, target.servers_dir.parent / "incoming", target.jars.folder.parent)
        self.target = target

    def import_graph(
        self,
        files: ImportFiles,
        progress: Progress = silent,
        *,
        heap_mb: int | None = None,
        off_heap_mb: int | None = None,
    ) -> Imported:
        """Stop the server and make its graph from the files, in place of the one it had.

        Raises what `offline_import.import_graph` raises, and `DownloadError`.
        """
        class_path = self.jars.ensure()
        with self._locked():
            self._stop()
            self._settle()
            self.home.create()
            return offline_import.import_graph(
                self.home, class_path, files, progress, heap_mb=heap_mb, off_heap_mb=off_heap_mb
            )

    def reset(self) -> None:
        """Stop the server and delete it with all that is in its folder."""
        self._delete()

    def discard(self) -> None:
        """Stop the server and delete its graph; the logs stay until the next load."""
        if not self.home.folder.exists():
            return
        with self._locked():
            self._stop()
            admin_tool.end_leftovers(self.home)
            graph_files.delete_graph(self.home)

    def _avoided_ports(self) -> set[int]:
        avoided = {BOLT_PORT, HTTP_PORT, *self.target.remembered_ports}
        return avoided | self.target._avoided_ports() | super()._avoided_ports()

    def _for_us_alone(self) -> bool:
        return threading.current_thread() is threading.main_thread()
