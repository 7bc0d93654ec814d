import * as v from "valibot";
import { decodeBase64 } from "../../../base/base64.ts";
import { defined } from "../../../base/defined.ts";
import { SvcError } from "../../../base/errors.ts";
import { parseLifetimeWithin } from "../../../base/lifetime.ts";
import {
  joinTokenOperations,
  joinTokenTtl,
  joinTokenUrl,
  sealContext,
} from "../../../fleet/join-tokens/mod.ts";
import { deriveCurveKey, newKeyPair, openSealed } from "../../../identity/mod.ts";
import { choice, command, flag, readFlag, value } from "../../../program/command-line/mod.ts";
import { operatorBus, withBus } from "../../operator.ts";
import { request } from "../../request.ts";
import { readChange } from "../label-change.ts";
import { formats, formatToken } from "./format.ts";
import { vouchedToken } from "./vouched.ts";

export const createCommand = command({
  name: "create",
  description: "Create a token that hosts join with, and print it once.",
  examples: [
    "svc enroll token create --peel 'web-*' --uses 20 --ttl 2h --label env=prod",
    "svc enroll token create --format cloud-init",
  ],
  args: {
    peel: value("glob", "Only hosts whose peel id matches, such as web-*", { default: "*" }),
    uses: value("n", "How many hosts it admits, 1 to 10000", { default: "1" }),
    ttl: value("duration", "How long it lasts, 1m to 30d", { default: "24h" }),
    label: value("name=value", "A label that its hosts get; may be repeated", { repeated: true }),
    url: value(
      "url",
      "Where hosts reach a master (default: enroll.advertise_urls of the masters); may be repeated",
      { repeated: true },
    ),
    hold: flag("Hosts get the labels, and wait for an operator"),
    note: value("text", "Note for people about its purpose"),
    format: choice(
      formats,
      "Print the token alone, user data for cloud-init, a command for a host, or JSON",
      { default: "text" },
    ),
  },
  async run({ peel, ttl, hold, note, label, url, format, ...args }, cli) {
    const uses = readUses(args.uses);
    const labels = readLabels(label);
    readFlag("--ttl", ttl, (text) => parseLifetimeWithin(text, joinTokenTtl));
    for (const one of url) readFlag("--url", one, readUrl);
    await withBus(cli, async (bus) => {
      // Made for this answer alone: an attacker who controls the bus cannot read the token.
      const key = deriveCurveKey(newKeyPair("user", cli.random));
      const made = await request(bus, joinTokenOperations.createJoinToken, {
        ...{ peel, uses, ttl, label: labels, url: [...url], hold: hold === true, seal_to: key.publicKey },
        ...defined({ note }),
      });
      const { sealed, token: _, warning: unreachable, ...shown } = made;
      const box = decodeBase64(sealed ?? "");
      if (box === undefined) throw new SvcError("unavailable", "the master sent no token");
      const text = Buffer.from(openSealed(box, key, sealContext(made.id))).toString("latin1");
      const { word, token, warning } = vouchedToken(text, { id: made.id, ca: operatorBus(cli).ca });
      const data = { ...shown, token: word, urls: token.urls, pins: token.pins };
      await cli.print(data, () => formatToken(format, word, data));
      for (const one of [warning, unreachable]) if (one !== undefined) cli.warn(one);
      const hosts = uses === 1 ? "one host" : `${uses} hosts`;
      const admitted = peel === "*" ? hosts : `${hosts} that match ${peel}`;
      cli.say(
        `${made.id} admits ${admitted} until ${made.expires_at}${made.hold ? ", to wait for an operator" : ""}. The token is a secret, and is not shown again.`,
      );
    });
  },
});

/** @throws SvcError `usage` */
function readUrl(text: string): void {
  const { success, issues } = v.safeParse(joinTokenUrl, text);
  if (!success) throw new SvcError("usage", issues[0].message);
}

/** @throws SvcError `usage` */
function readUses(text: string): number {
  const uses = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (uses >= 1 && uses <= 10_000) return uses;
  throw new SvcError("usage", `--uses: ${JSON.stringify(text.slice(0, 20))} is not a number from 1 to 10000`);
}

/** @throws SvcError `usage` */
function readLabels(words: readonly string[]): Record<string, string> {
  const labels = new Map<string, string>();
  for (const word of words) {
    const { name, value } = readFlag("--label", word, readChange);
    if (value === undefined) throw new SvcError("usage", `--label: write ${name}=value`);
    if (labels.has(name)) throw new SvcError("usage", `--label: ${name} appears twice`);
    labels.set(name, value);
  }
  return Object.fromEntries(labels);
}
