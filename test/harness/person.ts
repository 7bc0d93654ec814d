import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestBus } from "./bus.ts";
import { binaries } from "./fleet.ts";
import { runProgram } from "./process.ts";
import { runRecord } from "./run-record.ts";
import { operatorConfig } from "./svc.ts";

/** What a command of `svc` printed. */
type Printed = Awaited<ReturnType<typeof runProgram>>;

/** Somebody with a laptop, and with nothing of the fleet but their operator file. */
export interface Person {
  readonly name: string;
  readonly home: string;
  /** Runs the compiled `svc` there. */
  svc(...args: string[]): Promise<Printed>;
  /** The link of `svc console`, and what was said beside it. */
  link(...args: string[]): Promise<{ link: string; said: string }>;
}

/**
 * Adds an operator with the compiled `svc`, which installs the file on their laptop.
 *
 * @param administrator path of the file of who signs it
 */
export async function newPerson(
  bus: TestBus,
  administrator: string,
  name: string,
  roles: readonly string[],
  options: readonly string[] = [],
): Promise<Person> {
  const signing = operatorConfig(bus, administrator);
  const words = [
    "operator",
    "add",
    name,
    ...roles.flatMap((role) => ["--role", role]),
    "--with-key",
    ...options,
  ];
  const added = await runProgram([binaries.cli, "--config", signing, ...words]);
  if (added.code !== 0) throw new Error(`${name} was not added: ${added.stderr}`);
  const home = join(bus.dir, `home-of-${name}`);
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const path = join(home, `${name}.operator`);
  writeFileSync(path, added.stdout, { mode: 0o600 });
  const env = { HOME: home, DISPLAY: "", WAYLAND_DISPLAY: "" };
  const svc = (...args: string[]) => runProgram([binaries.cli, ...args], { cwd: home, env });
  const login = await svc("login", path);
  if (login.code !== 0) throw new Error(`${name} cannot log in: ${login.stderr}`);
  return {
    name,
    home,
    svc,
    async link(...args) {
      const { code, stdout, stderr } = await svc("console", ...args);
      if (code !== 0) throw new Error(`svc console: ${stderr}`);
      const link = stdout.trim();
      runRecord.register("token", link.split("#link=")[1] ?? "");
      return { link, said: stderr };
    },
  };
}
