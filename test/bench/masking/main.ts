import { randomBytes } from "node:crypto";
import { createMask } from "../../../internal/agent/masking/mask.ts";
import { systemClock } from "../../../internal/base/clock.ts";
import { readFlags } from "../flags.ts";
import { milliseconds, ratio, table } from "../table.ts";

// How long it takes to look for the secret values of a peel in what a command wrote. The floor reads each character once.

const flags = readFlags({ secrets: ["200", "10"], kib: ["1024", "16"], rounds: ["50", "2"] });
const secrets = flags.count("secrets");
const kib = flags.count("kib");
const rounds = flags.count("rounds");

const strong = Array.from(
  { length: secrets },
  (_, at) => `${randomBytes(8 + (at % 24)).toString("base64url")}/${at}`,
);
const words = "the quick brown fox restarts nginx.service and changes /etc/app.conf 0644 root true".split(
  " ",
);
const repeated = (text: string) =>
  Buffer.from(text.repeat(Math.ceil((kib * 1024) / text.length)).slice(0, kib * 1024)).toString();
const log = repeated(words.join(" "));
const coded = randomBytes(kib * 768).toString("base64");
const wrapped = coded.replace(/.{76}/g, "$&\n");
const found = repeated(`${words.join(" ")} ${strong[0]} `);
// Secrets that begin alike, in a text full of their beginning and of the characters by which they are found.
const alike = Array.from(
  { length: secrets },
  (_, at) => `production-password-${randomBytes(9).toString("hex")}-${at}`,
);
const beginnings = repeated("production-password-");
const halves = repeated(alike.map((secret) => secret.slice(0, -4)).join(""));

/** Milliseconds of each round. */
function measured(run: () => unknown): number[] {
  return Array.from({ length: rounds }, () => {
    const started = systemClock.monotonic();
    run();
    return systemClock.monotonic() - started;
  });
}

function readAll(text: string): number {
  let sum = 0;
  for (let at = 0; at < text.length; at++) sum = (sum + text.charCodeAt(at)) | 0;
  return sum;
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

const [made] = measured(() => createMask({ strong, weak: [] }));
const mask = createMask({ strong, weak: [] });
const maskAlike = createMask({ strong: alike, weak: [] });
const floor = measured(() => readAll(log));
const row = (name: string, lines: number[]) => [
  name,
  milliseconds(lines[0] ?? 0),
  milliseconds(median(lines)),
  ratio(median(lines) / median(floor)),
];
const shown = table(
  ["Line", "First ms", "Median ms", "Of the floor"],
  [
    row("floor: each character once", floor),
    row(
      "words without a secret",
      measured(() => mask.text(log)),
    ),
    row(
      "base64 of random bytes",
      measured(() => mask.text(coded)),
    ),
    row(
      "the same in lines of 76",
      measured(() => mask.text(wrapped)),
    ),
    row(
      "a secret in every line",
      measured(() => mask.text(found)),
    ),
    row(
      "only what all secrets begin with",
      measured(() => maskAlike.text(beginnings)),
    ),
    row(
      "only secrets without their ends",
      measured(() => maskAlike.text(halves)),
    ),
  ],
);
process.stdout.write(
  [
    `${secrets} secret values in ${kib} KiB; ${rounds} rounds; made in ${milliseconds(made ?? 0)} ms`,
    `${shown}\n`,
  ].join("\n\n"),
);
