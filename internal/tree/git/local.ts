import type { Clock } from "../../base/clock.ts";
import type { CatFile } from "./cat-file.ts";
import type { Git } from "./git.ts";
import type { Kept } from "./kept.ts";
import type { Hashes, Tree } from "./read-tree.ts";
import type { RefChoice } from "./refs.ts";
import type { Released } from "./signed/released.ts";
import type { Signers } from "./signed/signers.ts";

/** A repository as it is configured. */
export interface Remote extends RefChoice {
  url: string;
  /** A file of allowed signers; absent means that commits need no signature. */
  signers?: string;
}

export interface MirrorOptions {
  git: Git;
  /** Parent directory of the mirrors; each has its own directory below it. */
  dir: string;
  /** `gitfs.max_bytes` */
  maxBytes: number;
  /** `gitfs.max_environments` */
  maxEnvironments: number;
  /** What git runs in place of ssh-keygen. */
  sshProgram: string;
  clock: Clock;
}

/** A repository on this host. */
export interface Local extends MirrorOptions {
  remote: Remote;
  url: string;
  /** Its directory. */
  repository: string;
  contents: CatFile;
  hashes: Hashes;
  /** The trees of the last environments, by commit. */
  trees: Map<string, Tree>;
  kept: Kept;
  /** Refs whose content was judged good since the start, and by which signers. */
  accepted: Map<string, string | undefined>;
  refused: Map<string, Refused>;
  /** As the last sync read them; absent without. */
  signers: Signers | undefined;
}

/** Why an object of a ref is not used. */
interface Refused {
  object: string;
  signers: string | undefined;
  released: Released | undefined;
  error: unknown;
  /** How often in succession the ref was refused. */
  times: number;
}
