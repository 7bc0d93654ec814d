import { SvcError } from "../base/errors.ts";
import { type KeyPair, keyPairFromSeed } from "./nkey.ts";

/** The content of a NATS `.creds` file. */
export interface Credentials {
  jwt: string;
  /** The user key whose public half is the JWT's subject. */
  key: KeyPair;
}

const section = (name: string) => new RegExp(`-{3,}BEGIN ${name}-{3,}\\s*(\\S+)\\s*-{3,}END ${name}-{3,}`);
const jwtSection = section("NATS USER JWT");
const seedSection = section("USER NKEY SEED");

/** Writes the text of a `.creds` file (NATS document "Credentials file"); the result is a secret. */
export function formatCredentials(jwt: string, seed: string): string {
  return `-----BEGIN NATS USER JWT-----
${jwt}
------END NATS USER JWT------

************************* IMPORTANT *************************
The NKEY seed below is a secret: anyone who holds it can act as this user.

-----BEGIN USER NKEY SEED-----
${seed}
------END USER NKEY SEED------
`;
}

/**
 * Parses the text of a `.creds` file.
 *
 * @throws SvcError `bad_request`; the message never repeats any part of the text
 */
export function parseCredentials(text: string): Credentials {
  const jwt = jwtSection.exec(text)?.[1];
  const seed = seedSection.exec(text)?.[1];
  if (jwt === undefined || seed === undefined) {
    throw new SvcError(
      "bad_request",
      "not a credentials file: it must contain a NATS USER JWT and a USER NKEY SEED",
    );
  }
  return { jwt, key: keyPairFromSeed("user", seed) };
}
