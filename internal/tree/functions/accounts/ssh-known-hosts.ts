import { isIP } from "node:net";
import { quote } from "../../../base/cut.ts";
import { keepLineEnds } from "../../../base/files/line-ends.ts";
import { type ArgSpec, arg } from "../../../host/modules/mod.ts";
import { localUsers } from "../../../host/system/accounts/mod.ts";
import { keyType } from "../../../host/system/authorized-keys.ts";
import {
  type HostKey,
  hasFingerprint,
  keysOfHost,
  knownName,
  withHostKey,
  withoutHostKeys,
} from "../../../host/system/known-hosts.ts";
import { type System, systemOf } from "../../../host/system/system.ts";
import {
  type Changes,
  defineState,
  type Plan,
  type StateContext,
  StateFailure,
  type StateFunction,
} from "../../function/mod.ts";
import { planSteps, refuseWith, unchanged } from "../steps.ts";
import { homePath, writeUserFile } from "./user-file.ts";

const systemFile = "/etc/ssh/ssh_known_hosts";
const port = arg.integer("Port of the server; 22 by default.", { min: 1, max: 65535 });
const where = {
  user: arg.string("User whose known hosts they are; those of the whole system by default."),
  config: arg.string(
    `The file; %h is the home directory and %u the name of the user. %h/.ssh/known_hosts by default, or ${systemFile} without user.`,
  ),
  port,
} as const satisfies Record<string, ArgSpec>;
const scanTimeoutMs = 30_000;

/** States of the keys by which SSH recognizes servers. */
export const sshKnownHostsStates: readonly StateFunction[] = [
  defineState({
    name: "ssh_known_hosts.present",
    doc: "Ensures that the key of a server is known. With key, the server is not contacted. With fingerprint, its keys are fetched when no known key has the fingerprint.",
    args: {
      key: arg.string("The key of the server, in Base64 or as a line of ssh-keyscan."),
      enc: arg.string("Type of the key, such as ssh-ed25519 or ed25519; ssh-rsa by default."),
      fingerprint: arg.string("Fingerprint of the key, with SHA256 or MD5."),
      fingerprint_hash_type: arg.string("Accepted and ignored: the fingerprint determines it.", {
        values: ["md5", "sha256"],
      }),
      hash_known_hosts: arg.boolean("Accepted and not used: names are written in clear."),
      timeout: arg.integer("Seconds to wait for the server; 5 by default.", { min: 1, max: 600 }),
      ...where,
    },
    refuse: ({ enc }) => {
      return enc === undefined || /^[A-Za-z0-9@.-]+$/.test(enc)
        ? undefined
        : "enc: expected a type such as ssh-ed25519";
    },
    warn: ({ key, fingerprint }) =>
      key === undefined && fingerprint === undefined
        ? "any key of the server is accepted the first time; give key or fingerprint"
        : undefined,
    plan(host, args, context) {
      refuseWith(refuseHost(host));
      if (args.key !== undefined && args.fingerprint !== undefined) {
        throw new StateFailure("give only one of key, fingerprint");
      }
      const name = knownName(host, args.port);
      const given = args.key === undefined ? undefined : readKey(args.key, args.enc);
      if (args.key !== undefined && given === undefined) {
        throw new StateFailure("key: expected the key in Base64, or a line of ssh-keyscan");
      }
      const isKnown = (key: HostKey) => {
        if (given !== undefined) return key.type === given.type && key.key === given.key;
        if (args.enc !== undefined && key.type !== keyType(args.enc)) return false;
        return args.fingerprint === undefined || hasFingerprint(key, args.fingerprint);
      };
      return planFile(name, args, context, async (text, isApplied) => {
        if (keysOfHost(text, name).some(isKnown)) return text;
        if (given === undefined && !isApplied) return undefined;
        const key = given ?? (await scan(host, args, systemOf(context))).find(isKnown);
        if (key === undefined) {
          throw new StateFailure(`${host} has no key with the fingerprint ${args.fingerprint ?? ""}`);
        }
        return withHostKey(text, name, key);
      });
    },
  }),
  defineState({
    name: "ssh_known_hosts.absent",
    doc: "Ensures that no key of a server is known.",
    args: where,
    plan(host, args, context) {
      refuseWith(refuseHost(host));
      const name = knownName(host, args.port);
      return planFile(name, args, context, async (text) => withoutHostKeys(text, name));
    },
  }),
];

interface Where {
  user: string | undefined;
  config: string | undefined;
}

/** @param edit returns `undefined` for a change that only a server can tell */
async function planFile(
  name: string,
  { user: named, config }: Where,
  context: StateContext,
  edit: (text: string, isApplied: boolean) => Promise<string | undefined>,
): Promise<Plan> {
  const system = systemOf(context);
  const fileOf = () => {
    const user = named === undefined ? undefined : localUsers(system).get(named);
    if (named !== undefined && user === undefined) return undefined;
    if (user !== undefined) return { user, path: homePath(config ?? "%h/.ssh/known_hosts", user) };
    refuseWith((config ?? "/").startsWith("/") ? undefined : `config: ${config} is not an absolute path`);
    return { user, path: config ?? systemFile };
  };
  const editKept = async (text: string, isApplied: boolean) => {
    const edited = await edit(text.replaceAll("\r\n", "\n"), isApplied);
    return edited === undefined ? undefined : keepLineEnds(text, () => edited);
  };
  // An earlier state may create the user; until then nothing is known.
  const now = fileOf();
  const before = now === undefined ? "" : (system.readOwn(now.path) ?? "");
  const after = await editKept(before, false);
  const of = `the known hosts of ${named ?? "the system"}`;
  if (after === before) return unchanged(`${of} are in the desired state`);
  const changes: Changes = {
    [name]: {
      old: shown(before, name),
      new: after === undefined ? "a key of the server" : shown(after, name),
    },
  };
  const run = async () => {
    system.forget();
    const file = fileOf();
    if (file === undefined) throw new StateFailure(`user ${named} does not exist on this host`);
    const text = (await editKept(system.readOwn(file.path) ?? "", true)) ?? "";
    if (file.user === undefined) system.write(file.path, text);
    else await writeUserFile(system, file.user, file.path, text);
  };
  return planSteps([{ changes, run }], {
    fine: "",
    due: `${of} would be changed`,
    done: `${of} were changed`,
  });
}

function shown(text: string, name: string): string {
  return keysOfHost(text, name)
    .map(({ type, key }) => `${type} …${key.slice(-16)}`)
    .join(", ");
}

async function scan(
  host: string,
  {
    port,
    enc,
    timeout = 5,
  }: { port: number | undefined; enc: string | undefined; timeout: number | undefined },
  system: System,
): Promise<HostKey[]> {
  if (!system.has("ssh-keyscan")) throw new StateFailure("ssh-keyscan is not installed on this host");
  const kind =
    enc === undefined
      ? []
      : [
          "-t",
          keyType(enc)
            .replace(/^ssh-/, "")
            .replace(/^ecdsa-.*/, "ecdsa"),
        ];
  const argv = [
    "ssh-keyscan",
    "-T",
    String(timeout),
    ...(port === undefined ? [] : ["-p", String(port)]),
    ...kind,
    "--",
    host,
  ];
  const { stdout } = await system.run(argv, { timeoutMs: timeout * 1000 + scanTimeoutMs });
  const keys = keysOfHost(stdout, knownName(host, port));
  if (keys.length === 0) throw new StateFailure(`${host} gave no key to ssh-keyscan`);
  return keys;
}

function readKey(text: string, enc = "ssh-rsa"): HostKey | undefined {
  const words = text.trim().split(/\s+/);
  const at = words.findIndex((word) => /^AAAA[A-Za-z0-9+/]+={0,3}$/.test(word));
  const key = words[at];
  if (key === undefined || /[\n\r]/.test(text.trim())) return undefined;
  return { type: at > 0 ? (words[at - 1] ?? "") : keyType(enc), key };
}

function refuseHost(host: string): string | undefined {
  if (isIP(host) !== 0 || /^[A-Za-z0-9][A-Za-z0-9.:_-]*$/.test(host)) return undefined;
  return `${quote(host)} is not a valid name or address of a host`;
}
