import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { type Address, parseAddress } from "../../base/names/address.ts";
import { type Audience, initNatsAuth } from "../../bus/accounts/mod.ts";
import { command, formatTable, readFlag, type TableStyle, value } from "../../program/command-line/mod.ts";

const audiences: Record<Audience, string> = {
  bus: "bus servers",
  masters: "auth_dir of masters",
  operators: "operators",
  offline: "a safe place, offline",
};

export const initCommand = command({
  name: "init",
  description:
    "Create the keys, accounts, credentials and server configuration of a bus. Existing files are never overwritten.",
  examples: ["svc nats-auth init --dir ./auth --listen 0.0.0.0:4222"],
  args: {
    dir: value("directory", "Output directory", { required: true }),
    operator: value("name", "Name of the NATS operator", { default: "svc" }),
    listen: value("host:port", "Listen address of the bus (default: all addresses of the host)", {
      default: "0.0.0.0:4222",
    }),
    "store-dir": value("directory", "Data directory of the bus (default: <dir>/store)"),
    "tls-cert": value("file", "Certificate of the bus; requires --tls-key (default: <dir>/nats-server.crt)"),
    "tls-key": value("file", "Private key of --tls-cert (default: <dir>/nats-server.key)"),
  },
  async run(args, cli) {
    const { dir, operator, "store-dir": storeDir, "tls-cert": cert, "tls-key": key } = args;
    if (operator.trim() === "") throw new SvcError("usage", "--operator: expected a name");
    const files = initNatsAuth({
      dir,
      operator,
      listen: readFlag("--listen", args.listen, parseListen),
      ...defined({ storeDir }),
      ...tlsFiles(cert, key),
      hostname: cli.hostname,
      clock: cli.clock,
      random: cli.random,
    });
    const rows = files.map(({ path, mode, audience }) => ({ file: path, mode: mode.toString(8), audience }));
    await cli.print({ files: rows }, () => formatFiles(rows, cli));
    if (cert === undefined) {
      cli.say(
        `Next: svc ca issue nats-server --dns NAME --out ${dir}, then nats-server -c ${dir}/nats-server.conf`,
      );
    }
  },
});

/** The files that were made, and who needs them. */
export function formatFiles(
  files: readonly { file: string; mode: string; audience: Audience }[],
  style: TableStyle,
): string {
  return formatTable(
    { FILE: "prose", MODE: "word", FOR: "word" },
    files.map(({ file, mode, audience }) => [file, `0${mode}`, audiences[audience]]),
    style,
  );
}

function tlsFiles(cert: string | undefined, key: string | undefined) {
  if (cert !== undefined && key !== undefined) return { tls: { cert, key } };
  if (cert === undefined && key === undefined) return {};
  throw new SvcError(
    "usage",
    `${cert === undefined ? "--tls-cert" : "--tls-key"} is missing: set both or neither`,
  );
}

function parseListen(text: string): Address {
  const address = parseAddress(text);
  if (address === undefined || address.host === "" || address.port === 0) {
    throw new SvcError(
      "usage",
      `${JSON.stringify(text.slice(0, 60))} is not host:port, such as 0.0.0.0:4222 or [::]:4222`,
    );
  }
  return address;
}
