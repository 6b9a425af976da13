"""A developer's ordinary day in a box."""
import pytest

pytestmark = pytest.mark.usefixtures("box")


@pytest.fixture(autouse=True)
def needs(request, machine):
    for program in getattr(request.function, "programs", ()):
        if not machine.has(program):
            pytest.skip(f"machine: {program} is not installed")


def programs(*names):
    def mark(function):
        function.programs = names
        return function
    return mark


@programs("gcc")
def test_compile_and_run(hf, box):
    script = "printf '#include <stdio.h>\\nint main(void){puts(\"compiled\");}' > a.c; gcc -O2 -o a a.c; ./a"
    assert hf.sh(box, script) == "compiled\n"


@programs("gcc")
def test_compile_with_sanitizers(hf, box):
    """ASan wants personality and large mappings."""
    script = "echo 'int main(void){return 0;}' > a.c; gcc -fsanitize=address -o a a.c; setarch -R ./a || ./a; echo ok"
    assert hf.sh(box, script).endswith("ok\n")


@programs("make", "gcc")
def test_make_in_parallel(hf, box):
    script = ("for i in 1 2 3 4 5 6; do echo \"int f$i(void){return $i;}\" > f$i.c; done\n"
              "printf 'all: f1.o f2.o f3.o f4.o f5.o f6.o\\n' > Makefile; make -j4 >/dev/null; ls *.o | wc -l")
    assert hf.sh(box, script) == "6\n"


@programs("git")
def test_git(hf, box):
    script = ("git init -q . 2>/dev/null; git config user.email a@b; git config user.name n; echo x > f;"
              "git add f; git commit -qm one; git gc -q; git log --oneline | wc -l")
    assert hf.sh(box, script) == "1\n"


@programs("python3")
def test_venv(hf, box):
    if hf.exec(box, "/usr/bin/python3", "-c", "import ensurepip").code != 0:
        pytest.skip("machine: no ensurepip")
    result = hf.exec(box, "sh", "-c", "/usr/bin/python3 -m venv v && v/bin/python -m pip --version",
                     timeout=180)
    assert result.code == 0 and "pip" in result.text, str(result)


@programs("python3")
def test_python_threads_and_processes(hf, box):
    script = ("from concurrent.futures import ThreadPoolExecutor as T, ProcessPoolExecutor as P\n"
              "if __name__=='__main__':\n"
              " with T(8) as t: a=sum(t.map(abs,range(100)))\n"
              " with P(2) as p: b=sum(p.map(abs,range(10)))\n"
              " print(a,b)\n")
    result = hf.exec(box, "sh", "-c", "cat > s.py; python3 s.py", flags=["-i"], input=script)
    assert result.text == "4950 45\n", str(result)


@programs("strace")
def test_strace_of_an_own_child(hf, box):
    result = hf.exec(box, "strace", "-f", "-e", "trace=execve", "sh", "-c", "true; /bin/true")
    assert result.code == 0 and "execve" in result.errors, str(result)


@programs("gdb", "gcc")
def test_gdb_of_an_own_child(hf, box):
    script = "echo 'int main(void){return 7;}' > a.c; gcc -g -o a a.c; gdb -batch -ex run -ex 'print 6*7' ./a"
    result = hf.exec(box, "sh", "-c", script)
    assert "$1 = 42" in result.text and "exited with code 07" in result.text, str(result)


def test_ps_shows_the_box_only(hf, box):
    lines = hf.sh(box, "ps -e").splitlines()
    assert any("warden" in line for line in lines) and len(lines) < 10


def test_file_ownership_tools(hf, box):
    script = ("touch f; chown 1000:1000 f; chmod 4755 f; mkdir d; install -m 600 -o 5 -g 5 f d/g;"
              "tar cf t.tar f d; mkdir x; tar xpf t.tar -C x; stat -c '%u:%g' x/f x/d/g")
    assert hf.sh(box, script) == "1000:1000\n5:5\n"


def test_su_like_tools(hf, box):
    assert hf.sh(box, "setpriv --reuid 1000 --regid 1000 --clear-groups id -u") == "1000\n"


def test_links_and_special_files(hf, box):
    hf.sh(box, "ln -s a b; touch a; ln a c; mkfifo p; (echo x > p &); cat p")


def test_file_locks_and_inotify(hf, box):
    hf.sh(box, "flock /tmp/lock true")
    script = ("import ctypes,os\nl=ctypes.CDLL(None)\nf=l.inotify_init()\nassert f>=0\n"
              "assert l.inotify_add_watch(f,b'/tmp',0x100)>=0\nopen('/tmp/n','w')\nprint(len(os.read(f,64)))")
    assert int(hf.exec(box, "python3", "-c", script).text) > 0


def test_mmap_exec_memory(hf, box):
    """JIT compilers map memory writable and then executable."""
    script = ("import mmap\nm=mmap.mmap(-1,4096,prot=mmap.PROT_READ|mmap.PROT_WRITE|mmap.PROT_EXEC)\nprint('ok')")
    assert hf.exec(box, "python3", "-c", script).text == "ok\n"


def test_shared_memory_and_semaphores(hf, box):
    script = ("import multiprocessing.shared_memory as s\na=s.SharedMemory(create=True,size=100)\n"
              "a.buf[0]=1\na.close();a.unlink()\nimport multiprocessing as m\nm.Lock().acquire();print('ok')")
    assert hf.exec(box, "python3", "-c", script).text == "ok\n"


def test_unix_sockets(hf, box):
    script = ("import socket\na,b=socket.socketpair()\na.send(b'x');b.recv(1)\n"
              "s=socket.socket(socket.AF_UNIX);s.bind('/tmp/s');s.listen()\n"
              "c=socket.socket(socket.AF_UNIX);c.connect('/tmp/s');print('ok')")
    assert hf.exec(box, "python3", "-c", script).text == "ok\n"


@programs("perl")
def test_perl(hf, box):
    assert hf.exec(box, "perl", "-e", "print 6*7").text == "42"


def test_time_and_locale(hf, box):
    assert hf.sh(box, "date +%Y; echo $LANG").endswith("C.UTF-8\n")


def test_nice_and_cpu_count(hf, box):
    assert int(hf.sh(box, "nproc")) >= 1
    assert hf.sh(box, "nice -n 5 nice") == "5\n"
