import * as v from "valibot";
import { described } from "../base/schema.ts";
import { decodePublicKey } from "../identity/mod.ts";
import type { Administrator } from "./administrators.ts";
import { isOperatorName } from "./operator-record.ts";

/** Public keys that a peel learns over verified HTTPS: whose commands it obeys, whose succession, whose requests. */
export interface LearnedKeys {
  /** Asked for each answer: a key can be replaced meanwhile. */
  commandKeys: () => readonly string[];
  recoveryKeys: readonly string[];
  /** Whose requests a peel obeys that insists on them, by name and public key. */
  administrators?: () => readonly { name: string; publicKey: string }[];
  /** The version of that list: statements of administrators with a greater one change it. */
  administratorsVersion?: () => number;
}

/** The fields of these keys in an answer that gives a peel credentials. */
export const learnedFields = {
  command_keys: described(v.array(v.string()), "Public keys that sign commands"),
  recovery_keys: described(v.array(v.string()), "Public keys that may sign the succession of this fleet"),
  administrators: described(
    v.array(v.object({ name: v.string(), public_key: v.string() })),
    "Names and public keys of the administrators, whose operators sign requests",
  ),
  administrators_version: v.pipe(
    v.number(),
    v.integer(),
    v.description("Version of that list: statements of administrators with a greater one change it"),
  ),
} as const;

/** Their values. */
export function learnedKeys(keys: LearnedKeys) {
  const { commandKeys, recoveryKeys, administrators = () => [], administratorsVersion = () => 0 } = keys;
  return {
    command_keys: [...commandKeys()],
    recovery_keys: [...recoveryKeys],
    administrators: administrators().map(({ name, publicKey }) => ({ name, public_key: publicKey })),
    administrators_version: administratorsVersion(),
  };
}

const listed = v.pipe(
  learnedFields.administrators,
  v.maxLength(64),
  v.transform((list) => list.map(({ name, public_key }) => ({ name, publicKey: public_key }))),
  v.check((list) =>
    list.every(
      ({ name, publicKey }) => isOperatorName(name) && decodePublicKey("user", publicKey) !== undefined,
    ),
  ),
);
const texts = v.fallback(
  v.pipe(
    v.array(v.unknown()),
    v.transform((list) => list.filter((item) => typeof item === "string")),
  ),
  [],
);
const learned = v.object({
  command_keys: texts,
  recovery_keys: texts,
  administrators: v.fallback(listed, []),
  administrators_version: v.fallback(
    v.pipe(learnedFields.administrators_version, v.minValue(0), v.maxValue(2 ** 31 - 1)),
    0,
  ),
});

/** What an answer of a master names. What it lacks, or what is malformed, counts as none. */
export function readLearned(answer: Readonly<Record<string, unknown>>) {
  const found = v.parse(learned, answer);
  const administrators: { list: readonly Administrator[]; version: number } = {
    list: found.administrators,
    version: found.administrators_version,
  };
  return { commandKeys: found.command_keys, recoveryKeys: found.recovery_keys, administrators };
}
