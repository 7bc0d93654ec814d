import { expect, setDefaultTimeout, test } from "bun:test";
import { resolve } from "node:path";
import type { Plain } from "../../internal/base/msgpack.ts";
import type { StateResult } from "../../internal/host/modules/states-service.ts";
import { callPeel, unpackTrees } from "../formulas/trees.ts";
import { hostTimeoutMs, openPrivateRoot, type PrivateRoot } from "../harness/private-root.ts";
import { makeRepository, type StubPackage } from "../harness/stub-packages.ts";

// Applies public formulas for real with the compiled peel, twice: `make host FORMULAS=DIR`, where DIR has trees.tar.xz as `make formulas`
// takes it. The private root has no network, so the packages are stubs that bring the units of the services.

setDefaultTimeout(hostTimeoutMs);

const directory = resolve(process.env.FORMULAS ?? "../shared/formulas");
const formulas = "dnsmasq hostsfile logrotate memcached nfs postfix snmp tomcat varnish vim".split(" ");

interface Low {
  function: string;
  name: string;
  args: { [name: string]: Plain };
}

test.each(formulas)("%s is applied, and the second run changes nothing", async (formula) => {
  await using root = await openPrivateRoot({ systemd: true });
  const call = await prepare(root, formula);
  const lows = JSON.parse(await call("state.show_highstate")) as Low[];
  await makeRepository(root, packagesOf(lows));
  const run = async (isTest: boolean) => {
    const { states } = JSON.parse(await call("state.highstate", `test=${isTest}`)) as {
      states: StateResult[];
    };
    return states;
  };
  const planned = await run(true);
  expect(failed(planned)).toEqual([]);
  const first = await run(false);
  expect(failed(first)).toEqual([]);
  expect(changed(first)).not.toEqual([]);
  const second = await run(false);
  expect(failed(second)).toEqual([]);
  expect(changed(second)).toEqual([]);
});

/** Unpacks a formula. @returns a function that calls functions of the compiled peel with it */
async function prepare(root: PrivateRoot, formula: string): Promise<(...line: string[]) => Promise<string>> {
  await unpackTrees(root, directory, formula);
  await root.run(["mkdir", "-p", "/var/lib/apt/lists/partial", "/etc/cron.hourly"]);
  return async (...line) => {
    const { stdout, stderr } = await callPeel(root, formula, ...line);
    expect(stdout, stderr).not.toBe("");
    return stdout;
  };
}

/** Every package that the states install, the first one with the units of the services. */
function packagesOf(lows: readonly Low[]): StubPackage[] {
  const names = new Map<string, StubPackage>();
  for (const { function: called, name, args } of lows) {
    if (called !== "pkg.installed") continue;
    const version =
      typeof args.version === "string" && /^\d/.test(args.version) ? { version: args.version } : {};
    for (const each of Array.isArray(args.pkgs) ? args.pkgs : [name]) {
      const isMap = typeof each === "object" && each !== null;
      for (const one of isMap ? Object.keys(each) : [String(each)]) names.set(one, { name: one, ...version });
    }
  }
  const services = lows
    .filter(({ function: called }) => called === "service.running" || called === "service.enabled")
    .map(({ name }) => name);
  const [first = { name: "stub" }, ...rest] = names.values();
  return [{ ...first, services }, ...rest];
}

function failed(states: readonly StateResult[]): string[] {
  return states.filter(({ result }) => result === false).map(({ id, comment }) => `${id}: ${comment}`);
}

function changed(states: readonly StateResult[]): string[] {
  return states
    .filter(({ changes = {} }) => Object.keys(changes).length > 0)
    .map(({ id, changes }) => `${id}: ${JSON.stringify(changes).slice(0, 300)}`);
}
