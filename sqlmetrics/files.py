"""Files that are written whole or not at all, and folders for temporary files.

Every folder for temporary files holds a file `lock`, which is locked as long as its process lives.
So the next run tells the folders of processes that were killed, and removes them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from sqlmetrics import interrupts
from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.messages import Argument, Message

try:
    import fcntl
except ImportError:  # Windows: folders of processes that were killed stay there
    fcntl = None  # type: ignore[assignment]

PREFIX = "sqlmetrics-"  # of temporary folders; beside results, a dot stands before it
_OURS = re.compile(rf"\.?{PREFIX}[0-9a-f]{{16}}")
_LOCK = "lock"
_TRIES = 100  # while another process or thread is in the way, for a hundredth of a second each


# ---- temporary folders --------------------------------------------------------------------------


class MadeFolders:
    """Folders that are made for something; those that are still empty in the end are removed."""

    def __init__(self) -> None:
        self._made: list[Path] = []

    def __enter__(self) -> MadeFolders:
        interrupts.add(self.remove)
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
        interrupts.drop(self.remove)

    def make(self, folder: Path) -> None:
        """Make a folder and those that it is in, as far as they do not exist.

        Raises:
            OSError: one of them cannot be made.
        """
        missing = []
        while not folder.is_dir():
            missing.append(folder)
            folder = folder.parent
        for path in reversed(missing):
            self._made.append(path)  # an interrupt may come right after it is made
            try:
                path.mkdir()
            except FileExistsError:
                self._made.pop()
                if not path.is_dir():
                    raise

    def remove(self) -> None:
        """Remove the folders that are empty."""
        for folder in reversed(self._made):
            with contextlib.suppress(OSError):  # it has files, or is gone
                folder.rmdir()


class OwnFolder:
    """A folder of this process for temporary files; nothing is made before `make`.

    Attributes:
        path: where it is, or will be.
    """

    def __init__(self, where: str | Path | None = None, hidden: bool = False) -> None:
        """Choose a name, in the system's directory for temporary files unless `where` is given."""
        parent = Path(os.path.abspath(tempfile.gettempdir() if where is None else where))
        self.path = parent / f"{'.' * hidden}{PREFIX}{os.urandom(8).hex()}"
        self._folders = MadeFolders()
        self._lock: int | None = None
        self._process = os.getpid()

    def __enter__(self) -> Path:
        return self.make()

    def __exit__(self, *_: object) -> None:
        self.remove()

    def make(self) -> Path:
        """Make the folder, and those that it is in, unless it is made; return its path.

        What killed processes have left behind beside it is removed.

        Raises:
            OSError: it cannot be made.
        """
        if self._lock is not None:
            return self.path
        check_can_be_made(self.path.parent)
        interrupts.add(self.remove)
        try:
            self._folders.make(self.path.parent)
            _remove_left_behind(self.path.parent)
            self._lock = _make_locked(self.path)
        except BaseException:
            self.remove()
            raise
        return self.path

    def remove(self) -> None:
        """Remove the folder, all that is in it, and the folders that were made for it."""
        if os.getpid() != self._process:  # a fork; the folder is its parent's
            return
        if fcntl is None:  # Windows does not remove a file that is open
            self._unlock()
        for _ in range(_TRIES):
            if _removed(self.path):
                break
            time.sleep(0.01)  # a thread of the engine writes to it
        self._folders.remove()
        self._unlock()
        interrupts.drop(self.remove)

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def is_temporary(path: Path) -> bool:
    """Is it, by its name, a folder for temporary files of this package?"""
    return _OURS.fullmatch(path.name) is not None


def check_can_be_made(folder: Path) -> None:
    """Check that a folder exists or can be made, without making it.

    Raises:
        OSError: it cannot be made, or not be written to.
    """
    folder = existing(folder)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


def existing(folder: Path) -> Path:
    """Return a path, or the nearest folder that it would be in if it does not exist."""
    while not os.path.lexists(folder):
        folder = folder.parent
    return folder


def _make_locked(folder: Path) -> int:
    """Make a folder with a lock that this process holds; return the lock's descriptor.

    Raises:
        OSError: it cannot be made.
    """
    for _ in range(_TRIES):
        with contextlib.suppress(FileExistsError, FileNotFoundError, BlockingIOError):
            folder.mkdir(mode=0o700)
            handle = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
            try:
                _lock(handle)
                if os.fstat(handle).st_nlink:
                    os.write(handle, f"{_machine()} {os.getpid()}\n".encode())
                    return handle
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)
        # another process took the folder, not locked yet, for one that was left behind
        time.sleep(0.01)
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(folder))


def _lock(handle: int) -> None:
    """Lock a file, where the file system can.

    Raises:
        BlockingIOError: another process has locked it.
    """
    if fcntl is None:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # nobody can lock it then, and nobody takes the folder for one left behind
        pass


def _machine() -> str:
    """Name this machine: some network file systems lock files for one machine only."""
    return os.uname().nodename if hasattr(os, "uname") else ""


def _remove_left_behind(where: Path) -> None:
    """Remove the folders of ours whose processes were killed."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError), os.scandir(where) as entries:
        for entry in entries:
            if _OURS.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                        _remove_if_left_behind(Path(entry.path))


def _remove_if_left_behind(folder: Path) -> None:
    """Remove a folder of ours unless its process is alive, or may be.

    Raises:
        OSError: it is locked, or gone, or was never locked and is not empty.
    """
    try:
        handle = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        folder.rmdir()  # its process was killed before there was a lock, or after
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        machine, _, _ = os.read(handle, 1000).decode().partition(" ")
        if machine in ("", _machine()):
            _removed(folder)
    finally:
        os.close(handle)


def _removed(folder: Path) -> bool:
    """Remove a folder with all that is in it, the lock last; say whether it is gone."""
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
    """Return a temporary path, whose file takes the place of `path` when it is complete.

    A replaced file keeps its mode and, where that is allowed, its owner; of a symbolic link, the
    file that it leads to is replaced. Devices and pipes are written to in the end.

    Raises:
        DataError: the file exists and `force` is not set, its folder does not exist, or it cannot
            be written; what is there is left as it was then.
    """
    target = _checked_target(path, force)
    through = _is_stream(target)
    kept = "" if through else "; nothing was written, and what was there is as it was"
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
    """Check that a file can be written; return the path behind symbolic links.

    Raises:
        DataError: it cannot, or it exists and `force` is not set.
    """
    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file to write to")
    if path.is_symlink() and not path.exists():
        raise DataError(
            f"cannot write {path}: it is a symbolic link to {os.readlink(path)}, which does not "
            "exist; remove the link, or name another file"
        )
    if path.exists() and not path.is_file() and not _is_stream(path):
        raise DataError(
            f"cannot write {path}: it is neither a file nor a pipe nor a character device; name "
            "another file"
        )
    if path.is_file() and not force:
        raise already_there(path)
    if not path.parent.is_dir():
        raise DataError(f"cannot write {path}: there is no folder {path.parent}")
    return Path(os.path.realpath(path)) if path.is_symlink() and path.is_file() else path


def already_there(path: object) -> DataError:
    """Make the error of a file that is not overwritten."""
    remedy = Message("add ", Argument("force", True), " to replace it")
    return DataError(f"{path} exists and is not overwritten", remedy=remedy)


def _is_stream(path: Path) -> bool:
    """Is it a pipe or a character device, such as /dev/null, which is written to as it is?"""
    return path.is_fifo() or path.is_char_device()


def _place(draft: Path, target: Path, force: bool) -> None:
    """Move a file that was written to its place.

    Raises:
        DataError: the target exists by now, and `force` is not set.
        OSError: it cannot be moved.
    """
    make_like(draft, target)
    if force:
        os.replace(draft, target)
        return
    try:
        os.link(draft, target)  # fails if somebody else wrote it meanwhile
    except FileExistsError:
        raise DataError(
            f"{target} was written by somebody else meanwhile; it is left as it is"
        ) from None
    except OSError:  # a file system without links
        os.replace(draft, target)


def make_like(draft: Path, target: Path) -> None:
    """Give a new file the mode and owner of the one that it replaces, or those of a new file.

    Raises:
        OSError: the mode cannot be changed.
    """
    try:
        before = target.stat()
    except FileNotFoundError:
        draft.chmod(0o666 & ~_umask())
        return
    if hasattr(os, "chown"):
        with contextlib.suppress(PermissionError):  # only root gives files away
            os.chown(draft, before.st_uid, before.st_gid)
    draft.chmod(stat.S_IMODE(before.st_mode))


def check_not_read(
    target: Path, files: Mapping[str, str], what: str = "the rows of {} are"
) -> None:
    """Check that a file to be written is not one that is read.

    Args:
        target: the file to be written.
        files: path -> the name of the table (or of something else) that is read from it.
        what: how the message speaks of what is read; braces stand for the name.

    Raises:
        UsageError: names the table.
    """
    for path, table in files.items():
        with contextlib.suppress(OSError):  # one of the two does not exist
            if os.path.samefile(target, path):
                raise UsageError(
                    f"{target} is not overwritten: {what.format(table)} read from it ({path}); "
                    "name another file to write to"
                )


def move(file: Path, target: Path) -> None:
    """Move a file over another, also of another file system."""
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
    """Check that paths where files are to be put are free, or regular files.

    Raises:
        DataError: names the first that is a folder, a link or a device.
    """
    for path in paths:
        if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
            what = "a symbolic link" if path.is_symlink() else "no regular file"
            raise DataError(f"{path} is {what} and is not replaced; move it away")


def exchange(folder: Path, draft: Path, names: Iterable[str], old: Iterable[Path]) -> None:
    """Put new files in the place of old ones; if that fails, everything is as before.

    Args:
        folder: where the files go.
        draft: a temporary folder on the same file system, with the new files in `new`.
        names: of the new files, relative to both folders.
        old: files in `folder` that go.
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
