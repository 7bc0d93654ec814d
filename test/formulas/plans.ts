import { readdirSync } from "node:fs";
import { join } from "node:path";
import { sha256Hex } from "../../internal/base/sha256.ts";
import type { Facts } from "../../internal/host/facts/fact.ts";
import { createDirectorySource } from "../../internal/tree/files/mod.ts";
import { compileStates } from "../../internal/tree/language/mod.ts";
import { comparePeel } from "../../internal/tree/plan/compare-peel.ts";
import { createOrders } from "../../internal/tree/plan/compile-orders.ts";
import { createInterning } from "../../internal/tree/plan/interning.ts";
import { bytesOf, bytesOfStates } from "../../internal/tree/plan/order.ts";
import { unknownHost } from "../../internal/tree/plan/unknown-host.ts";
import { createCompilers, readTree } from "../../internal/tree/settings/mod.ts";
import { createTemplates } from "../../internal/tree/template/mod.ts";
import { table } from "../bench/table.ts";
import { unpackedTrees } from "./unpacked-trees.ts";

// Compiles formulas for 20 kinds of hosts twice: as a plan does on a master, and as a peel does. The bytes must be the
// same, and a plan of a formula against itself must be empty. DIRECTORY has the trees: trees.tar.xz, or t/.

const systems = [
  ...["Debian Debian 12 bookworm", "Debian Debian 11 bullseye", "Ubuntu Debian 22.04 jammy"],
  ...["Ubuntu Debian 24.04 noble", "AlmaLinux RedHat 9 -", "CentOS RedHat 7 -", "Fedora RedHat 39 -"],
  ...["SUSE Suse 15.5 -", "Arch Arch 1 -", "FreeBSD FreeBSD 14.0 -"],
].map((line) => line.split(" "));

/** A host of each system, on two architectures. */
function factsOf(at: number): Facts {
  const [os = "", family = "", release = "", codename = ""] = systems[at % systems.length] ?? [];
  const id = `web-${at}.example.com`;
  const address = `10.0.0.${at}`;
  return {
    ...{ id, host: `web-${at}`, fqdn: id, nodename: id, localhost: id, domain: "example.com" },
    ...{ os, os_family: family, osfullname: os, osrelease: release, oscodename: codename },
    ...{ osmajorrelease: Number.parseInt(release, 10), osfinger: `${os}-${Number.parseInt(release, 10)}` },
    ...{ lsb_distrib_codename: codename, kernel: os === "FreeBSD" ? "FreeBSD" : "Linux", init: "systemd" },
    ...{ osarch: at < systems.length ? "amd64" : "arm64", cpuarch: "x86_64", num_cpus: 4, mem_total: 4_096 },
    ...{ ipv4: [address, "127.0.0.1"], fqdn_ip4: [address], ip4_interfaces: { eth0: [address] } },
    ...{ ip_interfaces: { eth0: [address] }, virtual: "kvm", selinux: { enabled: false }, shell: "/bin/sh" },
  };
}

const templates = createTemplates();

/** How many hosts get equal bytes, cannot be compiled, or are unknown; and what differs. */
async function compareFormula(root: string) {
  const files = createDirectorySource(join(root, "states"));
  const compiler = createCompilers()(readTree(join(root, "settings_ci")));
  const interning = createInterning();
  const [before, after] = [
    createOrders({ files, compat: "salt", interning }),
    createOrders({ files, compat: "salt", interning }),
  ];
  const found = { equal: 0, unknown: 0, failed: 0, wrong: [] as string[] };
  for (let at = 0; at < 2 * systems.length; at++) {
    const peel = { peelId: `web-${at}_example_com`, facts: factsOf(at), labels: { env: at % 2 ? "a" : "b" } };
    const settings = await compiler.compile(peel, new Set()).then(
      (compiled) => compiled.settings,
      () => undefined,
    );
    if (settings === undefined) {
      found.failed++;
      continue;
    }
    const subject = { ...peel, settings, shownSettings: settings };
    const [old, now] = [await before.of(subject), await after.of(subject)];
    const ground = { subject, textOf: async () => undefined, placeOf: async () => undefined };
    const outcome = await comparePeel({ ...ground, order: old }, { ...ground, order: now }, (value) => value);
    const own = await compileStates(
      { files, templates, ...subject, compat: "salt", host: unknownHost(() => {}), opts: { test: false } },
      "highstate",
    ).then(
      ({ states }) => sha256Hex(bytesOfStates(states)),
      () => undefined,
    );
    if (now.unknown.length > 0) found.unknown++;
    else if (now.problems.length > 0) found.failed++;
    else found.equal++;
    const planned = now.unknown.length + now.problems.length > 0 ? undefined : sha256Hex(bytesOf(now));
    if (planned !== own && now.unknown.length === 0) found.wrong.push(`host ${at}: the bytes differ`);
    if (outcome.changes.length > 0 || outcome.unknown !== undefined)
      found.wrong.push(`host ${at}: the plan against itself is not empty`);
  }
  return found;
}

const directory = process.argv[2] ?? "../shared/formulas";
await using trees = await unpackedTrees(directory);
const rows: string[][] = [];
for (const name of readdirSync(trees.path).sort()) {
  const { equal, unknown, failed, wrong } = await compareFormula(join(trees.path, name));
  rows.push([name, String(equal), String(unknown), String(failed), wrong[0] ?? ""]);
  if (wrong.length > 0) process.exitCode = 1;
}
const heads = ["formula", "equal", "unknown", "not compiled", "difference"];
process.stdout.write(`${table(heads, rows, heads.length)}\n`);
