import { parseLifetimeWithin } from "../../../base/lifetime.ts";
import { displayPeelId } from "../../../base/names/peel-id.ts";
import { expectedOperations, expectedTtl, maxHosts } from "../../../fleet/expected/mod.ts";
import { command, Exit, readFlag, value, visible, word } from "../../../program/command-line/mod.ts";
import { withBus } from "../../operator.ts";
import { request, requesterName } from "../../request.ts";
import type { HostOfFile } from "./read-hosts.ts";
import { readInput } from "./read-input.ts";

export const expectCommand = command({
  name: "expect",
  description: "Expect hosts: each of them is enrolled without a decision when it proves its key, once.",
  examples: ["svc enroll expect hosts.csv", "ssh web-1 svc-peel keygen | svc enroll expect -"],
  args: {
    file: word(
      "Lines or CSV: peel id, public key (svc-peel keygen), labels separated by blanks; - is standard input",
      { required: true },
    ),
    ttl: value("duration", "How long the hosts are expected, 1m to 366d", { default: "720h" }),
  },
  async run({ file, ttl }, cli) {
    readFlag("--ttl", ttl, (text) => parseLifetimeWithin(text, expectedTtl));
    const { readHosts } = await import("./read-hosts.ts");
    const { hosts, problems } = readHosts(await readInput(file), file === "-" ? "standard input" : file);
    if (problems.length > 0) {
      for (const problem of problems) cli.error(visible(problem));
      cli.say("nothing was written");
      throw new Exit(1);
    }
    await withBus(cli, async (bus) => {
      const as = requesterName(bus);
      const send = (part: HostOfFile[], check: boolean) =>
        request(bus, expectedOperations.expectHosts, { hosts: part, ttl, check }, { as, timeoutMs });
      const parts = inParts(hosts);
      // One request looks at all of its hosts itself.
      if (parts.length > 1) for (const part of parts) await send(part, true);
      const written: { peel_id: string; outcome: string }[] = [];
      for (const part of parts) written.push(...(await send(part, false)).hosts);
      await cli.print(written, () => countOf(written.map(({ outcome }) => outcome)));
      const waiting = written.filter(({ outcome }) => outcome === "waits").map(({ peel_id }) => peel_id);
      if (waiting.length > 0) {
        const shown = waiting.slice(0, 3).map(displayPeelId).join(", ");
        cli.say(
          `${waiting.length} already wait for a decision, and ask again only after a restart: ${shown}${waiting.length > 3 ? ", ..." : ""}; approve them with svc enroll approve`,
        );
      }
    });
  },
});

/** A master writes hundreds of entries for one request. */
const timeoutMs = 30_000;

function inParts(hosts: readonly HostOfFile[]): HostOfFile[][] {
  return Array.from({ length: Math.ceil(hosts.length / maxHosts) }, (_, at) =>
    hosts.slice(at * maxHosts, (at + 1) * maxHosts),
  );
}

const words: Readonly<Record<string, string>> = {
  added: "added",
  renewed: "renewed",
  waits: "added that wait already",
  member: "left out, as their peel id is enrolled",
};

function countOf(outcomes: readonly string[]): string {
  const counted = Object.entries(words).flatMap(([outcome, text]) => {
    const count = outcomes.filter((one) => one === outcome).length;
    return count === 0 ? [] : [`${count} ${text}`];
  });
  return counted.join(", ");
}
