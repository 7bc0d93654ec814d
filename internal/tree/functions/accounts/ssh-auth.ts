import { quote } from "../../../base/cut.ts";
import { keepLineEnds } from "../../../base/files/line-ends.ts";
import { type ArgSpec, arg } from "../../../host/modules/mod.ts";
import { localUsers } from "../../../host/system/accounts/mod.ts";
import {
  type AuthorizedKey,
  findKey,
  formatKey,
  isRepeated,
  keyType,
  parseKey,
  withKey,
  withoutKey,
} from "../../../host/system/authorized-keys.ts";
import { systemOf } from "../../../host/system/system.ts";
import {
  type Changes,
  defineState,
  type Plan,
  type StateContext,
  StateFailure,
  type StateFunction,
} from "../../function/mod.ts";
import { findHash } from "../sources/find-hash.ts";
import { findSource, refuseSource } from "../sources/source.ts";
import { sourceHashArgs } from "../sources/source-hash.ts";
import { planSteps, unchanged } from "../steps.ts";
import { homePath, writeUserFile } from "./user-file.ts";

const args = {
  user: arg.string("Owner of the file.", { required: true }),
  enc: arg.string(
    "Type of a key that is given only as Base64, such as ssh-ed25519 or ed25519; ssh-rsa by default.",
  ),
  options: arg.strings("Options of the key, such as no-pty; none by default."),
  comment: arg.string("Comment after the key; the comment of the given key by default."),
  source: arg.strings("A file of keys instead of name, such as svc://ssh/alice.pub."),
  source_hash: sourceHashArgs.source_hash,
  config: arg.string(
    "The file of keys; %h is the home directory and %u the name of the user. %h/.ssh/authorized_keys by default.",
  ),
} as const satisfies Record<string, ArgSpec>;

/** States of SSH keys for login. */
export const sshAuthStates: readonly StateFunction[] = [
  defineState({
    name: "ssh_auth.present",
    doc: "Ensures that a user can log in with a key. A file in the home directory of a user is written as that user.",
    args,
    refuse: ({ source, source_hash, options = [], comment }) =>
      refuseSource(source ?? [], source_hash) ??
      ([...options, comment ?? ""].some((each) => /[\n\r\0]/.test(each))
        ? "options and comment: must not contain a line break"
        : undefined),
    async plan(name, given, context) {
      const keys = await keysOf(name, given, context);
      return planKeys(given, context, (text) => {
        const changes: Changes = {};
        let next = text;
        for (const key of keys) {
          const old = findKey(next, key.key);
          const wanted =
            given.comment === undefined && old !== undefined ? { ...key, comment: old.comment } : key;
          const isFine = old !== undefined && formatKey(old) === formatKey(wanted);
          if (isFine && !isRepeated(next, key.key)) continue;
          next = withKey(next, wanted);
          changes[nameOf(key)] = { old: old === undefined ? "" : describe(old), new: describe(wanted) };
        }
        return { text: next, changes };
      });
    },
  }),
  defineState({
    name: "ssh_auth.absent",
    doc: "Ensures that a user cannot log in with a key.",
    args,
    refuse: ({ source, source_hash }) => refuseSource(source ?? [], source_hash),
    async plan(name, given, context) {
      const keys = await keysOf(name, given, context);
      return planKeys(given, context, (text) => {
        const found = keys.filter(({ key }) => findKey(text, key) !== undefined);
        const changes = Object.fromEntries(
          found.map((key) => [nameOf(key), { old: describe(key), new: "" }]),
        );
        return { text: found.reduce((left, { key }) => withoutKey(left, key), text), changes };
      });
    },
  }),
];

interface KeyArgs {
  user: string;
  enc: string | undefined;
  options: string[] | undefined;
  comment: string | undefined;
  source: string[] | undefined;
  source_hash: string | undefined;
  config: string | undefined;
}

/** @throws StateFailure when no key is given */
async function keysOf(name: string, given: KeyArgs, context: StateContext): Promise<AuthorizedKey[]> {
  const { enc = "ssh-rsa", options, comment, source } = given;
  if (source !== undefined) {
    const found = findSource(source, await findHash(given, source, context), context);
    const text = new TextDecoder().decode(await found.content.bytes());
    const keys = text.split("\n").flatMap((line) => parseKey(line) ?? []);
    if (keys.length === 0) throw new StateFailure(`${found.name} contains no public key`);
    return keys.map((key) => (options === undefined ? key : { ...key, options }));
  }
  const key = parseKey(name) ?? parseKey(`${keyType(enc)} ${name}`);
  if (key === undefined || /[\n\r]/.test(name)) {
    throw new StateFailure(`${quote(name)} is not a public key`);
  }
  return [{ ...key, options: options ?? key.options, comment: comment ?? key.comment }];
}

function planKeys(
  { user: name, config = "%h/.ssh/authorized_keys" }: KeyArgs,
  context: StateContext,
  edit: (text: string) => { text: string; changes: Changes },
): Plan {
  const system = systemOf(context);
  const user = localUsers(system).get(name);
  // An earlier state may create the user; until then there are no keys.
  const path = user === undefined ? undefined : homePath(config, user);
  const { changes } = edit(path === undefined ? "" : (system.readOwn(path) ?? ""));
  const of = `the keys of ${name}`;
  if (Object.keys(changes).length === 0) return unchanged(`${of} are in the desired state`);
  const run = async () => {
    system.forget();
    const now = localUsers(system).get(name);
    if (now === undefined) throw new StateFailure(`user ${name} does not exist on this host`);
    const file = homePath(config, now);
    const text = keepLineEnds(system.readOwn(file) ?? "", (plain) => edit(plain).text);
    await writeUserFile(system, now, file, text);
  };
  return planSteps([{ changes, run }], {
    fine: "",
    due: `${of} would be changed`,
    done: `${of} were changed`,
  });
}

function nameOf({ key, comment }: AuthorizedKey): string {
  return comment === "" ? `…${key.slice(-16)}` : `${comment} …${key.slice(-16)}`;
}

function describe({ type, options }: AuthorizedKey): string {
  return options.length === 0 ? type : `${type} with ${options.join(",")}`;
}
