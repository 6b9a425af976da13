# SPDX-License-Identifier: Apache-2.0
"""What holdfast is measured against: private instances, started here and gone afterwards.

Every reference is given its best case: a clean configuration, an image of one small layer, no
network, no limits. Each offers

    run_argv(command)    a new container for one command, as a whole process
    exec_argv(command)   one command in a living container, where the tool has such a thing
"""
import contextlib
import glob
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tarfile
import time

from workspace import BenchError, command, say

IMAGE = "localhost/holdfast-bench"  # with a host, so that nobody looks up a short name
LIVING = "living"
PROGRAMS = ("bash", "cat", "dd", "env", "head", "sleep", "true")


def make_rootfs(workspace):
    """A tar of a few of the host's own programs and their libraries: no network, half a second."""
    path = workspace.path("rootfs.tar")
    if os.path.exists(path):
        return path
    files = {}
    for program in PROGRAMS:
        found = shutil.which(program, path="/usr/bin:/bin")
        if not found:
            raise BenchError(f"{program} is not on this host: no image can be made")
        files[_true_place(found)] = found
        for word in command(["ldd", found]).split():
            if word.startswith("/"):
                files[_true_place(word)] = word
    with tarfile.open(path, "w") as tar:
        for name in ("bin", "sbin", "lib", "lib64", "lib32", "libx32"):
            if os.path.islink(f"/{name}"):
                tar.add(f"/{name}", name)
        for name in ("dev", "etc", "proc", "root", "sys", "tmp"):
            info = tarfile.TarInfo(name)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)
        for place, source in sorted(files.items()):
            tar.add(os.path.realpath(source), place.lstrip("/"))
    return path


def _true_place(path):
    """The path with its directory's links resolved, but not its own: sonames are links."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


class Reference:
    name = ""
    tools = ()
    needs_root = True

    def __init__(self, workspace):
        self.workspace = workspace
        self.env = workspace.env()
        self.version = ""

    def missing(self):
        """Why it cannot be used here, or None."""
        for tool in self.tools:
            if not shutil.which(tool):
                return f"{tool} is not installed (scripts/deps bench installs it)"
        if self.needs_root and os.geteuid() != 0:
            return "needs root"
        return None

    def start(self):
        """Makes it ready. The workspace learns how to stop it before anything is started."""

    def call(self, *arguments, timeout=120):
        return command([self.tools[0], *arguments], env=self.env, timeout=timeout)


def ping(path):
    """True if a Docker engine answers on the socket."""
    connection = http.client.HTTPConnection("localhost", timeout=5)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(5)
    try:
        connection.sock.connect(path)
        connection.request("GET", "/_ping")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class Docker(Reference):
    name = "docker"
    tools = ("docker", "dockerd", "containerd", "runc")

    def start(self):
        workspace = self.workspace
        self.socket = workspace.run_path("docker.sock")
        self.env.update(DOCKER_HOST=f"unix://{self.socket}")
        workspace.trace("/etc/docker/key.json", "/etc/docker", "/run/containerd/s",
                        "/run/containerd", "/run/docker/plugins", "/run/docker",
                        "/opt/containerd/bin", "/opt/containerd/lib", "/opt/containerd")
        config = workspace.path("daemon.json")  # empty: not the host's own
        with open(config, "w") as handle:
            handle.write("{}\n")
        with open(workspace.path("dockerd.log"), "w") as log:
            self.daemon = subprocess.Popen(
                ["dockerd", "--config-file", config, "--data-root", workspace.path("docker"),
                 "--exec-root", workspace.run_path("docker"),
                 "-p", workspace.run_path("docker.pid"), "-H", f"unix://{self.socket}",
                 "--bridge=none", "--iptables=false",
                 "--ip6tables=false", "--exec-opt", "native.cgroupdriver=cgroupfs",
                 "--cgroup-parent", f"/{workspace.name}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        workspace.on_exit(self.stop)
        deadline = time.monotonic() + 30
        while not ping(self.socket):
            if self.daemon.poll() is not None or time.monotonic() > deadline:
                raise BenchError(f"dockerd did not start: {self._last_words()}")
            time.sleep(0.05)
        self.version = self.call("version", "--format", "{{.Server.Version}}").strip()
        self.call("import", make_rootfs(workspace), IMAGE)
        self.call("run", "-d", "--network", "none", "--name", LIVING, IMAGE, "sleep", "infinity")

    def _last_words(self):
        with open(self.workspace.path("dockerd.log")) as log:
            return " ".join(log.read().splitlines()[-3:])

    def stop(self):
        with contextlib.suppress(BenchError):
            ids = self.call("ps", "-aq", timeout=20).split()
            if ids:
                self.call("rm", "-f", *ids, timeout=30)
        self.daemon.send_signal(signal.SIGTERM)
        try:
            self.daemon.wait(20)
        except subprocess.TimeoutExpired:
            say("dockerd did not stop; killing it")
            self.daemon.kill()
            self.daemon.wait()

    def run_argv(self, argv):
        return ["docker", "run", "--rm", "--network", "none", IMAGE, *argv]

    def exec_argv(self, argv):
        return ["docker", "exec", LIVING, *argv]

    def copy_argv(self, source, target):
        """docker cp; a path of the container begins with a colon."""
        place = [f"{LIVING}{word}" if word.startswith(":") else word for word in (source, target)]
        return ["docker", "cp", *place]

    def idle_memory_kib(self):
        """Private memory of one idle container: its shim and its PID 1. The daemons come on top."""
        pid = int(self.call("inspect", "--format", "{{.State.Pid}}", LIVING))
        with open(f"/proc/{pid}/status") as handle:
            shim = next(int(line.split()[1]) for line in handle if line.startswith("PPid:"))
        return private_kib(pid) + private_kib(shim)


def private_kib(pid):
    with open(f"/proc/{pid}/smaps_rollup") as handle:
        return sum(int(line.split()[1]) for line in handle if line.startswith("Private_"))


class Podman(Reference):
    name = "podman"
    tools = ("podman", "conmon", "runc")

    def start(self):
        workspace = self.workspace
        containers, storage = workspace.path("containers.conf"), workspace.path("storage.conf")
        # runc and modest limits: crun refuses hosts with both kinds of cgroups, and raising limits
        # may not be permitted. File locks: the others leave a segment in /dev/shm. No static_dir:
        # the clean-up process would not learn of it, and each run would wait 20 s for it in vain.
        with open(containers, "w") as handle:
            handle.write('[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n'
                         '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\n'
                         'events_logger = "file"\nlock_type = "file"\n'
                         f'tmp_dir = "{workspace.run_path("podman-tmp")}"\n'
                         '[network]\n'
                         f'network_config_dir = "{workspace.path("podman-networks")}"\n')
        with open(storage, "w") as handle:
            handle.write('[storage]\ndriver = "overlay"\n'
                         f'graphroot = "{workspace.path("podman")}"\n'
                         f'runroot = "{workspace.run_path("podman")}"\n')
        self.env.update(CONTAINERS_CONF=containers, CONTAINERS_STORAGE_CONF=storage)
        workspace.trace(*with_parents("/var/lib/containers/cache/blob-info-cache-v1.boltdb"),
                        *with_parents("/var/lib/containers/storage"),
                        *with_parents("/var/lib/cni/networks"), "/run/libpod", "/run/containers",
                        "/run/runc", "/dev/shm/libpod_lock")
        workspace.on_exit(self.stop)
        self.version = self.call("version", "--format", "{{.Client.Version}}").strip()
        self.call("import", make_rootfs(workspace), IMAGE)
        self.call("run", "-d", *self._flags(), "--name", LIVING, IMAGE, "sleep", "infinity")

    def _flags(self):
        return ["--network", "none", "--cgroup-parent", f"/{self.workspace.name}"]

    def stop(self):
        with contextlib.suppress(BenchError):
            self.call("rm", "-f", "-a", "-t", "0", timeout=30)

    def run_argv(self, argv):
        return ["podman", "run", "--rm", *self._flags(), IMAGE, *argv]

    def exec_argv(self, argv):
        return ["podman", "exec", LIVING, *argv]


def with_parents(path):
    """The path and its parents below /var/lib, the deepest first."""
    while path != "/var/lib":
        yield path
        path = os.path.dirname(path)


class Runc(Reference):
    name = "runc"
    tools = ("runc",)

    def start(self):
        workspace = self.workspace
        self.bundle = workspace.path("bundle")
        rootfs = os.path.join(self.bundle, "rootfs")
        os.makedirs(rootfs)
        with tarfile.open(make_rootfs(workspace)) as tar:
            tar.extractall(rootfs)
        self.call("spec", "--bundle", self.bundle)
        path = os.path.join(self.bundle, "config.json")
        with open(path) as handle:
            config = json.load(handle)
        config["process"].update(terminal=False, args=["bash", "-c", "true"])
        config["linux"]["cgroupsPath"] = f"/{workspace.name}/runc"
        with open(path, "w") as handle:
            json.dump(config, handle)
        self.version = self.call("--version").split()[2]

    def run_argv(self, argv):
        del argv  # stands in the bundle
        return ["runc", "--root", self.workspace.run_path("runc"), "run", "--bundle", self.bundle,
                "once"]


class Bubblewrap(Reference):
    name = "bwrap"
    tools = ("bwrap",)
    needs_root = False

    def start(self):
        self.version = self.call("--version").split()[-1]
        self.flags = ["--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr"]
        for path in glob.glob("/lib*") + ["/bin", "/sbin"]:
            if os.path.islink(path):
                self.flags += ["--symlink", os.readlink(path), path]
            elif os.path.isdir(path):
                self.flags += ["--ro-bind", path, path]
        self.flags += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]

    def run_argv(self, argv):
        return ["bwrap", *self.flags, *argv]


class References:
    """Starts each reference the first time it is asked for."""

    def __init__(self, workspace, allowed=None):
        self.workspace = workspace
        self.all = {}
        for kind in (Docker, Podman, Runc, Bubblewrap):
            if allowed is None or kind.name in allowed:
                self.all[kind.name] = kind(workspace)
        self.started = {}
        self.absent = {}  # name: why

    def get(self, name):
        """The reference, ready to use; None if it is not to be had, and `absent` says why."""
        reference = self.all.get(name)
        if name in self.started or name in self.absent or not reference:
            return self.started.get(name)
        reason = reference.missing()
        if not reason:
            say(f"starting {name}")
            try:
                reference.start()
                self.started[name] = reference
                return reference
            except (BenchError, OSError, tarfile.TarError) as error:
                reason = str(error)
        self.absent[name] = reason
        say(f"no {name}: {reason}")
        return None

    def env(self):
        """One environment for all that were started: their variables do not overlap."""
        merged = self.workspace.env()
        for reference in self.started.values():
            merged.update(reference.env)
        return merged
