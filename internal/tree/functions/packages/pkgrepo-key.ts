import { posix } from "node:path";
import { type ArgSpec, arg, type ValuesOf } from "../../../host/modules/mod.ts";
import type { System } from "../../../host/system/system.ts";
import { type StateContext, StateFailure } from "../../function/mod.ts";
import { fetchBytes } from "../sources/download.ts";
import { findSource, treePath } from "../sources/source.ts";
import type { Step } from "../steps.ts";
import { dearmored, fingerprintOf, isArmored } from "./openpgp.ts";

export const keyArgs = {
  key_url: arg.string(
    "With apt, source of the key that signs the repository: https://…, svc://path, salt://path or an absolute path. A key from a server is fetched only while its file does not exist.",
  ),
  key_text: arg.string("With apt, the key itself, as armored text."),
  keyid: arg.string("With apt, fingerprint of a key on a keyserver, with at least 16 digits."),
  keyserver: arg.string(
    "With apt, the keyserver, which must answer over HTTPS; keyserver.ubuntu.com by default.",
  ),
  signedby: arg.path(
    "With apt, file of the key. Only this repository trusts it; without it, or signed-by in name, the key is in /etc/apt/trusted.gpg.d.",
  ),
  aptkey: arg.boolean(
    "With apt, false puts the key into /etc/apt/keyrings, for this repository alone. The program apt-key is never used.",
  ),
} as const satisfies Record<string, ArgSpec>;

export type KeyArgs = ValuesOf<typeof keyArgs>;

const maxKeyBytes = 1024 * 1024;
const defaultServer = "keyserver.ubuntu.com";

/** The problem with the arguments of a key, if any. */
export function refuseKey({ key_url, key_text, keyid, keyserver, signedby }: KeyArgs): string | undefined {
  const given = Object.entries({ key_url, key_text, keyid }).flatMap(([name, value]) =>
    value === undefined ? [] : [name],
  );
  if (given.length > 1) return `give only one of ${given.join(", ")}`;
  if (keyserver !== undefined && serverOf(keyserver) === undefined)
    return "keyserver: expected the name of a host";
  if (keyid !== undefined && !/^(?:0x)?[0-9a-f]{8,40}$/i.test(keyid.replaceAll(" ", ""))) {
    return "keyid: expected a fingerprint in hexadecimal";
  }
  if (signedby?.endsWith("/")) return "signedby: expected the path of a file";
  if (key_url === undefined || key_url.startsWith("https://") || key_url.startsWith("/") || treePath(key_url))
    return undefined;
  if (isUnsafe(key_url)) return undefined;
  return "key_url: expected https://…, svc://path, salt://path or an absolute path";
}

/** What is taken, and does not do what it seems to do. */
export function warnOfKey({ key_url, keyid, keyserver }: KeyArgs): string | undefined {
  if (isUnsafe(key_url)) return `key_url: ${unsafe}`;
  return keyserver !== undefined && keyid === undefined ? "keyserver: not used without keyid" : undefined;
}

const unsafe = "a key from http:// could be anybody's, and is not fetched; use https:// or salt://";

function isUnsafe(url: string | undefined): boolean {
  return url?.startsWith("http://") === true;
}

/** Whether a state gives a key. */
export function hasKey({ key_url, key_text, keyid }: KeyArgs): boolean {
  return (key_url ?? key_text ?? keyid) !== undefined;
}

/**
 * The file of the key, unless the repository names one.
 *
 * @param name of the repository, for the name of the file
 */
export function keyFileOf({ aptkey, key_url }: KeyArgs, name: string): string {
  const directory = aptkey === false ? "/etc/apt/keyrings" : "/etc/apt/trusted.gpg.d";
  const given =
    aptkey === false && key_url !== undefined ? posix.basename(key_url.replace(/[?#].*$/, "")) : name;
  const stem = given.replace(/\.(?:asc|gpg|key|pgp)$/i, "").replace(/[^A-Za-z0-9._-]+/g, "-");
  return `${directory}/${stem || "key"}.gpg`;
}

/** The step that writes the key; `undefined` when the file holds it already. */
export async function planKey(
  args: KeyArgs,
  path: string,
  system: System,
  context: StateContext,
): Promise<Step | undefined> {
  const present = system.readBytes(path);
  const isRemote = /^https?:/.test(args.key_url ?? "") || args.keyid !== undefined;
  if (isRemote && present !== undefined && present.length > 0) return undefined;
  if (isUnsafe(args.key_url)) throw new StateFailure(`key_url: ${unsafe}`);
  const read = async () => formed(await keyOf(args, context), path, shownSource(args));
  if (!isRemote) {
    const wanted = await read();
    if (present !== undefined && Buffer.compare(present, wanted) === 0) return undefined;
  }
  return {
    changes: { [path]: { key: shownSource(args) } },
    async run() {
      const key = await read();
      system.makeDirectories(posix.dirname(path));
      system.write(path, key);
    },
  };
}

function shownSource({ key_url, keyid }: KeyArgs): string {
  return key_url ?? (keyid === undefined ? "key_text" : `key ${keyid}`);
}

async function keyOf(
  { key_url, key_text, keyid, keyserver }: KeyArgs,
  context: StateContext,
): Promise<Uint8Array> {
  if (key_text !== undefined) return Buffer.from(`${key_text.trim()}\n`);
  const options = { signal: context.signal, maxBytes: maxKeyBytes };
  if (keyid !== undefined) return keyFromServer(keyid, keyserver ?? defaultServer, options);
  if (key_url?.startsWith("https://")) return fetchBytes(key_url, options);
  return findSource([key_url ?? ""], undefined, context).content.bytes();
}

async function keyFromServer(
  keyid: string,
  server: string,
  options: { signal: AbortSignal; maxBytes: number },
): Promise<Uint8Array> {
  const wanted = keyid.replaceAll(" ", "").replace(/^0x/i, "").toUpperCase();
  // Anybody can make a key with a given short id, and put it on a keyserver.
  if (wanted.length < 16)
    throw new StateFailure(`keyid: ${keyid} is too short to tell a key; give its fingerprint`);
  const url = `https://${serverOf(server)}/pks/lookup?op=get&options=mr&search=0x${wanted}`;
  const key = dearmored(await fetchBytes(url, options), url);
  const found = fingerprintOf(key);
  if (found?.endsWith(wanted) !== true) {
    throw new StateFailure(
      `${server} answered with the key ${found ?? "of an unknown kind"} instead of ${wanted}`,
    );
  }
  return key;
}

function serverOf(server: string): string | undefined {
  return /^(?:(?:hkps?|https?):\/\/)?([A-Za-z0-9.-]+)(?::\d+)?\/?$/.exec(server)?.[1];
}

/** apt reads a key as text from a file with the suffix .asc, and in binary form from any other file. */
function formed(key: Uint8Array, path: string, source: string): Uint8Array {
  if (!path.endsWith(".asc")) return dearmored(key, source);
  if (isArmored(key)) return key;
  throw new StateFailure(
    `${source} is not armored text, which ${path} needs; use a file with the suffix .gpg`,
  );
}
