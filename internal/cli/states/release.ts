import { SvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { releaseOperations } from "../../fleet/releases/mod.ts";
import { type Cli, command, Exit, flag, value, visible } from "../../program/command-line/mod.ts";
import { hexOf, shortSnapshot } from "../../wire/content-words.ts";
import { signRelease } from "../../wire/release.ts";
import { confirm, isYes, yesArg } from "../confirm/confirm.ts";
import { ownOperatorFile, withBus } from "../operator.ts";
import { request } from "../request.ts";
import { type KeptRelease, readKeptRelease, writeKeptRelease } from "./kept-release.ts";
import { ownFiles, type Proposal, publishedFiles, releasedBefore, type Standing } from "./proposal.ts";

const notCovered =
  "a release covers state files, not settings and labels: an attacker who holds a master can choose those for released files";

export const releaseCommand = command({
  name: "release",
  description:
    "Release state files: sign the files of your own checkout as those that an environment may run. Settings and labels are not covered.",
  examples: [
    "svc states release",
    "svc states release --environment feature --tree ./states",
    "svc states release --rollback",
  ],
  args: {
    environment: value("name", "Environment to release", { default: "base" }),
    tree: value(
      "directory",
      "Your checkout, once for each source of the environment, in their order (default: that of the working directory)",
      { repeated: true },
    ),
    commit: value("commit", "Release this commit of your checkout in place of HEAD"),
    rollback: flag("Release again what was released before the newest release"),
    yes: yesArg,
    "accept-sources": flag("Accept the fleet and the repositories that a master names, where they are new"),
    unpublished: flag(
      "Release files that masters do not publish, such as a commit that no listed key signed: they come into force as soon as masters read them",
    ),
    "on-the-word-of-a-master": flag("Release what a master publishes, without a checkout to compare it with"),
  },
  async run({ environment, tree, commit, ...args }, cli) {
    const signer = ownOperatorFile(cli);
    const onWord = args["on-the-word-of-a-master"] === true;
    const isRollback = args.rollback === true;
    if (Number(onWord) + Number(isRollback) + Number(tree.length > 0 || commit !== undefined) > 1) {
      throw new SvcError(
        "usage",
        "--tree or --commit, --rollback and --on-the-word-of-a-master exclude each other",
      );
    }
    const kept = readKeptRelease(signer.fleet, environment);
    // Before a connection: what cannot be released is refused by name at once.
    const own = onWord || isRollback ? undefined : await ownFiles({ trees: tree, commit, clock: cli.clock });
    await withBus(cli, async (bus) => {
      const isUnpublished = args.unpublished === true;
      const standing = await readStanding(bus, { environment, commit, isUnpublished });
      const proposal = own ?? (isRollback ? releasedBefore(standing) : publishedFiles(standing));
      await acceptSources(standing, kept, args["accept-sources"] === true, cli);
      const refused = isRollback ? undefined : await readRefused(bus, environment, proposal);
      if (!isRollback && !isUnpublished && refused === undefined) assertPublished(standing, proposal);
      cli.say(notCovered);
      for (const line of refused ?? []) cli.say(visible(line));
      for (const line of await proposal.describe(standing, kept)) cli.say(visible(line));
      const { found } = standing;
      const isConfirmed = args.yes === true;
      if (!isConfirmed && cli.prompt === undefined) {
        throw new SvcError("usage", "nobody can answer here: look at the difference, then add --yes");
      }
      const what = `${shortSnapshot(proposal.snapshot)} as version ${found.next_version} of ${environment}`;
      await confirm(cli, `Release ${what}`, isConfirmed);
      const release = signRelease(
        {
          ...{ fleet: standing.fleet, environment, snapshot: proposal.snapshot, version: found.next_version },
          ...{ releasedAt: cli.clock.now(), operator: signer.name },
        },
        signer.key,
      );
      const done = await request(bus, releaseOperations.releaseStates, { release });
      writeKeptRelease(signer.fleet, environment, {
        ...{ fleet: standing.fleet, sources: sourcesOf(standing), snapshot: proposal.snapshot },
        files: proposal.rows ?? [],
      });
      await cli.print(
        done.release,
        () =>
          `released ${shortSnapshot(proposal.snapshot)} as version ${done.release.version} of ${environment}`,
      );
    });
  },
});

/** @throws SvcError `not_found` when masters do not know the environment or its commit */
async function readStanding(
  bus: Bus,
  {
    environment,
    commit,
    isUnpublished,
  }: { environment: string; commit: string | undefined; isUnpublished: boolean },
): Promise<Standing> {
  const { fleet, environments } = await request(bus, releaseOperations.listReleases, {
    environment,
    ...(commit === undefined ? {} : { commit }),
  });
  const [found] = environments;
  if (found !== undefined) return { fleet, found };
  // Such as a new tag that no listed key signed.
  if (isUnpublished) return { fleet, found: { environment, next_version: 1 } };
  throw new SvcError(
    "not_found",
    `masters have no environment ${environment}: see svc states releases, or add --unpublished where a signature keeps it out`,
  );
}

/** Where the files come from, as lines that are compared. */
const sourcesOf = ({ found }: Standing): string[] =>
  (found.sources ?? []).map(({ remote, ref }) => (ref === undefined ? remote : `${remote} ${ref}`));

/**
 * A master that names another fleet, or other repositories than before, may be one that an attacker holds.
 *
 * @throws SvcError `usage` where no one can answer, Exit
 */
async function acceptSources(
  standing: Standing,
  kept: KeptRelease | undefined,
  isAccepted: boolean,
  cli: Cli,
): Promise<void> {
  const named = sourcesOf(standing);
  const isSame = kept !== undefined && kept.fleet === standing.fleet && Bun.deepEquals(kept.sources, named);
  if (isSame || isAccepted) return;
  const before =
    kept === undefined
      ? "you have not released it from here before"
      : `before: ${kept.sources.join(", ")} of the fleet ${kept.fleet}`;
  const question = `the files of ${standing.found.environment} come from ${named.join(", ") || "a directory of the masters"}, for the fleet ${standing.fleet} (${before})`;
  if (cli.prompt === undefined)
    throw new SvcError("usage", `${visible(question)}: add --accept-sources if that is right`);
  if (!isYes(await cli.prompt(`${visible(question)}. Is that right? [y/N] `))) throw new Exit(1);
}

/** @throws SvcError `conflict` when masters do not have these files */
function assertPublished({ found: { content, candidate } }: Standing, { snapshot, from }: Proposal): void {
  const there = [candidate?.content, content].filter((one) => one !== undefined);
  if (there.some((one) => hexOf(one.snapshot) === snapshot)) return;
  const [newest] = there;
  const what =
    newest === undefined ? "nothing" : `${shortSnapshot(hexOf(newest.snapshot))}, commit ${newest.commit}`;
  throw new SvcError(
    "conflict",
    `${from} has the files ${shortSnapshot(snapshot)}, and masters publish ${what}: push or pull, wait for the next sync, and run this again; for a commit that masters do not use because of its signature, add --unpublished`,
  );
}

/**
 * What masters found in these files, which they do not publish because of it.
 *
 * @returns `undefined` where they found nothing, or have other files
 * @throws SvcError `conflict` for what a release does not bring into force either
 */
async function readRefused(bus: Bus, environment: string, { snapshot }: Proposal) {
  const { report } = await request(bus, releaseOperations.listFiles, {});
  const found = report?.refused.find(
    (one) => one.environment === environment && one.snapshot && hexOf(one.snapshot) === snapshot,
  );
  if (found === undefined) return undefined;
  const { problems = [], problems_left_out: more = 0 } = found;
  const lines = problems.map(({ file, line, column, reason }) => `${file}:${line}:${column}: ${reason}`);
  if (found.yields !== true) {
    const [first = found.reason] = lines;
    throw new SvcError(
      "conflict",
      `masters refuse these files, released or not: ${first}; see svc state lint`,
    );
  }
  return [
    "masters do not publish these files, because they do not compile for some peels; a release brings them into force anyway:",
    ...lines,
    ...(more === 0 ? [] : [`and ${more} more`]),
  ];
}
