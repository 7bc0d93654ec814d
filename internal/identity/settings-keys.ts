import { hkdfSync } from "node:crypto";
import type { CurveKey } from "./curve.ts";

/** What masters derive from `settings.seed`, each for one purpose, so that none tells another. */
const settingsPurposes = {
  /** Encrypts what masters alone may read of a tree. */
  tree: "svc/tree/v1",
  /** Names its blobs. */
  treeNames: "svc/tree-names/v1",
  /** Compares the files of masters. */
  files: "svc/files/v1",
} as const;
const planPurpose = "svc/plan/v1";

/** The 32 secret bytes of a purpose. */
export const deriveSettingsKey = (
  { secret }: Pick<CurveKey, "secret">,
  purpose: keyof typeof settingsPurposes,
): Uint8Array => deriveKey(secret, settingsPurposes[purpose]);

/** The 32 secret bytes that digests of plans for one peel are made with. @param peel encoded id */
export const derivePlanKey = ({ secret }: Pick<CurveKey, "secret">, peel: string): Uint8Array =>
  deriveKey(secret, `${planPurpose}\0${peel}`);

/** HKDF-SHA256 (RFC 5869) with an empty salt: 32 bytes. */
export const deriveKey = (secret: Uint8Array, info: string): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", secret, "", info, 32));
