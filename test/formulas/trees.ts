import { existsSync } from "node:fs";
import { join } from "node:path";
import { binaries } from "../harness/fleet.ts";
import type { PrivateRoot } from "../harness/private-root.ts";

export const hostId = "web-1.example.com";
const inside = "/srv/formulas";
const config = `id: ${hostId}\nsalt_compat: salt\ntemplates:\n  host_functions: command\n`;

/** Copies trees of a directory (`trees.tar.xz`, or unpacked below `t/`) into a private root, with a peel.yaml. */
export async function unpackTrees(root: PrivateRoot, directory: string, only?: string): Promise<void> {
  const packed = existsSync(join(directory, "t"))
    ? new Uint8Array(Bun.spawnSync(["tar", "-cJ", "-C", directory, "t"]).stdout)
    : await Bun.file(join(directory, "trees.tar.xz")).bytes();
  const member = only === undefined ? "t" : `t/${only}`;
  const script = `mkdir ${inside}; tar -xJ -C ${inside} '${member}'`;
  const unpacked = await root.run(["/bin/sh", "-ec", script], { stdin: packed });
  if (unpacked.code !== 0) throw new Error(`cannot unpack the trees: ${unpacked.stderr}`);
  await root.run(["tee", `${inside}/peel.yaml`], { stdin: config });
}

/** The names of the trees in a private root. */
export async function treesIn(root: PrivateRoot): Promise<string[]> {
  return (await root.run(["ls", `${inside}/t`])).stdout.trim().split("\n");
}

/** Calls a function of the compiled peel with the tree of one formula. */
export function callPeel(
  root: PrivateRoot,
  formula: string,
  ...line: string[]
): ReturnType<PrivateRoot["run"]> {
  return root.run([...peelWith(formula), ...line]);
}

/** Compares the states of one formula with those of `salt-call`. @param bin the directory of `salt-call` */
export function comparePeel(root: PrivateRoot, formula: string, bin: string): ReturnType<PrivateRoot["run"]> {
  const path = `PATH=${bin}:/usr/sbin:/usr/bin:/sbin:/bin`;
  return root.run(["env", path, ...peelWith(formula), "--id", hostId, "--compare-salt"]);
}

/** Whether Salt alone compiles the tree of one formula. */
export async function saltAlone(root: PrivateRoot, formula: string, bin: string): Promise<boolean> {
  const tree = `${inside}/t/${formula}`;
  const { stdout } = await root.run([
    ...["env", `PATH=${bin}:/usr/sbin:/usr/bin:/sbin:/bin`, "salt-call", "--local", "--out=json"],
    ...["--log-level=quiet", `--file-root=${tree}/states`, `--pillar-root=${tree}/settings_ci`],
    ...[`--id=${hostId}`, "state.show_lowstate"],
  ]);
  return /"local": \[\s*\{/.test(stdout);
}

function peelWith(formula: string): string[] {
  const tree = `${inside}/t/${formula}`;
  return [
    ...[binaries.peel, "call", "--config", `${inside}/peel.yaml`, "--local", "--output", "json"],
    ...["--states", `${tree}/states`, "--settings", `${tree}/settings_ci`],
  ];
}
