import { join } from "node:path";
import { rfc3339 } from "../../base/clock.ts";
import { parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { publicMode, readTextIfPresent, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { createFiles, makePrivateDirectory, type NewFile, writing } from "../../base/files/new-files.ts";
import { parseDnsName, parseIpAddress } from "../../base/names/subject-name.ts";
import { issueCertificate, type LeafUsage, loadInForce } from "../../identity/ca/mod.ts";
import {
  type Cli,
  command,
  formatFields,
  group,
  readFlag,
  readListFlag,
} from "../../program/command-line/mod.ts";
import { issueArgs } from "./args.ts";

const dnsHint = { type: "string", valueHint: "name,..." } as const;
const ipHint = { type: "string", valueHint: "address,..." } as const;

const natsServerCommand = command({
  name: "nats-server",
  description: "Issue the certificate of a bus server: nats-server.crt, nats-server.key and nats-ca.crt.",
  examples: ["svc ca issue nats-server --dns bus.example.com --ip 10.0.0.5 --out /etc/nats"],
  args: {
    dns: { ...dnsHint, description: "DNS names of the certificate; --dns or --ip is required" },
    ip: { ...ipHint, description: "IP addresses of the certificate" },
    ...issueArgs,
  },
  async run(args, cli) {
    const names = namesOf(args);
    if (names.length === 0) {
      throw new SvcError(
        "usage",
        "--dns or --ip is required: the names and addresses that clients connect to",
      );
    }
    await issue(args, cli, { names, usage: "nats-server", commonName: "nats", caFile: "nats-ca.crt" });
  },
});

const enrollCommand = command({
  name: "enroll",
  description: "Issue the certificate of a master's HTTPS listener: enroll.crt and enroll.key.",
  examples: ["svc ca issue enroll --dns master.example.com"],
  args: {
    dns: {
      ...dnsHint,
      description: "DNS names of the certificate (default: this host's name and localhost)",
    },
    ip: { ...ipHint, description: "IP addresses of the certificate" },
    ...issueArgs,
  },
  async run(args, cli) {
    const given = namesOf(args);
    const names = given.length > 0 ? given : [cli.hostname, "localhost"];
    await issue(args, cli, { names, usage: "enroll", commonName: "svc-master" });
  },
});

export const issueCommand = group({
  name: "issue",
  description: "Issue a certificate.",
  commands: () => [natsServerCommand, enrollCommand],
});

function namesOf({ dns, ip }: { dns: string | undefined; ip: string | undefined }): string[] {
  const names = [...readListFlag("--dns", dns, parseDnsName), ...readListFlag("--ip", ip, parseIpAddress)];
  return names.map(({ value }) => value);
}

async function issue(
  args: { dir: string; out: string; validity: string; force?: boolean | undefined },
  cli: Cli,
  leaf: { names: string[]; usage: LeafUsage; commonName: string; caFile?: string },
): Promise<void> {
  const { dir, out, validity, force = false } = args;
  const { caFile, ...wanted } = leaf;
  const validityMs = readFlag("--validity", validity, parseDuration);
  const { authority, root, rotation } = await loadInForce(dir);
  const issued = await issueCertificate(authority, {
    ...wanted,
    validityMs,
    clock: cli.clock,
    random: cli.random,
  });
  const file = (name: string, data: string, mode = publicMode) => ({ path: join(out, name), data, mode });
  const pair = [
    file(`${leaf.usage}.key`, issued.keyPem, secretMode),
    file(`${leaf.usage}.crt`, issued.certPem),
  ];
  const files = caFile === undefined ? pair : [...pair, file(caFile, root.pem + (rotation?.next.pem ?? ""))];
  writeAll(files, force);
  const data = {
    common_name: leaf.commonName,
    names: leaf.names,
    not_before: rfc3339(issued.notBefore),
    not_after: rfc3339(issued.notAfter),
    files: files.map(({ path }) => path),
  };
  await cli.print(data, () =>
    formatFields([
      ["Common name", data.common_name],
      ["Names", data.names.join(", ")],
      ["Valid from", data.not_before],
      ["Valid until", data.not_after],
      ...data.files.map((path, i) => [i === 0 ? "Files" : "", path] as const),
    ]),
  );
  if (issued.clamped)
    cli.warn(`it ends at ${data.not_after}, when the intermediate ends, and not after --validity`);
}

function writeAll(files: readonly NewFile[], force: boolean): void {
  if (force) {
    for (const { path, data, mode } of files) {
      writing(path, () => {
        makePrivateDirectory(join(path, ".."));
        writeFileAtomic(path, data, mode);
      });
    }
    return;
  }
  // The CA certificate of an earlier run is the same file, so it may exist.
  const missing = files.filter(
    ({ path, data, mode }) => mode === secretMode || readTextIfPresent(path) !== data,
  );
  try {
    createFiles(missing);
  } catch (cause) {
    if (!(cause instanceof SvcError && cause.kind === "conflict")) throw cause;
    throw new SvcError("conflict", `${cause.message}: use --force to replace it, or choose another --out`);
  }
}
