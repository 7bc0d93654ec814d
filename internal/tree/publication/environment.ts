import type { Contents, SnapshotOrigin } from "../files/mod.ts";

/** An environment to publish. */
export interface Environment {
  name: string;
  origin: SnapshotOrigin;
  files: Contents;
}
