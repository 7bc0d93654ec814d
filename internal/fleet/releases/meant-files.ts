import { toSvcError } from "../../base/errors.ts";
import type { FilesOfCall } from "../../host/modules/mod.ts";
import type { Content } from "../../wire/content.ts";
import { localCommit } from "../../wire/content-words.ts";

/** The state files that a request means. */
export interface MeantFiles {
  content: Content;
  /** For those of its peels that obey operators only: the newest release, where other files are in force. */
  released?: Content;
}

/** On what it depends which files a request means. */
export interface RequestForFiles {
  wanted: FilesOfCall;
  /** The peels that it is for, encoded ids. */
  peels(): Promise<readonly string[]> | readonly string[];
  /** An operator signed it, so that all its peels run the same files. */
  isSigned: boolean;
  /** Its signer computed which files these are. */
  isUnreleased?: boolean;
}

export interface MeantFilesDeps {
  /** What an environment has now, or earlier. @throws SvcError `not_found`, `unavailable` */
  resolve(wanted: FilesOfCall & { snapshot?: string }): Promise<Content>;
  /** Digest of the newest released files of an environment. */
  newest(environment: string): string | undefined;
  /** Whether a peel obeys operators only, so that it runs released files alone. */
  insists(peel: string): boolean;
}

/**
 * Decides which files a request means. Peels that obey operators only would refuse what is in force and not released,
 * so for them a request means the newest release: for all its peels where an operator signs it, since one signature is
 * for one snapshot, and else for these peels alone.
 *
 * @throws SvcError `not_found`, `unavailable`, and what `peels` throws
 */
export async function meantFiles(
  { resolve, newest, insists }: MeantFilesDeps,
  { wanted, peels, isSigned, isUnreleased = false }: RequestForFiles,
): Promise<MeantFiles> {
  const content = await resolve(wanted);
  const snapshot = newest(wanted.environment);
  const isFixed = wanted.commit !== undefined || isUnreleased;
  if (isFixed || snapshot === undefined || snapshot === content.snapshot) return { content };
  const targets = await peels();
  const insisting = targets.filter(insists);
  if (insisting.length === 0) return { content };
  const released = await describe(resolve, { environment: wanted.environment, snapshot });
  if (isSigned || insisting.length === targets.length) return { content: released };
  return { content, released };
}

/** What is no longer published cannot be described: the peels report that they cannot fetch it. */
async function describe(
  resolve: MeantFilesDeps["resolve"],
  { environment, snapshot }: { environment: string; snapshot: string },
): Promise<Content> {
  try {
    return await resolve({ environment, snapshot });
  } catch (thrown) {
    if (toSvcError(thrown).kind !== "not_found") throw thrown;
    return { environment, commit: localCommit, snapshot };
  }
}
