import { encodeBase64 } from "../../base/base64.ts";
import { SvcError } from "../../base/errors.ts";
import { readTextFile } from "../../base/files/file.ts";
import { operatorOperations } from "../../fleet/operators/mod.ts";
import { type OperatorFile, readOperatorFile } from "../../identity/mod.ts";
import { type Cli, command, formatFields, value } from "../../program/command-line/mod.ts";
import { parseAdministrators } from "../../wire/administrators.ts";
import { encodeAdministrators, signAdministrators } from "../../wire/administrators-statement.ts";
import { ownOperatorFile, withBus } from "../operator.ts";
import { request } from "../request.ts";

export const administratorsCommand = command({
  name: "administrators",
  description:
    "Show the administrators that the masters know from their files, and those that peels know. With --replace, sign with your own key that others take their place on all peels.",
  examples: ["svc operator administrators", "svc operator administrators --replace administrators"],
  args: {
    replace: value("file", "The whole new list, in the form of auth/administrators of the masters"),
    "sign-with": value("file", "Operator file of the administrator who signs (default: yours)"),
  },
  async run({ replace, "sign-with": signWith }, cli) {
    if (replace === undefined && signWith !== undefined) {
      throw new SvcError("usage", "--sign-with is for --replace");
    }
    const list = replace === undefined ? undefined : readList(replace);
    const signer = list === undefined ? undefined : signerOf(cli, signWith);
    await withBus(cli, async (bus) => {
      const before = await request(bus, operatorOperations.showAdministrators, {});
      if (list === undefined || signer === undefined) return show(cli, before);
      const { fleet, next_version: version } = before;
      const statement = { fleet, version, administrators: list, issuedAt: cli.clock.now() };
      const signed = encodeBase64(encodeAdministrators(signAdministrators(statement, signer)));
      const after = await request(bus, operatorOperations.replaceAdministrators, { statement: signed });
      await show(cli, after);
      cli.say("peels that are connected replace their administrators now, the others when they connect");
    });
  },
});

interface Standing {
  masters: readonly Named[];
  peels: readonly Named[];
  version: number;
  signed_by?: string;
  issued_at?: string;
  differ: boolean;
}
interface Named {
  name: string;
  public_key: string;
}

async function show(cli: Cli, standing: Standing): Promise<void> {
  const { masters, peels, version, signed_by = "", issued_at = "", differ } = standing;
  await cli.print(standing, () =>
    formatFields([
      ["On masters", linesOf(masters)],
      [
        "On peels",
        peels.length === 0 ? "not known: after a succession, those of the fleet before" : linesOf(peels),
      ],
      ["Version", version === 0 ? "0: as peels learned them from the masters" : String(version)],
      ...(version === 0 ? [] : [["Signed", `${issued_at} with ${signed_by}`] as const]),
    ]),
  );
  if (!differ) return;
  const missing = masters.filter((one) => !peels.some(({ public_key }) => public_key === one.public_key));
  const extra = peels.filter((one) => !masters.some(({ public_key }) => public_key === one.public_key));
  const said = [
    ...missing.map(({ name }) => `only masters know ${name}`),
    ...extra.map(({ name }) => `only peels know ${name}`),
  ];
  cli.warn(
    `masters and peels know other administrators: ${said.join("; ") || "the names differ"}. Change auth/administrators of every master, or sign with --replace`,
  );
}

const linesOf = (list: readonly Named[]): string =>
  list.length === 0 ? "none" : list.map(({ name, public_key }) => `${name} ${public_key}`).join(", ");

function readList(path: string) {
  const list = parseAdministrators(path, readTextFile(path, "--replace"));
  if (list.length > 0) return list;
  throw new SvcError("bad_request", `${path} names no administrator: peels would refuse every request`);
}

function signerOf(cli: Cli, path: string | undefined): NonNullable<OperatorFile["key"]> {
  if (path === undefined) return ownOperatorFile(cli).key;
  const { key } = readOperatorFile(path);
  if (key !== undefined) return key;
  throw new SvcError("bad_request", `${path} has no seed: only the file on the host with the key can sign`);
}
