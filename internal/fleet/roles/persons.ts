import * as v from "valibot";
import { list, mapOf, refuse, type Schema, text } from "../../base/document/schemas.ts";
import { operatorNameForm } from "../../base/names/names.ts";

/** By identity: the person it belongs to. An identity is `operator:ann`, `token:ann-ci` or `oidc:<issuer>#<subject>`. */
export type Persons = ReadonlyMap<string, string>;

const maxPersons = 10_000;
const maxIdentities = 64;
const maxIdentityLength = 1_024;

/** How one who signed a request, or showed a token, is named under `persons`. */
export const identityOf = {
  /** A registered operator. */
  operator: (name: string): string => `operator:${name}`,
  /** A token of `api.tokens`. */
  file: (username: string): string => `token:${username}`,
  /** A person of an identity provider. */
  oidc: (issuer: string, subject: string): string => `oidc:${issuer}#${subject}`,
};

/** `persons` of a roles file: by name, the identities of each person. */
export function personsSchema(): Schema<Persons> {
  const name = v.pipe(
    v.string(),
    v.regex(
      operatorNameForm,
      "a person has a name of 1 to 63 small letters, digits, dots, hyphens and underscores",
    ),
  );
  const identity = v.pipe(text(maxIdentityLength), refuse(identityProblem));
  return v.pipe(
    mapOf<readonly string[]>(list(identity, maxIdentities), name),
    refuse(personsProblem),
    v.transform((persons): Persons => {
      const entries = [...persons].flatMap(([person, held]) => held.map((one) => [one, person] as const));
      return new Map(entries);
    }),
  );
}

const forms: Readonly<Record<string, RegExp>> = {
  operator: operatorNameForm,
  token: /^[^\s\p{Cc}]{1,128}$/u,
  oidc: /^https:\/\/[\x21\x22\x24-\x7e]+#[^\s\p{Cc}]{1,255}$/u,
};

function identityProblem(identity: string): string | undefined {
  const [, kind = "", rest = ""] = /^([a-z]+):(.*)$/su.exec(identity) ?? [];
  if (Object.hasOwn(forms, kind) && forms[kind]?.test(rest) === true) return undefined;
  return "expected operator:NAME, token:NAME (of api.tokens) or oidc:ISSUER#SUBJECT, such as oidc:https://idp.example.com#248289";
}

/** One identity in two entries would be two persons; an entry named like another person's operator misleads. */
function personsProblem(persons: ReadonlyMap<string, readonly string[]>) {
  if (persons.size > maxPersons) return `more than ${maxPersons} persons`;
  const holders = new Map<string, string>();
  for (const [person, held] of persons) {
    for (const [at, identity] of held.entries()) {
      const other = holders.get(identity);
      if (other !== undefined) {
        const message =
          other === person ? `${identity} appears twice` : `${identity} belongs to ${other} already`;
        return { at: [person, at], message };
      }
      holders.set(identity, person);
    }
  }
  for (const person of persons.keys()) {
    for (const identity of [identityOf.operator(person), identityOf.file(person)]) {
      const holder = holders.get(identity);
      if (holder === undefined || holder === person) continue;
      return {
        at: [person],
        isKey: true as const,
        message: `${person} is the name of ${identity}, who belongs to ${holder}: use another name`,
      };
    }
  }
  return undefined;
}
