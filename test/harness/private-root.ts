import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { readTextIfPresent } from "../../internal/base/files/file.ts";
import type { StateResult } from "../../internal/host/modules/states-service.ts";
import { binaries } from "./fleet.ts";
import { startProgram } from "./process.ts";

const repository = join(import.meta.dir, "../..");

/**
 * Limit of a test in private roots, in milliseconds. Packages are installed there, policies are compiled and systemd
 * starts: on a busy machine that takes many times as long as on a quiet one, and how long it takes is no subject.
 */
export const hostTimeoutMs = 1_800_000;

/** A scratch copy of this machine: all changes are discarded with it. */
export interface PrivateRoot extends AsyncDisposable {
  /** Runs a program in it. */
  run(
    argv: readonly string[],
    options?: { stdin?: string | Uint8Array },
  ): Promise<{ code: number; stdout: string; stderr: string }>;
  /**
   * Runs one state file in it for real with the compiled peel, or tests it, and gives the results of its states.
   *
   * @param options `settings` are a file of settings; `through` is a command that runs the peel
   */
  apply(
    sls: string,
    options?: { test?: boolean; settings?: string; through?: readonly string[] },
  ): Promise<StateResult[]>;
}

/**
 * A root of its own: the machine's file system below, and a layer in memory that takes every change. Mounts,
 * processes, network, host name and System V objects are of its own, too. It needs root.
 *
 * @param systemd whether systemd runs in it, as in a container; otherwise nothing does
 */
export async function openPrivateRoot({ systemd = false } = {}): Promise<PrivateRoot> {
  const scratch = mkdtempSync(join(tmpdir(), "svc-private-root-"));
  const cgroup = systemd ? makeCgroup(basename(scratch)) : undefined;
  const remove = () => {
    if (cgroup !== undefined) removeCgroup(cgroup);
    rmSync(scratch, { recursive: true, force: true });
  };
  const script = join(scratch, "start.sh");
  writeFileSync(script, startScript(scratch, systemd));
  const enterCgroup = cgroup === undefined ? "" : `echo $$ >${cgroup}/cgroup.procs; `;
  const spaces = "-m -p -u -n -i -C --propagation private --fork --kill-child";
  // It ends when the test process ends.
  const start = `${enterCgroup}exec setpriv --pdeathsig KILL unshare ${spaces} /bin/sh -e ${script}`;
  const root = startProgram(["/bin/sh", "-ec", start]);
  const end = async () => {
    // With its first process the namespace ends, and every process in it.
    const inside = childOf(root.pid);
    if (inside === undefined) root.kill("SIGKILL");
    else process.kill(Number(inside), "SIGKILL");
    await root.exited;
    remove();
  };
  try {
    await root.waitFor(/^ready$/m, hostTimeoutMs);
  } catch (cause) {
    await end();
    throw cause;
  }
  const inside = childOf(root.pid);
  if (inside === undefined) throw new Error("the private root has no process");
  const enter = ["nsenter", "-t", inside, "-m", "-u", "-i", "-n", "-p", "-C"];
  // Only the copy has this file: a command that would run on the machine itself does not run at all.
  const guard = ["/bin/sh", "-c", '[ -e "$0" ] || exit 97; cd /; exec "$@"', markerOf(scratch)];
  const environment = ["env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"];
  const run: PrivateRoot["run"] = (argv, { stdin = "" } = {}) =>
    runWith([...enter, ...guard, ...environment, ...argv], stdin);
  return {
    run,
    async apply(sls, { test = false, settings = "", through = [] } = {}) {
      await mustRun(run, ["mkdir", "-p", "/tmp/states", "/tmp/settings"]);
      await mustRun(run, ["tee", "/tmp/states/it.sls"], sls);
      await mustRun(run, ["tee", "/tmp/settings/it.sls"], settings);
      await mustRun(run, ["tee", "/tmp/settings/top.sls"], "base:\n  '*': [it]\n");
      const trees = ["--states", "/tmp/states", "--settings", "/tmp/settings"];
      const call = [binaries.peel, "call", "--local", ...trees, "--output", "json"];
      const { stdout, stderr } = await run([...through, ...call, "state.sls", "it", `test=${test}`]);
      try {
        return (JSON.parse(stdout) as { states: StateResult[] }).states;
      } catch {
        throw new Error(`states gave no results:\n${stdout}${stderr}`);
      }
    },
    [Symbol.asyncDispose]: end,
  };
}

async function mustRun(run: PrivateRoot["run"], argv: readonly string[], stdin?: string): Promise<void> {
  const { code, stderr } = await run(argv, stdin === undefined ? {} : { stdin });
  if (code !== 0) throw new Error(`${argv.join(" ")}: ${stderr}`);
}

function markerOf(scratch: string): string {
  return `/.${basename(scratch)}`;
}

/** The first process of the namespace, as this machine numbers it. */
function childOf(pid: number): string | undefined {
  const children = readTextIfPresent(`/proc/${pid}/task/${pid}/children`) ?? "";
  return /^\d+/.exec(children)?.[0];
}

async function runWith(argv: readonly string[], stdin: string | Uint8Array) {
  const child = Bun.spawn([...argv], {
    stdin: typeof stdin === "string" ? Buffer.from(stdin) : stdin,
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

/** A control group of its own for systemd, below that of this process. */
function makeCgroup(name: string): string {
  const top = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].find((path) => existsSync(`${path}/cgroup.procs`));
  if (top === undefined) throw new Error("this machine has no control groups of version 2");
  const own = /^0::(.*)$/m.exec(readFileSync("/proc/self/cgroup", "utf8"))?.[1] ?? "/";
  const path = join(top, own, name);
  mkdirSync(path);
  return path;
}

/** Groups that are empty; the kernel takes no other way. */
function removeCgroup(path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) removeCgroup(join(path, entry.name));
  }
  rmdirSync(path);
}

function startScript(scratch: string, systemd: boolean): string {
  const devices = ["null 1 3", "zero 1 5", "full 1 7", "random 1 8", "urandom 1 9", "tty 5 0"];
  return [
    `cd ${scratch}`,
    "mkdir top",
    "mount -t tmpfs tmpfs top",
    "mkdir top/upper top/work top/root",
    "mount -t overlay overlay -o lowerdir=/,upperdir=top/upper,workdir=top/work top/root",
    "cd top/root",
    '[ "$(stat -f -c %T .)" = overlayfs ]',
    `echo >.${markerOf(scratch)}`,
    "for at in run tmp dev; do mount -t tmpfs tmpfs $at; done",
    // It may stand below /tmp.
    `mkdir -p ./${repository}`,
    `mount --bind ${repository} ./${repository}`,
    `mount -o remount,bind,ro ./${repository}`,
    "mount -t proc proc proc",
    "mount -t sysfs -o ro sysfs sys",
    // Of the settings of the kernel only these are its own.
    "for own in net kernel/hostname; do mount --bind proc/sys/$own proc/sys/$own; done",
    "mount --rbind proc/sys proc/sys",
    "mount -o remount,bind,ro proc/sys",
    "mkdir dev/pts dev/shm",
    "ln -s /proc/self/fd dev/fd",
    ...devices.map((device) => `mknod -m 666 dev/${device.replace(" ", " c ")}`),
    ...(systemd ? systemdScript : []),
    // From here on nobody in this namespace can name the machine's own files any more.
    "mkdir .machine",
    "pivot_root . .machine",
    "cd /",
    "umount -l /.machine",
    `[ -e ${markerOf(scratch)} ]`,
    ...(systemd ? [systemdStart] : ["echo ready", "exec sleep infinity"]),
    "",
  ].join("\n");
}

/**
 * What the administrator of this machine has enabled stays out: what is wanted is systemd alone. It has no
 * console to say on when it is up, so a unit of its own does.
 */
const systemdScript = [
  "mount -t cgroup2 cgroup2 sys/fs/cgroup",
  "cd etc/systemd",
  "mount -t tmpfs tmpfs system",
  "mkdir system/multi-user.target.wants",
  "ln -s ../svc-test-ready.service system/multi-user.target.wants/",
  "cat >system/svc-test-ready.service <<'END'",
  "[Unit]",
  "DefaultDependencies=no",
  "After=multi-user.target",
  "[Service]",
  "Type=oneshot",
  "ExecStart=/bin/sh -c 'echo ready >/dev/ready'",
  "END",
  "cd ../..",
  "mkfifo dev/ready",
  "cat dev/ready &",
  "echo 0123456789abcdef0123456789abcdef >etc/machine-id",
];
const systemdStart =
  "exec env -i container=docker PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=multi-user.target";
