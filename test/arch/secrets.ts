import type { Source, Violation } from "./source.ts";

const secretNames = /(?:^|\/)\.env(?:\.|$)|\.(?:seed|creds|key|pem|p12|token)$/;

const secretTexts: [what: string, pattern: RegExp][] = [
  ["a private key", /-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/=]{20}/],
  ["a key seed", /\bS[OAUXNC][A-Z2-7]{56}\b/],
  ["a JWT", /\beyJ[A-Za-z0-9_-]{16,}\.eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}/],
];

// Joined, so that this file names none of them itself.
const registryHosts = [
  ["registry", "npmjs", "org"],
  ["registry", "yarnpkg", "com"],
  ["deb", "debian", "org"],
  ["security", "debian", "org"],
  ["npm", "pkg", "github", "com"],
].map((labels) => labels.join("."));

/** Committed files that are, or contain, secrets. */
export function checkSecrets(sources: Source[]): Violation[] {
  return sources.flatMap((source): Violation[] => {
    if (secretNames.test(source.path)) {
      return [{ path: source.path, problem: "is named like a secret; secrets are never committed" }];
    }
    const found = secretTexts.find(([, pattern]) => pattern.test(source.text));
    return found === undefined ? [] : [{ path: source.path, problem: `contains ${found[0]}; remove it` }];
  });
}

/** Committed text that names the host of a package registry: which one is used is the machine's choice. */
export function checkRegistryHosts(sources: Source[]): Violation[] {
  return sources.flatMap((source): Violation[] => {
    const host = registryHosts.find((name) => source.text.includes(name));
    return host === undefined ? [] : [{ path: source.path, problem: `names the registry host ${host}` }];
  });
}
