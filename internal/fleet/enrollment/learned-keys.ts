import * as v from "valibot";

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

/** Their fields in an answer that gives a peel credentials. */
export function learnedKeys(keys: LearnedKeys) {
  const { commandKeys, recoveryKeys, administrators = () => [], administratorsVersion = () => 0 } = keys;
  return {
    command_keys: [...commandKeys()],
    recovery_keys: [...recoveryKeys],
    administrators: administrators().map(({ name, publicKey }) => ({ name, public_key: publicKey })),
    administrators_version: administratorsVersion(),
  };
}

/** The administrators in an answer. */
export const administratorsField = v.pipe(
  v.array(v.object({ name: v.string(), public_key: v.string() })),
  v.description("Names and public keys of the administrators, whose operators sign requests"),
);

/** Its version in an answer. */
export const administratorsVersionField = v.pipe(
  v.number(),
  v.integer(),
  v.description("Version of that list: statements of administrators with a greater one change it"),
);
