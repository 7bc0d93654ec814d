import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { publicMode, secretMode } from "../../base/files/file.ts";
import { createFiles, type NewFile } from "../../base/files/new-files.ts";
import type { Random } from "../../base/id.ts";
import { buildAuthorityCertificate, type DistinguishedName, newSerial } from "./build.ts";
import { type CertificateSummary, describeCertificate } from "./describe.ts";
import { newSigningKey } from "./key.ts";
import type { Authority } from "./load.ts";
import { authorityPaths } from "./paths.ts";
import { assertRootValidity, intermediateValidityMs, validityFrom } from "./validity.ts";

/** Maximum length of an organization or common name (RFC 5280 appendix A). */
const maxNameLength = 64;

export interface CreateAuthorityOptions {
  dir: string;
  organization: string;
  /** Common name of the root; `<organization> Root CA` when absent. */
  commonName?: string;
  rootValidityMs: number;
  clock: Clock;
  random: Random;
}

/** A CA that is not written to a directory yet. */
export interface NewAuthority {
  authority: Authority;
  /** Summary of the root certificate. */
  root: CertificateSummary;
  /** The files of the CA directory, in the order to write them. */
  files: NewFile[];
}

/**
 * Creates a new CA and writes its four files, which must not exist yet.
 *
 * @returns the summary of the root certificate
 * @throws SvcError `conflict` when any of the files exists, `bad_request` for a name or validity
 */
export async function createAuthority(options: CreateAuthorityOptions): Promise<CertificateSummary> {
  const { root, files } = await newAuthority(options);
  createFiles(files);
  return root;
}

/**
 * Creates a new CA: a root and an intermediate that signs every leaf, each with its key.
 *
 * @throws SvcError `bad_request` for a name or validity
 */
export async function newAuthority(options: CreateAuthorityOptions): Promise<NewAuthority> {
  const { dir, organization, rootValidityMs, clock, random } = options;
  const commonName = options.commonName ?? `${organization} Root CA`;
  assertName("organization", organization);
  assertName("common name", commonName);
  if (commonName === intermediateName(organization)) {
    throw new SvcError(
      "bad_request",
      `the common name ${JSON.stringify(commonName)} is reserved for the intermediate; choose another --cn`,
    );
  }
  return buildHierarchy({
    dir,
    rootName: [
      ["O", organization],
      ["CN", commonName],
    ],
    intermediateName: [
      ["O", organization],
      ["CN", intermediateName(organization)],
    ],
    rootValidityMs,
    clock,
    random,
  });
}

/**
 * Creates a root and an intermediate with these names, each with a new key.
 *
 * @throws SvcError `bad_request` for a validity
 */
export async function buildHierarchy(
  options: Pick<CreateAuthorityOptions, "dir" | "rootValidityMs" | "clock" | "random"> & {
    rootName: DistinguishedName;
    intermediateName: DistinguishedName;
  },
): Promise<NewAuthority> {
  const { dir, rootName, rootValidityMs, clock, random } = options;
  const now = clock.now();
  assertRootValidity(now, rootValidityMs);
  const rootValidity = validityFrom(now, rootValidityMs);
  const root = await newSigningKey();
  const rootPem = await buildAuthorityCertificate(
    {
      subject: rootName,
      publicKey: root.keys.publicKey,
      serial: newSerial(random),
      validity: rootValidity,
      pathLength: 1,
    },
    { selfSigningKey: root.keys.privateKey },
  );
  const intermediate = await newSigningKey();
  const intermediatePem = await buildAuthorityCertificate(
    {
      subject: options.intermediateName,
      publicKey: intermediate.keys.publicKey,
      serial: newSerial(random),
      validity: validityFrom(now, intermediateValidityMs, rootValidity),
      pathLength: 0,
    },
    { certificate: rootPem, key: root.keys.privateKey },
  );

  const paths = authorityPaths(dir);
  // The root certificate comes last: a master takes its presence as a sign of a complete CA.
  const files = [
    { path: paths.rootKey, data: root.pem, mode: secretMode },
    { path: paths.subKey, data: intermediate.pem, mode: secretMode },
    { path: paths.subCrt, data: intermediatePem, mode: publicMode },
    { path: paths.rootCrt, data: rootPem, mode: publicMode },
  ];
  const authority = { rootPem, intermediatePem, signingKey: intermediate.keys.privateKey, hasRootKey: true };
  return { authority, root: describeCertificate(rootPem), files };
}

/** The intermediate's common name must differ from the root's. Otherwise chains would be ambiguous. */
function intermediateName(organization: string): string {
  return `${organization.slice(0, maxNameLength - " Intermediate CA".length)} Intermediate CA`;
}

function assertName(what: string, name: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  if (name.trim() === "" || name.length > maxNameLength || /[\u0000-\u001f\u007f]/.test(name)) {
    throw new SvcError(
      "bad_request",
      `the ${what} must be 1 to ${maxNameLength} characters without control characters`,
    );
  }
}
