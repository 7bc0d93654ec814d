import { parseDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { type Cli, readFlag } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { confirmStart } from "../rollout/confirm-start.ts";
import { launchRollout, type PlanWords, readMode, readPlan } from "../rollout/launch.ts";
import { printUpgradeEnd } from "./print-end.ts";
import { type BinaryFile, readBinary } from "./read-binary.ts";
import { warnOfUnwatched } from "./unwatched.ts";
import { uploadBinary } from "./upload.ts";

export interface UpgradeWords extends PlanWords {
  target: string;
  binary: string;
  "ready-within": string;
}

const paintEveryMs = 100;

/**
 * Uploads a binary and rolls it out.
 *
 * @throws SvcError `usage`; `bad_request` for a file that is not `svc-peel`; the errors of the masters
 * @throws Exit 1 when the rollout was not completed, 130 after Ctrl-C
 */
export async function runUpgrade(words: UpgradeWords, cli: Cli): Promise<void> {
  const mode = readMode(words);
  const plan = readPlan(words);
  if (parseDuration(words.timeout) <= readFlag("--ready-within", words["ready-within"], parseDuration)) {
    throw new SvcError(
      "usage",
      "--timeout: must be longer than --ready-within: the binary is fetched before",
    );
  }
  await using binary = await readBinary(words.binary, cli);
  const { sha256, size, platform, version } = binary.manifest;
  const called = version === "" ? "a svc-peel" : `svc-peel ${version}`;
  cli.say(`${called} for ${platform}, ${mebibytes(size)} MiB, SHA-256 ${sha256}`);
  const request = {
    target: words.target,
    function: "upgrade.apply",
    args: { manifest: binary.digest, sha256, size, version, ready_within: words["ready-within"] },
    ...plan,
  };
  await withBus(cli, async (bus) => {
    const does = `Upgrade to ${called}`;
    await confirmStart(bus, request, { does, mode, isConfirmed: words.yes === true }, cli);
    if (mode !== "dry-run") await upload(bus, binary, cli);
    const warn = (peels: readonly string[]) => warnOfUnwatched(bus, peels, cli);
    const view = await launchRollout(bus, request, mode, cli, warn);
    if (view !== undefined) await printUpgradeEnd(bus, view, cli);
  });
}

async function upload(bus: Bus, binary: BinaryFile, { stderr, clock, say }: Cli): Promise<void> {
  let first: number | undefined;
  let chunks = 0;
  let painted = Number.NEGATIVE_INFINITY;
  const isTty = stderr.isTTY === true;
  try {
    await uploadBinary(bus, binary, (stored, all) => {
      first ??= all - stored;
      chunks = all;
      const now = clock.monotonic();
      if (!isTty || now - painted < paintEveryMs) return;
      painted = now;
      stderr.write(`\ruploading: the masters have ${Math.floor((stored * 100) / all)}%\u001b[K`);
    });
  } finally {
    if (isTty) stderr.write("\r\u001b[K");
  }
  say(first === 0 ? "the masters have it already" : `uploaded ${first} of ${chunks} chunks`);
}

function mebibytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1);
}
