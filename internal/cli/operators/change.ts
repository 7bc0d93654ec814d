import { SvcError } from "../../base/errors.ts";
import type { WaitingRequest } from "../../base/waiting.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { operatorOperations } from "../../fleet/operators/mod.ts";
import { formatOperatorFile } from "../../identity/mod.ts";
import {
  type Cli,
  command,
  flag,
  readFlag,
  readListFlag,
  value,
  word,
} from "../../program/command-line/mod.ts";
import type { OperatorRecord } from "../../wire/operator-record.ts";
import { adminRole } from "../../wire/operator-standing.ts";
import { confirm, yesArg } from "../confirm/confirm.ts";
import { ownOperatorFile, withBus } from "../operator.ts";
import { assertPublicKey } from "../public-key.ts";
import { request } from "../request.ts";
import { nameArg } from "./add.ts";
import { releasedBy } from "./released-by.ts";
import { assertSeen, readExisting, type Signer, sayWhereFileIs, signAgain, signedText } from "./sign.ts";

const existingArg = { ...nameArg, description: "Name of the operator" } as const;

const signAgainArg = flag(
  "Sign the records of operators that are valid only through the signature of this one",
);
const comparedArg = value(
  "U…",
  "Public key of the operator, compared, where another administrator signed its record",
);

/** @throws SvcError `usage` */
function readCompared({ "public-key": text }: { "public-key"?: string | undefined }): string | undefined {
  return text === undefined ? undefined : readFlag("--public-key", text, assertPublicKey);
}

const nothing = { names: [], waiting: [] } as const;

/**
 * Prints what waits for other operators. Until it is done, those who depend on an operator would be lost with it.
 *
 * @returns whether something waits
 */
async function areWaiting(waiting: readonly WaitingRequest[], name: string, cli: Cli): Promise<boolean> {
  if (waiting.length === 0) return false;
  const data = waiting.map(({ approval, needs }) => ({ approval, needs }));
  await cli.print({ waiting: data }, () => waiting.map(({ message }) => message).join("\n"));
  cli.say(`${name} is not changed yet: run this command again when others have agreed`);
  return true;
}

/** Makes a change with the record as it is stored, and returns how it ended. */
async function change(
  cli: Cli,
  name: string,
  run: (
    bus: Bus,
    record: OperatorRecord,
    signer: Signer,
  ) => Promise<{ closed_in_ms?: number; operator?: unknown }>,
  done: string,
  /** Whether others may lose what they have by it; otherwise the operator gets something. */
  loses: boolean,
  seen: { signAgain?: boolean | undefined; publicKey?: string | undefined; confirm?(): Promise<void> },
): Promise<void> {
  const signer = ownOperatorFile(cli);
  if (loses && signer.name === name) {
    throw new SvcError("usage", `${name} is your own name: another operator with role admin must do this`);
  }
  const now = cli.clock.now();
  await withBus(cli, async (bus) => {
    const known = await readExisting(bus, name, signer, now);
    const { record, dependents } = known;
    if (!loses) assertSeen(known, signer, seen.publicKey);
    await seen.confirm?.();
    const again = loses ? await signAgain(bus, dependents, signer, now, seen.signAgain === true) : nothing;
    if (await areWaiting(again.waiting, name, cli)) return;
    const signed = again.names;
    const { closed_in_ms, operator } = await run(bus, record, signer);
    const closed =
      closed_in_ms === undefined
        ? "it had no live connection"
        : `connection closed after ${closed_in_ms.toFixed(1)} ms`;
    await cli.print({ name, operator, closed_in_ms, signed_again: signed }, () =>
      loses ? `${done} ${name}: ${closed}` : `${done} ${name}`,
    );
    if (signed.length > 0) cli.say(`signed again with your key: ${signed.join(", ")}`);
  });
}

/** A command after which an operator can do nothing any more. */
const endingCommand = (name: "disable" | "remove", done: string, description: string) =>
  command({
    name,
    description: `${description} Its connection is closed at once.`,
    examples: [`svc operator ${name} alice`],
    args: { name: existingArg, "sign-again": signAgainArg, yes: yesArg },
    run: ({ name: operator, ...args }, cli) =>
      change(
        cli,
        operator,
        async (bus, record, signer) => {
          // One who is disabled released nothing since.
          const stays = record.disabled === true ? {} : await releasedBy(bus, record);
          const last = { ...record, disabled: true, ...stays } as const;
          return request(bus, operatorOperations[`${name}Operator`], {
            name: operator,
            record: signedText(last, signer),
          });
        },
        done,
        true,
        {
          signAgain: args["sign-again"],
          confirm: () =>
            confirm(
              cli,
              `${name === "disable" ? "Disable" : "Remove"} the operator ${operator}`,
              args.yes === true,
            ),
        },
      ),
  });

export const disableCommand = endingCommand(
  "disable",
  "disabled",
  "Disable an operator, such as after the loss of a laptop.",
);
export const removeCommand = endingCommand("remove", "removed", "Remove an operator.");

export const enableCommand = command({
  name: "enable",
  description: "Enable an operator again.",
  examples: ["svc operator enable alice"],
  args: { name: existingArg, "public-key": comparedArg, yes: yesArg },
  run: ({ name, ...args }, cli) =>
    change(
      cli,
      name,
      (bus, { disabled: _, released: __, ...record }, signer) =>
        request(bus, operatorOperations.enableOperator, { name, record: signedText(record, signer) }),
      "enabled",
      false,
      {
        publicKey: readCompared(args),
        confirm: () => confirm(cli, `Enable the operator ${name}`, args.yes === true),
      },
    ),
});

export const rolesCommand = command({
  name: "roles",
  description:
    "Change the roles of an operator. Where it loses some, its connection is closed, and it logs in with the file that is written to standard output.",
  examples: ["svc operator roles alice viewer,approver > alice.operator"],
  args: {
    name: existingArg,
    roles: word("Roles, separated by commas", { required: true }),
    "public-key": comparedArg,
    "sign-again": signAgainArg,
    yes: yesArg,
  },
  async run({ name, roles: text, ...args }, cli) {
    const roles = readListFlag("ROLES", text, (role) => role);
    const compared = readCompared(args);
    const signer = ownOperatorFile(cli);
    const now = cli.clock.now();
    await withBus(cli, async (bus) => {
      const known = await readExisting(bus, name, signer, now);
      const { record, dependents } = known;
      assertSeen(known, signer, compared);
      await confirm(cli, `Give the operator ${name} the roles ${roles.join(", ")}`, args.yes === true);
      const isConfirmed = args["sign-again"] === true;
      const again = roles.includes(adminRole)
        ? nothing
        : await signAgain(bus, dependents, signer, now, isConfirmed);
      if (await areWaiting(again.waiting, name, cli)) return;
      const signed = again.names;
      const input = { name, record: signedText({ ...record, roles }, signer) };
      const { operator, fleet, bus_urls, ca_pem, jwt, closed_in_ms } = await request(
        bus,
        operatorOperations.setOperatorRoles,
        input,
      ).catch((thrown) => {
        throw sayWhereFileIs(thrown, name, cli);
      });
      const file = { fleet, busUrls: bus_urls, caPem: ca_pem, name, publicKey: record.publicKey, jwt };
      await cli.print({ operator, closed_in_ms, signed_again: signed, fleet, bus_urls, ca_pem, jwt }, () =>
        formatOperatorFile(file).trimEnd(),
      );
      cli.say(`${name} has ${roles.join(", ")} now`);
      if (signed.length > 0) cli.say(`signed again with your key: ${signed.join(", ")}`);
    });
  },
});

export const renewCommand = command({
  name: "renew",
  description:
    "Write a new operator file without the key to standard output, for an operator whose own has ended.",
  examples: ["svc operator renew alice > alice.operator"],
  args: {
    name: existingArg,
    "auth-dir": value(
      "directory",
      "Without a bus, with the signing key in the auth directory of a master on this host: for an administrator that its file lists",
    ),
  },
  async run({ name, "auth-dir": authDir }, cli) {
    if (authDir !== undefined) return (await import("./renew-offline.ts")).renewOffline(authDir, name, cli);
    await withBus(cli, async (bus) => {
      const { operator } = await request(bus, operatorOperations.showOperator, { name });
      const publicKey = operator?.public_key ?? "";
      if (operator === undefined)
        throw new SvcError("not_found", `the operator ${name} does not exist: see svc operator list`);
      const renewed = await request(bus, operatorOperations.renewOperator, { name, public_key: publicKey });
      const { fleet, bus_urls, ca_pem, jwt, jwt_expires_at } = renewed;
      const data = { fleet, bus_urls, ca_pem, name, public_key: publicKey, jwt, jwt_expires_at };
      await cli.print(data, () =>
        formatOperatorFile({ fleet, busUrls: bus_urls, caPem: ca_pem, name, publicKey, jwt }).trimEnd(),
      );
    });
  },
});
