import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

// Certificates as companies make them, by OpenSSL: nothing here uses the code under test.

/** A certificate with its key, in files. */
export interface Issued {
  cert: string;
  key: string;
  pem: string;
}

export interface Order {
  subject?: string;
  /** Without one, it signs itself. */
  by?: Issued;
  key?: "ec" | "p384" | "secp256k1" | "rsa" | "rsa-1024" | "ed25519";
  days?: number;
  digest?: string;
  /** As `openssl req -addext` takes them. */
  extensions?: readonly string[];
}

const algorithms: Record<NonNullable<Order["key"]>, readonly string[]> = {
  ec: ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
  p384: ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
  secp256k1: ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"],
  rsa: ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
  "rsa-1024": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"],
  ed25519: ["-algorithm", "ED25519"],
};

export const authorityExtensions = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign"];
/** A leaf for `host`, with these extensions in addition. */
export const leafExtensions = (host: string, ...more: string[]) => [
  "basicConstraints=critical,CA:FALSE",
  `subjectAltName=DNS:${host}`,
  ...more,
];

/** An authority of a test in this directory. */
export function companyAuthority(dir: string) {
  writeFileSync(join(dir, "openssl.cnf"), "[req]\ndistinguished_name=dn\n[dn]\n");
  let made = 0;
  return {
    issue(order: Order): Issued {
      const base = join(dir, `issued-${++made}`);
      const { subject = "/O=Example/CN=host", by, key = "ec", days = 30, digest, extensions = [] } = order;
      openssl("genpkey", ...algorithms[key], "-out", `${base}.key`);
      openssl(
        ...["req", "-new", "-x509", "-utf8", "-config", join(dir, "openssl.cnf"), "-key", `${base}.key`],
        ...["-subj", subject, "-days", String(days), "-out", `${base}.crt`],
        ...(by === undefined ? [] : ["-CA", by.cert, "-CAkey", by.key]),
        ...(digest === undefined ? [] : [`-${digest}`]),
        ...extensions.flatMap((extension) => ["-addext", extension]),
      );
      return { cert: `${base}.crt`, key: `${base}.key`, pem: readFileSync(`${base}.crt`, "utf8") };
    },
    /** A signature by a key, as the documentation describes it. */
    sign(key: string, message: Uint8Array): Buffer {
      const file = join(dir, `message-${++made}`);
      writeFileSync(file, message);
      const isEdwards = readFileSync(key, "utf8").length < 150;
      openssl(
        ...(isEdwards
          ? ["pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", file, "-out", `${file}.sig`]
          : ["dgst", "-sha256", "-sign", key, "-out", `${file}.sig`, file]),
      );
      return readFileSync(`${file}.sig`);
    },
  };
}

function openssl(...args: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(["openssl", ...args], { stdin: "ignore" });
  if (exitCode !== 0) throw new Error(`openssl ${args.join(" ")}: ${stderr.toString()}`);
}
