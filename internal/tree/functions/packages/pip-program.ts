import { dirname } from "node:path";
import { findForeignDirectory } from "../../../base/files/foreign-directory.ts";
import { findAccount } from "../../../base/process/account.ts";
import { type System, succeed, systemOf } from "../../../host/system/system.ts";
import { type StateContext, StateFailure } from "../../function/mod.ts";
import { touching } from "../file/inspect.ts";
import { normalName } from "./requirement.ts";

const timeoutMs = 30 * 60_000;
const outputLimit = 4 * 1024 * 1024;
const variables = { PIP_NO_INPUT: "1", PIP_DISABLE_PIP_VERSION_CHECK: "1", PYTHONDONTWRITEBYTECODE: "" };

export interface PipWish {
  /** A virtual environment, or the program itself. */
  bin_env: string | undefined;
  user: string | undefined;
  cwd: string | undefined;
}

/** pip on a host. */
export interface Pip {
  /** Versions of the installed packages, by name. */
  installed(): Promise<ReadonlyMap<string, string>>;
  /** The packages that a newer version exists of, with that version. Asks the index. */
  outdated(): Promise<ReadonlyMap<string, string>>;
  /** @throws SvcError with the last lines of its output */
  run(purpose: string, args: readonly string[]): Promise<string>;
}

/** @returns `undefined` when pip does not exist yet; an earlier state may install it */
export async function findPip(wish: PipWish, context: StateContext): Promise<Pip | undefined> {
  const system = systemOf(context);
  const program = programOf(wish.bin_env, system);
  if (program === undefined) return undefined;
  const account = wish.user === undefined ? undefined : await findAccount(wish.user, context);
  const [file = ""] = program;
  // A user who can replace the program must not have it run as root.
  if (file.startsWith("/") && process.geteuid?.() === 0 && (account === undefined || account.uid === 0)) {
    const foreign = touching("use", file, () => findForeignDirectory(dirname(file)));
    if (foreign !== undefined) {
      throw new StateFailure(
        `pip does not run as root from ${foreign.path}, which another user can change; set user`,
      );
    }
  }
  const options = { env: variables, timeoutMs, outputLimit, ...(account === undefined ? {} : { account }) };
  const run = async (purpose: string, args: readonly string[]) => {
    try {
      return await succeed(system, purpose, [...program, ...args], options);
    } catch (cause) {
      if (cause instanceof Error && /externally[- ]managed/i.test(cause.message)) {
        throw new StateFailure(
          "the packages of Python on this host belong to its package manager: set bin_env to a virtual environment, or use pkg.installed",
          {},
          { cause },
        );
      }
      throw cause;
    }
  };
  const list = async (...more: string[]) =>
    readList(await run("list the packages of Python", ["list", "--format=json", ...more]));
  return {
    run,
    installed: async () => new Map((await list()).map(({ name, version }) => [normalName(name), version])),
    async outdated() {
      const found = await list("--outdated");
      return new Map(found.map(({ name, latest_version }) => [normalName(name), latest_version ?? ""]));
    },
  };
}

function programOf(bin: string | undefined, system: System): string[] | undefined {
  if (bin !== undefined) {
    const places = system.isDirectory(bin) ? [`${bin}/bin/pip`, `${bin}/bin/pip3`, `${bin}/pip`] : [bin];
    const found = places.find((path) => system.exists(path));
    return found === undefined ? undefined : [found];
  }
  for (const name of ["pip3", "pip"]) {
    if (system.has(name)) return [name];
  }
  return undefined;
}

interface Listed {
  name: string;
  version: string;
  latest_version?: string;
}

function readList(text: string): Listed[] {
  try {
    return JSON.parse(text.slice(text.indexOf("[")).split("\n")[0] ?? "") as Listed[];
  } catch (cause) {
    throw new StateFailure("pip list did not answer with a list; pip 9 or newer is needed", {}, { cause });
  }
}
