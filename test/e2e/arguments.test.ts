import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { createSearch, secretsBelow } from "../harness/secrets.ts";
import { initSingleHost } from "../harness/single-host.ts";

/** The command lines of the processes that this one started, and of those that they started (proc(5)). */
function descendants(): Map<number, Buffer> {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    const stat = read(`/proc/${name}/stat`)?.toString() ?? "";
    parents.set(Number(name), Number(/^.*\) \S (\d+)/s.exec(stat)?.[1]));
  }
  const isBelow = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent !== undefined && (parent === process.pid || isBelow(parent));
  };
  return new Map(
    [...parents.keys()].filter(isBelow).flatMap((pid) => {
      const line = read(`/proc/${pid}/cmdline`);
      return line === undefined ? [] : [[pid, line] as const];
    }),
  );
}

function read(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}

test("no process of a fleet has a secret among its arguments, which everybody on the host can read", async () => {
  await using host = await initSingleHost();
  await host.startMaster();
  const peel = host.startPeel("web-1");
  await peel.waitFor("waiting for an operator's approval");
  const pending = await host.svc("enroll", "list", "--output", "json");
  const [{ id = "" } = {}] = JSON.parse(pending.stdout) as { id?: string }[];
  expect((await host.svc("enroll", "approve", id)).code).toBe(0);
  await peel.waitFor("peel connected");
  const { stdout } = await host.svc("run", "web-1", "cmd.run", "cat /proc/self/cmdline", "--output", "json");
  const lines = descendants();
  const programs = [...lines.values()].map((line) => /[^/\0]+(?=\0|$)/.exec(line.toString())?.[0]);
  expect(programs).toEqual(expect.arrayContaining(["svc-master", "svc-peel", "nats-server"]));
  const secrets = secretsBelow(dirname(host.dir));
  expect(new Set(secrets.map(({ kind }) => kind))).toEqual(
    new Set(["key seed", "JWT", "private key", "token"]),
  );
  const search = createSearch(secrets);
  for (const line of [...lines.values(), Buffer.from(stdout)]) expect(search(line)).toEqual([]);
});
