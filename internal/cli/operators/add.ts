import { defined } from "../../base/defined.ts";
import { parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { operatorOperations } from "../../fleet/operators/mod.ts";
import { formatOperatorFile, newKeyPair } from "../../identity/mod.ts";
import { command, flag, readFlag, readListFlag, value, word } from "../../program/command-line/mod.ts";
import { ownOperatorFile, withBus } from "../operator.ts";
import { assertPublicKey } from "../public-key.ts";
import { request } from "../request.ts";
import { approvalsFor } from "../roles/may-do.ts";
import { readKnown, sayWhereFileIs, signedText } from "./sign.ts";

export const nameArg = word("Name of the operator: lower-case letters, digits, dots, - and _", {
  required: true,
});

export const addCommand = command({
  name: "add",
  description:
    "Add an operator, and write its operator file to standard output. You sign its record with your own key.",
  examples: ["svc operator add alice --role operator --public-key UABC… > alice.operator"],
  args: {
    name: nameArg,
    role: value("role,...", "Roles of the operator", { required: true }),
    "public-key": value("U…", "Public key that svc login --new printed on the host of the operator"),
    "with-key": flag("Make the key here, and put it into the file, for a person who cannot make one"),
    expires: value("90d", "When the operator ends (default: never)"),
  },
  async run(args, cli) {
    const { name } = args;
    const roles = readListFlag("--role", args.role, (text) => text);
    const publicKey = args["public-key"];
    if ((publicKey === undefined) === (args["with-key"] !== true)) {
      throw new SvcError("usage", "name one of: --public-key, --with-key");
    }
    if (publicKey !== undefined) readFlag("--public-key", publicKey, assertPublicKey);
    const lastsMs = args.expires === undefined ? undefined : readFlag("--expires", args.expires, readLife);
    const signer = ownOperatorFile(cli);
    const key = publicKey === undefined ? newKeyPair("user", cli.random) : undefined;
    const now = cli.clock.now();
    await withBus(cli, async (bus) => {
      if (key !== undefined && (await approvalsFor(bus, { kind: "operators", action: "add" })) > 0) {
        throw new SvcError(
          "usage",
          "--with-key: your role needs the agreement of others to add an operator, and a key that is made here cannot wait: let the operator run svc login --new, and use --public-key",
        );
      }
      const { nextVersion } = await readKnown(bus, name, signer, now);
      const record = {
        ...{ name, roles, publicKey: publicKey ?? key?.publicKey ?? "", createdAt: now },
        ...{ createdBy: signer.name, version: nextVersion },
        ...defined({ expiresAt: lastsMs === undefined ? undefined : now + lastsMs }),
      };
      const requested = { record: signedText(record, signer) };
      const added = await request(bus, operatorOperations.addOperator, requested).catch((thrown) => {
        throw sayWhereFileIs(thrown, name, cli);
      });
      const { operator, fleet, bus_urls, ca_pem, jwt } = added;
      const file = { fleet, busUrls: bus_urls, caPem: ca_pem, name, publicKey: record.publicKey, jwt };
      const data = { fleet, bus_urls, ca_pem, name, public_key: operator.public_key, jwt };
      await cli.print({ ...data, ...defined({ seed: key?.seed }) }, () =>
        formatOperatorFile({ ...file, ...defined({ key }) }).trimEnd(),
      );
      cli.say(`added ${name} with ${roles.join(", ")}: give this file to ${name}, who runs svc login FILE`);
      if (key !== undefined)
        cli.warn("the file holds the secret key: everyone who reads it is this operator");
    });
  },
});

/** `90d`, or a duration. */
function readLife(text: string): number {
  const lasts = parseDuration(text);
  if (lasts > 0) return lasts;
  throw new SvcError("usage", "it must be longer than 0, such as 90d");
}
