import { escapeInvisible, escapeInvisibleInLines } from "../../../base/invisible.ts";
import { releasedWords } from "../../../wire/content-words.ts";
import { Card } from "../../kit/card.tsx";
import { Diff } from "../../kit/diff.tsx";
import { Fact } from "../../kit/fact.tsx";
import type { Approval } from "./approval.ts";
import { type Changes, lastText, shortDigest } from "./last-files.ts";

const maxListed = 50;

/** The state files that a request runs, and how they differ from what its peels ran last. */
export function FilesOf({ of }: { of: Approval }) {
  const { content, changes = [], changes_left_out: more = 0 } = of;
  if (content === undefined) return null;
  return (
    <Card id="approval-files" title="Files" body="stack">
      <dl class="facts">
        <Fact name="Environment">{content.environment}</Fact>
        <Fact name="Commit" as="mono" value={content.commit} />
        <Fact name="Files" as="mono" value={shortDigest(content.snapshot)} />
        <Fact name="Released files" value={of.released && releasedWords(of.released)} />
      </dl>
      <p class="muted">Exactly these files run, whatever is published until then.</p>
      {changes.map((group) => (
        <section key={JSON.stringify(group)} class="stack" aria-label={lastText(group)}>
          <ChangedFiles of={group} />
          {group.diff !== undefined && group.diff !== "" && (
            <Diff of={lastText(group)} changes={{ diff: escapeInvisibleInLines(group.diff) }} />
          )}
        </section>
      ))}
      {more > 0 && <p class="muted">{more} more groups of peels, which ran other files, are not compared.</p>}
    </Card>
  );
}

/** The files of one group, without their text. */
export function ChangedFiles({ of }: { of: Changes }) {
  const { files, left_out, problem } = of;
  const more = left_out + Math.max(0, files.length - maxListed);
  return (
    <>
      <p>{lastText(of)}</p>
      {problem !== undefined && <p class="muted">Not compared: {problem}</p>}
      {problem === undefined && files.length + left_out === 0 && <p class="muted">The same files</p>}
      {files.length > 0 && (
        <section class="wide-text mono" tabIndex={0} aria-label="Files that differ">
          {files
            .slice(0, maxListed)
            .map(({ change, path }) => `${change} ${escapeInvisible(path)}`)
            .join("\n")}
        </section>
      )}
      {more > 0 && <p class="muted">and {more.toLocaleString("en")} more files</p>}
    </>
  );
}
