import { existsSync } from "node:fs";
import { defined } from "../../base/defined.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { createFileAtomic, readTextIfPresent, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import type { Log } from "../../base/log.ts";
import { parseCredentials, readClaims } from "../../identity/mod.ts";
import { type Administrator, formatAdministrators, parseAdministrators } from "../../wire/administrators.ts";
import {
  decodeAdministrators,
  digestOfAdministrators,
  isSameList,
  isSignedStatement,
} from "../../wire/administrators-statement.ts";
import { readLearned } from "../../wire/learned-keys.ts";

/** What a master says of the administrators. */
export interface LearnedAdministrators {
  list: readonly Administrator[];
  /** 0 before the first statement. */
  version: number;
  /** The account of the peels, which names the fleet; absent when the credentials do not say it. */
  fleet?: string;
}

/** The administrators whose operators this peel obeys where it insists on them, stored in a file. */
export interface Administrators {
  /** None when the peel has learned none yet, and when the file is damaged. */
  readonly current: readonly Administrator[];
  /** Of the newest statement that this peel follows; 0 before the first of its fleet. */
  readonly version: number;
  /** Of the current list, hex; absent where there is none. */
  readonly digest: string | undefined;
  /** The account of the peels, which names the fleet of this peel; absent before it has credentials. */
  readonly fleet: string | undefined;
  /** Whether this peel has learned none. A damaged file is still one. */
  readonly lacking: boolean;
  /**
   * Keeps the first list that names one. It must come from a master over verified TLS. What is kept is replaced by
   * a statement of an administrator and nothing else: an attacker who controls a master has its certificate as well.
   *
   * @throws SvcError `storage` when it cannot be stored
   */
  learn(learned: LearnedAdministrators): void;
  /**
   * Judges statements of administrators, oldest first, and follows those that count: signed by one of the
   * administrators that this peel has, for its fleet, with a greater version. The others are logged and ignored.
   *
   * @returns whether it followed one
   */
  take(statements: readonly Uint8Array[]): boolean;
}

interface Kept {
  list: readonly Administrator[];
  /** The fleet of the statement that the list is from; absent for a list that was learned from a master. */
  fleet?: string;
  version: number;
}

/** The first line of the file. */
const versionLine = /^# version (\d{1,10}) (A[A-Z2-7]{55})$/m;

/**
 * Opens the administrators of a peel.
 *
 * @param files.credentials the bus credentials, which name the fleet
 */
export function createAdministrators(
  files: { administrators: string; credentials: string },
  log: Log,
): Administrators {
  const { administrators: file } = files;
  const ownFleet = () => fleetOf(readTextIfPresent(files.credentials) ?? "");
  let refused = "";
  const read = (): Kept => {
    const text = readTextIfPresent(file);
    if (text === undefined) return { list: [], version: 0 };
    try {
      const [, version = "0", fleet] = versionLine.exec(text) ?? [];
      const list = parseAdministrators(file, text);
      return { list, version: Number(version), ...defined({ fleet }) };
    } catch {
      return { list: [], version: 0 };
    }
  };
  let kept = read();
  /** A peel that came to the fleet that succeeds its own counts the statements of that fleet from the start. */
  const versionIn = (fleet: string | undefined) => (kept.fleet === fleet ? kept.version : 0);

  const follow = (bytes: Uint8Array, fleet: string) => {
    const statement = decodeAdministrators(bytes);
    const { version, administrators } = statement;
    const signer = judgeStatement(statement, { list: kept.list, version: versionIn(fleet), fleet });
    if (signer === undefined) return;
    writing(file, () => writeFileAtomic(file, textOf(administrators, version, fleet), secretMode));
    kept = { list: administrators, version, fleet };
    log.info("administrators replaced by a statement", {
      version,
      signed_by: signer.name,
      administrators: administrators.map(({ name }) => name).join(","),
    });
  };

  return {
    get current() {
      return kept.list;
    },
    get version() {
      return versionIn(ownFleet());
    },
    get digest() {
      return kept.list.length === 0 ? undefined : digestOfAdministrators(kept.list);
    },
    get fleet() {
      return ownFleet();
    },
    get lacking() {
      return !existsSync(file);
    },
    learn({ list, version, fleet }) {
      // A damaged file is still one: what it held is not known, so nothing takes its place.
      if (list.length === 0 || existsSync(file)) return;
      const text = textOf(list, version, fleet);
      writing(file, () => createFileAtomic(file, text, secretMode));
      kept = read();
      log.info("administrators learned", { administrators: list.map(({ name }) => name).join(",") });
    },
    take(statements) {
      const fleet = statements.length === 0 ? undefined : ownFleet();
      if (fleet === undefined) return false;
      const before = kept;
      for (const bytes of statements) {
        try {
          follow(bytes, fleet);
        } catch (thrown) {
          const reason = describeError(thrown);
          if (reason !== refused) log.warn("a statement about administrators is refused", { reason });
          refused = reason;
        }
      }
      return kept !== before;
    },
  };
}

/** What the file of a list says. */
const textOf = (list: readonly Administrator[], version: number, fleet: string | undefined) =>
  `${version === 0 || fleet === undefined ? "" : `# version ${version} ${fleet}\n`}${formatAdministrators(list)}`;

/**
 * Judges a statement of an administrator by what a peel has.
 *
 * @returns who signed it; `undefined` for the one that the peel follows already
 * @throws SvcError `forbidden` for one that does not count
 */
function judgeStatement(
  statement: ReturnType<typeof decodeAdministrators>,
  kept: { list: readonly Administrator[]; version: number; fleet: string },
): Administrator | undefined {
  const { version, administrators, key } = statement;
  const refuse = (reason: string): never => {
    throw new SvcError("forbidden", `version ${version}: ${reason}`);
  };
  if (statement.fleet !== kept.fleet)
    refuse(`it is for the fleet ${statement.fleet}, and this is ${kept.fleet}`);
  if (version <= kept.version) {
    // Masters repeat what a peel has; anything else is an attempt to go back.
    if (version === kept.version && isSameList(administrators, kept.list)) return undefined;
    refuse(`this peel follows version ${kept.version}`);
  }
  const signer = kept.list.find(({ publicKey }) => publicKey === key);
  if (signer === undefined) return refuse(`the key ${key} is not of an administrator that this peel knows`);
  if (!isSignedStatement(statement)) refuse(`the signature of ${signer.name} is wrong`);
  return signer;
}

/** The account of the peels, which names the fleet; `undefined` for text that is not of credentials. */
function fleetOf(credentials: string): string | undefined {
  try {
    const { iss, nats } = readClaims(parseCredentials(credentials).jwt);
    return typeof nats.issuer_account === "string" ? nats.issuer_account : iss;
  } catch {
    return undefined;
  }
}

/** What an answer of a master names. @param credentials that came with the same answer */
export function learnedIn(answer: Readonly<Record<string, unknown>>, credentials: string) {
  const { administrators, ...keys } = readLearned(answer);
  const learned: LearnedAdministrators = { ...administrators, ...defined({ fleet: fleetOf(credentials) }) };
  return { ...keys, administrators: learned };
}
