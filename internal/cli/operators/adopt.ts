import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { SvcError } from "../../base/errors.ts";
import { readTextFile } from "../../base/files/file.ts";
import { createFiles } from "../../base/files/new-files.ts";
import { operatorsSeedFile, readOperatorsKey } from "../../bus/accounts/mod.ts";
import { operatorOperations } from "../../fleet/operators/mod.ts";
import { readClaims } from "../../identity/mod.ts";
import { type Cli, command, formatTable, type TableStyle, value } from "../../program/command-line/mod.ts";
import { operatorBus, operatorName, withBus } from "../operator.ts";
import { NoMaster, request } from "../request.ts";
import { firstOperator, operatorNameOf } from "../setup/mod.ts";

/** One step on the way of a fleet. */
interface Step {
  step: string;
  state: "done" | "open";
  detail: string;
  /** What to do; absent where it is done. */
  next?: string;
}

export const adoptCommand = command({
  name: "adopt",
  description:
    "Lead a fleet that svc nats-auth init made to operators with keys of their own, step by step, and show what would be refused with operators.require_signed. With --auth-dir it makes the first operator.",
  examples: ["svc operator adopt", "svc operator adopt --auth-dir /var/lib/svc/auth --name alice"],
  args: {
    "auth-dir": value(
      "directory",
      "The auth directory of a master on this host: makes the file of administrators in it",
    ),
    name: value("name", "With --auth-dir: name of the first operator (default: that of your account)"),
    out: value("file", "With --auth-dir: the operator file to write (default: NAME.operator)"),
  },
  async run(args, cli) {
    const { "auth-dir": authDir, name, out } = args;
    if (authDir === undefined && (name !== undefined || out !== undefined)) {
      throw new SvcError("usage", "--name and --out are for --auth-dir");
    }
    const made = authDir === undefined ? [] : [makeFirst(authDir, { name, out }, cli)];
    const steps = [...made, ...(await inspectFleet(cli, made.length > 0))];
    await cli.print(steps, () => formatSteps(steps, cli));
    const open = steps.find(({ state }) => state === "open");
    if (open?.next !== undefined) cli.say(`Next: ${open.next}`);
  },
});

/** How far a fleet is on its way. */
export function formatSteps(steps: readonly Step[], style: TableStyle): string {
  return formatTable(
    { STEP: "word", STATE: "state", DETAIL: "prose" },
    steps.map(({ step, state, detail }) => [step, state, detail]),
    style,
  );
}

/** Makes the first operator where there is none. @throws SvcError `bad_request`, `storage` */
function makeFirst(
  authDir: string,
  options: { name: string | undefined; out: string | undefined },
  cli: Cli,
): Step {
  const credentials = join(authDir, "masters.jwt");
  const fleet = readClaims(readTextFile(credentials, "the JWT of the masters' account")).sub;
  const signer = readOperatorsKey(authDir);
  if (signer === undefined) {
    throw new SvcError(
      "bad_request",
      `${join(authDir, operatorsSeedFile)}: no such file: copy it from the directory that svc nats-auth init wrote`,
    );
  }
  if (existsSync(join(authDir, "administrators"))) {
    return { step: "administrators", state: "done", detail: "the file is there" };
  }
  const name = options.name ?? operatorNameOf(operatorName());
  const { urls, ca = "" } = operatorBus(cli);
  const first = firstOperator({
    ...{ name, fleet, signer, busUrls: urls, caPem: ca, dir: ".", authDir },
    ...{ clock: cli.clock, random: cli.random },
  });
  const path = resolve(options.out ?? first.file.path);
  createFiles([{ ...first.file, path }, first.administrators]);
  cli.say(`Copy administrators from ${authDir} to auth_dir of every other master.`);
  cli.say(`Give ${path} to ${name}, who runs svc login on it, and remove it.`);
  return {
    step: "administrators",
    state: "done",
    detail: `the file was made, with ${name} as the first operator`,
  };
}

/** What the masters say about the rest of the way. */
async function inspectFleet(cli: Cli, hasMade: boolean): Promise<Step[]> {
  const answer = await withBus(cli, (bus) => request(bus, operatorOperations.adoptionStatus, {})).catch(
    (thrown) => {
      // After the first step it may be the masters that are not started yet.
      if (thrown instanceof NoMaster || hasMade) return thrown as Error;
      throw thrown;
    },
  );
  if (answer instanceof Error) {
    const next = "start the masters, and run svc operator adopt again";
    return [{ step: "masters", state: "open", detail: answer.message, next }];
  }
  const { require_signed, signing_key, administrators, operators, unsigned, shared_credentials } = answer;
  const requesters = [...new Set(unsigned.map(({ name }) => name || "without a name"))];
  const users = shared_credentials.map(({ name, connections }) => `${name} (${connections})`);
  const step = (name: string, done: boolean, detail: string, next: string): Step => ({
    ...{ step: name, state: done ? "done" : "open", detail },
    ...(done ? {} : { next }),
  });
  return [
    step(
      "masters",
      signing_key && administrators.length > 0,
      signing_key
        ? `they know ${administrators.join(", ") || "no administrators"}`
        : "they have no signing key",
      "on the host of a master: svc operator adopt --auth-dir DIR, and copy what it makes to the others",
    ),
    step(
      "operators",
      operators > 0,
      `${operators} in the registry`,
      "add each person and pipeline: svc login --new on their host, then svc operator add",
    ),
    step(
      "unsigned requests",
      requesters.length === 0,
      requesters.length === 0
        ? "none since the start of the master that answered"
        : `would be refused: ${requesters.slice(0, 5).join(", ")}${requesters.length > 5 ? ", …" : ""}`,
      "let them log in with operator files of their own; a request counts until its master restarts",
    ),
    step(
      "shared credentials",
      users.length === 0,
      users.length === 0 ? "nobody is connected with them now" : `connected now: ${users.join(", ")}`,
      "replace creds_file in their configurations by svc login",
    ),
    step(
      "require_signed",
      require_signed,
      require_signed ? "unsigned requests are refused" : "unsigned requests are taken",
      "set operators.require_signed: true in the configuration of every master, and restart them",
    ),
  ];
}
