"""Atomic writes of files, and folders for temporary files.

Every temporary folder has a file `lock`, which is locked while its process is alive. The next run
removes the folders of killed processes, whose files are no longer locked.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from sqlmetrics import interrupts
from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.texts.messages import Argument, Message

try:
    import fcntl
except ImportError:  # Windows: the folders of killed processes are not removed
    fcntl = None  # type: ignore[assignment]

PREFIX = "sqlmetrics-"  # name prefix of temporary folders; after a dot if next to a result
_OURS = re.compile(rf"\.?{PREFIX}[0-9a-f]{{16}}")
_LOCK = "lock"
_TRIES = 100  # attempts to remove a folder, a hundredth of a second apart
_STARTING = 3600  # age in seconds up to which a folder without a locked file may be in creation


# ---- temporary folders --------------------------------------------------------------------------


class MadeFolders:
    """Create folders, and at the end remove those that are still empty."""

    def __init__(self) -> None:
        self._made: list[Path] = []

    def __enter__(self) -> MadeFolders:
        interrupts.add(self.remove)
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
        interrupts.drop(self.remove)

    def make(self, folder: Path) -> None:
        """Create a folder and its missing parents.

        Raises:
            OSError: one of them cannot be created.
        """
        missing = []
        while not folder.is_dir():
            missing.append(folder)
            folder = folder.parent
        for path in reversed(missing):
            self._made.append(path)  # before mkdir, because an interrupt may follow it at once
            try:
                path.mkdir()
            except FileExistsError:
                self._made.pop()
                if not path.is_dir():
                    raise

    def remove(self) -> None:
        """Remove the created folders that are empty."""
        for folder in reversed(self._made):
            with contextlib.suppress(OSError):  # the folder has files, or was removed
                folder.rmdir()


class OwnFolder:
    """A temporary folder of this process; `make` creates it. Threads can share it.

    Attributes:
        path: the path of the folder, which exists after `make`.
    """

    def __init__(
        self, where: str | Path | None = None, hidden: bool = False, shared: bool = False
    ) -> None:
        """Choose a path in `where`, by default in the system's temporary directory.

        `shared` gives the folder the usual permissions, so that other users may enter it.
        """
        parent = Path(os.path.abspath(tempfile.gettempdir() if where is None else where))
        self.path = parent / f"{'.' * hidden}{PREFIX}{os.urandom(8).hex()}"
        self._shared = shared
        self._folders = MadeFolders()
        self._lock: int | None = None
        self._process = os.getpid()
        self._one_at_a_time = threading.RLock()  # an interrupt may remove during `make`

    def __enter__(self) -> Path:
        return self.make()

    def __exit__(self, *_: object) -> None:
        self.remove()

    def make(self) -> Path:
        """Create the folder and its parents if they do not exist; return its path.

        Temporary folders of killed processes in the same directory are removed.

        Raises:
            OSError: the folder cannot be created.
        """
        with self._one_at_a_time:
            if self._lock is None:
                check_can_be_made(self.path.parent)
                interrupts.add(self.remove)
                try:
                    try:
                        self._make()
                    except FileNotFoundError:  # another process removed a parent that it had made
                        self._make()
                except BaseException:
                    self.remove()
                    raise
            return self.path

    def _make(self) -> None:
        self._folders.make(self.path.parent)
        _remove_left_behind(self.path.parent)
        self._lock = _make_locked(self.path)
        if self._shared:
            self.path.chmod(0o777 & ~_umask())

    def remove(self) -> None:
        """Remove the folder with its contents, and the parents that were created for it."""
        if os.getpid() != self._process:  # a fork; the folder belongs to the parent process
            return
        with self._one_at_a_time:
            if fcntl is None:  # Windows cannot remove an open file
                self._unlock()
            for _ in range(_TRIES):
                if _removed(self.path):
                    break
                time.sleep(0.01)  # a thread of the engine is writing to the folder
            self._folders.remove()
            self._unlock()
            interrupts.drop(self.remove)

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def is_temporary(path: Path) -> bool:
    """Return whether the name of a path is that of a temporary folder of this package."""
    return _OURS.fullmatch(path.name) is not None


def check_can_be_made(folder: Path) -> None:
    """Check that a folder exists or can be created, without creating it.

    Raises:
        OSError: the folder cannot be created or written to.
    """
    folder = existing(folder)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


def existing(folder: Path) -> Path:
    """Return a path if it exists, or else its nearest existing parent."""
    while not os.path.lexists(folder):
        folder = folder.parent
    return folder


def _make_locked(folder: Path) -> int:
    """Create a folder with a lock held by this process; return the descriptor of the lock."""
    folder.mkdir(mode=0o700)
    handle = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        if fcntl is not None:
            with contextlib.suppress(OSError):  # without locks, nobody removes the folder
                fcntl.flock(handle, fcntl.LOCK_EX)  # others hold it only to read it
        os.write(handle, f"{_machine()} {os.getpid()}\n".encode())
    except BaseException:
        os.close(handle)
        raise
    return handle


def _machine() -> str:
    """Return the name of this machine; on some network file systems, locks apply to one machine."""
    return os.uname().nodename if hasattr(os, "uname") else ""


def _remove_left_behind(where: Path) -> None:
    """Remove the temporary folders of this package whose processes were killed."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError), os.scandir(where) as entries:
        for entry in entries:
            if _OURS.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                        _remove_if_left_behind(Path(entry.path))


def _remove_if_left_behind(folder: Path) -> None:
    """Remove a temporary folder of this package unless its process may be alive."""
    try:
        handle = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        if _is_old(folder):  # its process was killed before it made the lock, or removed it
            folder.rmdir()
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        content = os.read(handle, 1000).decode()
        if content.partition(" ")[0] == _machine() if content else _is_old(folder):
            _removed(folder)
    finally:
        os.close(handle)


def _is_old(folder: Path) -> bool:
    """Return whether a folder is too old to be in creation."""
    return time.time() - folder.stat().st_mtime > _STARTING


def _removed(folder: Path) -> bool:
    """Remove a folder with its contents, the lock last; return whether the folder is gone."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    for name in sorted(names, key=_LOCK.__eq__):
        path = folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                path.unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()
    return not os.path.lexists(folder)


# ---- one file -----------------------------------------------------------------------------------


@contextlib.contextmanager
def whole_file(path: Path, force: bool) -> Iterator[Path]:
    """Yield a temporary path, and move its file to `path` when it is complete.

    The new file gets the mode of the file that it replaces and, if permitted, its owner. If `path`
    is a symbolic link, its target is replaced. Devices and pipes are written to at the end.

    Raises:
        DataError: the file exists and `force` is not set, its folder does not exist, or the file
            cannot be written; an existing file is then unchanged.
    """
    target = _checked_target(path, force)
    through = _is_stream(target)
    kept = "" if through else "; nothing was written, and an existing file is unchanged"
    try:
        with OwnFolder(None if through else target.parent, hidden=not through) as folder:
            draft = folder / "result"
            yield draft
            if through:
                with draft.open("rb") as source, target.open("wb") as sink:
                    shutil.copyfileobj(source, sink)
                return
            interrupts.decide()
            _place(draft, target, force)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}{kept}") from error


def _checked_target(path: Path, force: bool) -> Path:
    """Check that a file can be written; return its path with symbolic links resolved."""
    if path.is_dir():
        raise DataError(f"{path} is a folder; give the name of a file")
    if path.is_symlink() and not path.exists():
        raise DataError(
            f"cannot write {path}: the path is a symbolic link to {os.readlink(path)}, which does "
            "not exist; remove the link, or give another file name"
        )
    if path.exists() and not path.is_file() and not _is_stream(path):
        raise DataError(
            f"cannot write {path}: the path is not a file, a pipe or a character device; give "
            "another file name"
        )
    if path.is_file() and not force:
        raise already_there(path)
    if not path.parent.is_dir():
        raise DataError(f"cannot write {path}: the folder {path.parent} does not exist; create it")
    return Path(os.path.realpath(path)) if path.is_symlink() and path.is_file() else path


def already_there(path: object) -> DataError:
    """Return the error for an existing file that is not overwritten."""
    remedy = Message("add ", Argument("force", True), " to replace it")
    return DataError(f"{path} exists and is not overwritten", remedy=remedy)


def _is_stream(path: Path) -> bool:
    """Return whether a path is a pipe or a character device, such as /dev/null."""
    return path.is_fifo() or path.is_char_device()


def _place(draft: Path, target: Path, force: bool) -> None:
    """Move a complete file to its target."""
    make_like(draft, target)
    if force:
        os.replace(draft, target)
        return
    try:
        os.link(draft, target)  # fails if another process has written the file meanwhile
    except FileExistsError:
        raise DataError(
            f"{target} was written by another process meanwhile and is not overwritten"
        ) from None
    except OSError:  # a file system without links
        os.replace(draft, target)


def make_like(draft: Path, target: Path) -> None:
    """Give a new file the mode and owner of the file that it replaces, or else the default mode.

    Raises:
        OSError: the mode cannot be changed.
    """
    try:
        before = target.stat()
    except FileNotFoundError:
        draft.chmod(0o666 & ~_umask())
        return
    if hasattr(os, "chown"):
        with contextlib.suppress(PermissionError):  # only root may change the owner
            os.chown(draft, before.st_uid, before.st_gid)
    draft.chmod(stat.S_IMODE(before.st_mode))


def check_not_read(
    target: Path, files: Mapping[str, str], what: str = "the rows of {} are"
) -> None:
    """Check that an output file is not also an input file.

    Args:
        target: the output file.
        files: maps the path of each input file to the name of its table or other content.
        what: the wording for the content in the message, with the verb; {} stands for the name.

    Raises:
        UsageError: names the table.
    """
    for path, table in files.items():
        with contextlib.suppress(OSError):  # one of the two files does not exist
            if os.path.samefile(target, path):
                raise UsageError(
                    f"{target} is not overwritten: {what.format(table)} read from it ({path}); "
                    "give another output file"
                )


def move(file: Path, target: Path) -> None:
    """Move a file to a path, which may exist and may be on another file system."""
    try:
        os.replace(file, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copyfile(file, target)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


# ---- several files ------------------------------------------------------------------------------


def check_replaceable(paths: Iterable[Path]) -> None:
    """Check that each path is a regular file or does not exist.

    Raises:
        DataError: names the first path that is a folder, a link or a device.
    """
    for path in paths:
        if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
            what = "a symbolic link" if path.is_symlink() else "not a regular file"
            raise DataError(f"{path} is {what} and is not replaced; move or remove it")


def replaced(targets: Sequence[Path], force: bool) -> list[Path]:
    """Return the files that exist, which `exchange` replaces.

    Raises:
        DataError: a file exists and `force` is not set, or it is not a regular file.
    """
    existing = [target for target in targets if os.path.lexists(target)]
    if existing and not force:
        raise already_there(existing[0])
    check_replaceable(existing)
    return existing


def exchange(folder: Path, draft: Path, names: Iterable[str], old: Iterable[Path]) -> None:
    """Replace old files by new ones; if that fails, restore the old files.

    Args:
        folder: the folder of the old files, and the target of the new ones.
        draft: a temporary folder on the same file system, with the new files in `new`.
        names: the paths of the new files, relative to both folders.
        old: the files in `folder` to remove.
    """
    interrupts.decide()
    put_away: list[tuple[Path, Path]] = []
    placed: list[Path] = []
    try:
        for name in names:
            make_like(draft / "new" / name, folder / name)
        for path in old:
            away = draft / "old" / path.relative_to(folder)
            away.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, away)
            put_away.append((away, path))
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(draft / "new" / name, folder / name)
            placed.append(folder / name)
    except BaseException:
        for path in placed:
            path.unlink(missing_ok=True)
        for away, path in put_away:
            os.replace(away, path)
        raise
