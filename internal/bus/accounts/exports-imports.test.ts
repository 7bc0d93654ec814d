import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  crossings,
  exportsOfMasters,
  fromSiteSubject,
  importsOfSite,
  originOf,
  relaySubject,
} from "./exports-imports.ts";

const peelId = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9_-]{0,20}[a-zA-Z0-9]$/);
const site = fc.stringMatching(/^[a-z][a-z0-9-]{0,31}$/);
const token = fc.stringMatching(/^[a-zA-Z0-9$_-]{1,12}$/);
/** A subject of a pattern, whose peel is this one. */
const within = (pattern: string, peel: string, others: readonly string[]) => {
  const tokens = pattern.split(".");
  const at = tokens.lastIndexOf("*");
  return tokens
    .map((one, n) =>
      n === at ? peel : one === "*" ? (others[0] ?? "") : one === ">" ? others.join(".") : one,
    )
    .join(".");
};

describe("who sent a message", () => {
  const sent = fc.record({
    pattern: fc.constantFrom(...crossings.services),
    peel: peelId,
    others: fc.array(token, { minLength: 1, maxLength: 4 }),
    site,
  });

  test("is the peel that its subject names, and the site over whose link it came", () => {
    fc.assert(
      fc.property(sent, ({ pattern, peel, others, site }) => {
        const subject = within(pattern, peel, others);
        expect(originOf(subject)).toEqual({ peel, subject });
        expect(originOf(relaySubject(subject))).toEqual({ peel, subject });
        expect(originOf(fromSiteSubject(site, subject))).toEqual({ peel, site, subject });
      }),
    );
  });

  test.each(["svc.admin.enroll.list", "svc.peel", "", "svc.from.berlin", "svc.from.berlin.svc.admin.x.y"])(
    "is nobody for %p, which no peel may use",
    (subject) => expect(originOf(subject).peel).toBe(""),
  );
});

/** Whether a pattern covers another one. */
const covers = (pattern: string, subject: string) => {
  const [tokens, others] = [pattern.split("."), subject.split(".")];
  return tokens.every(
    (one, n) => one === ">" || one === others[n] || (one === "*" && others[n] !== undefined),
  );
};

describe("a site", () => {
  test("reaches masters under its own name alone, whatever it sends, and hears commands under its name alone", () => {
    fc.assert(
      fc.property(site, (name) => {
        const imports = importsOfSite("A", name);
        const services = imports.filter(({ type }) => type === "service");
        expect(services.map(({ subject }) => subject)).toEqual(
          crossings.services.map((subject) => `svc.from.${name}.${subject}`),
        );
        for (const { subject, type } of imports) {
          if (type === "stream" && !subject.endsWith(".hint")) {
            expect(subject).toMatch(new RegExp(`^svc\\.(?:to|site)\\.${name}\\.`));
          }
        }
      }),
    );
  });

  test("imports only what masters export", () => {
    const exported = exportsOfMasters();
    for (const { subject, type, local_subject } of importsOfSite("A", "berlin")) {
      expect(exported.some((one) => one.type === type && covers(one.subject, subject))).toBe(true);
      // A server refuses these on its link.
      expect(local_subject ?? subject).not.toStartWith("$KV.");
    }
  });
});
