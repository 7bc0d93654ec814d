import { SvcError } from "../../base/errors.ts";
import { readTextFile, readTextIfPresent } from "../../base/files/file.ts";
import { formatOperatorFile, keyPairFromSeed, newKeyPair, parseOperatorFile } from "../../identity/mod.ts";
import { type Cli, formatFields } from "../../program/command-line/mod.ts";
import { chooseContext, contextFile, listContexts, seedFile, writePrivate } from "../contexts.ts";
import { operatorName } from "../operator.ts";
import { operatorNameOf } from "../setup/mod.ts";

/** Makes a key, or installs an operator file. @throws SvcError `usage`, `bad_request`, `storage` */
export async function login(
  args: { file?: string | undefined; new?: boolean | undefined; name?: string | undefined },
  cli: Cli,
): Promise<void> {
  if ((args.file === undefined) === (args.new !== true)) {
    throw new SvcError("usage", "name one of: an operator file, --new, --oidc");
  }
  if (args.file === undefined) return makeKey(args.name ?? operatorNameOf(operatorName()), cli);
  if (args.name !== undefined) throw new SvcError("usage", "--name is for --new: a file has a name in it");
  await install(args.file, cli);
}

async function makeKey(name: string, cli: Cli): Promise<void> {
  // It is in a command line that is printed.
  contextFile(name);
  const { publicKey, seed } = newKeyPair("user", cli.random);
  const path = seedFile(publicKey);
  writePrivate(path, `${seed}\n`);
  const line = `svc operator add ${name} --role ROLE --public-key ${publicKey} > ${name}.operator`;
  await cli.print({ name, public_key: publicKey, seed_file: path, command: line }, () => line);
  cli.say(`Your key is in ${path}. Give the line above to an operator with role admin, who replaces ROLE.`);
  cli.say("Then install the file that you get back: svc login FILE");
}

async function install(source: string, cli: Cli): Promise<void> {
  const found = parseOperatorFile(readTextFile(source, "the operator file"), source);
  const { name, publicKey, fleet } = found;
  const key = found.key ?? ownKey(publicKey);
  if (key === undefined) {
    throw new SvcError(
      "bad_request",
      `${source} is for the key ${publicKey}, which is not on this host: log in on the host where svc login --new made it`,
    );
  }
  const context = contextFor(name, fleet);
  const path = contextFile(context);
  writePrivate(path, formatOperatorFile({ ...found, key }));
  chooseContext(context);
  const data = { context, name, public_key: publicKey, fleet, file: path };
  await cli.print(data, () =>
    formatFields([
      ["Name", name],
      ["Context", context],
      ["Fleet", fleet],
      ["Key", publicKey],
      ["File", path],
    ]),
  );
  if (found.key !== undefined && source !== path) {
    cli.warn(`${source} holds your secret key too: remove it`);
  }
}

/** The key that was made here, if it was. */
function ownKey(publicKey: string) {
  const seed = readTextIfPresent(seedFile(publicKey));
  if (seed !== undefined) return keyPairFromSeed("user", seed);
  // A file that is installed again, such as with other roles, has no seed: the one that is installed has it.
  for (const name of listContexts()) {
    const path = contextFile(name);
    const { key } = parseOperatorFile(readTextFile(path, "the operator file"), path);
    if (key?.publicKey === publicKey) return key;
  }
  return undefined;
}

/** The name of the operator; with a number where that is the context of another fleet. */
function contextFor(name: string, fleet: string): string {
  const known = new Set(listContexts());
  for (let number = 1; ; number++) {
    const context = number === 1 ? name : `${name}-${number}`;
    if (!known.has(context)) return context;
    const path = contextFile(context);
    if (parseOperatorFile(readTextFile(path, "the operator file"), path).fleet === fleet) return context;
  }
}
