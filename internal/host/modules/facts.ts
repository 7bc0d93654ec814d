import { untilAborted } from "../../base/clock.ts";
import type { CallArgs, CallContext, ModuleFunction } from "./function.ts";

const name = { type: "string", required: true } as const;

/** What a peel knows of its host. The names with `grains` are those that operators know from Salt. */
export const factsFunctions: readonly ModuleFunction[] = [
  {
    name: "facts.items",
    aliases: ["grains.items"],
    doc: "Gives every fact of the peel.",
    args: {},
    readOnly: true,
    async run(_, context) {
      const facts = await collected(context);
      return { ...facts.items() };
    },
  },
  {
    name: "facts.ls",
    aliases: ["grains.ls"],
    doc: "Gives the names of all facts, sorted.",
    args: {},
    readOnly: true,
    async run(_, context) {
      const facts = await collected(context);
      return Object.keys(facts.items()).sort();
    },
  },
  {
    name: "facts.get",
    aliases: ["grains.get"],
    doc: "Gives one fact, or one value inside it.",
    args: {
      name: { ...name, doc: "The fact, with colons for what is inside it: os, mounts:/:fstype, ipv4:0." },
      default: { type: "any", doc: "What is given when there is no such fact; null by default." },
    },
    readOnly: true,
    async run(args, context) {
      const facts = await collected(context);
      return facts.get(String(args.name), args.default ?? null) ?? null;
    },
  },
  {
    name: "facts.set",
    aliases: ["grains.set"],
    doc: "Keeps a fact on the peel, over every other source, until it is set to null; it waits for its turn in the queue.",
    args: {
      name: { ...name, doc: "The fact: letters, digits, _, - and dots." },
      value: { type: "any", required: true, doc: "Any plain value; null removes what was set." },
    },
    run: setFact,
  },
  {
    name: "facts.refresh",
    aliases: ["grains.refresh"],
    doc: "Collects every fact again, and tells whether any of them changed.",
    args: {},
    readOnly: true,
    run: (_, context) => orAborted(context.facts.refresh(), context.signal),
  },
];

async function setFact(args: CallArgs, context: CallContext) {
  const facts = await collected(context);
  facts.set(String(args.name), args.value ?? null);
  return facts.get(String(args.name)) ?? null;
}

/** The facts as soon as all of them are there: just after the start a program may still tell some. */
async function collected({ facts, signal }: CallContext) {
  await orAborted(facts.ready, signal);
  return facts;
}

/** @throws the reason of the signal when it aborts first */
function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return Promise.race([promise, untilAborted(signal).then(() => Promise.reject(signal.reason))]);
}
