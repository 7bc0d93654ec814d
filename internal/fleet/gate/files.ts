import { SvcError } from "../../base/errors.ts";
import type { Content } from "../../wire/content.ts";
import { shortSnapshot } from "../../wire/content-words.ts";
import type { FilesOfRequest } from "../roles/mod.ts";

/** @throws SvcError `conflict` when other files are published under this name than those that were requested */
export function assertSameFiles(wanted: FilesOfRequest, found: Content): void {
  if (wanted.snapshot === undefined || wanted.snapshot === found.snapshot) return;
  throw new SvcError(
    "conflict",
    `the state files of ${found.environment} are ${shortSnapshot(found.snapshot)} now, not ${shortSnapshot(wanted.snapshot)}: nothing was started; ask again`,
  );
}
